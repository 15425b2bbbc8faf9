"""Match a history on Spark for a tally: executors count, and the driver adds up."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.cli.match_job import InputCounter
from vedette.cli.on_spark.match import SparkJob
from vedette.io.backtest_tally import BacktestTally
from vedette.patterns.forecasts.score import Score
from vedette.spark.file_task import Tallying
from vedette.spark.patterns.file_match import tally_patterns
from vedette.spark.patterns.survey import Survey
from vedette.spark.pipeline.spark_failures import told_plainly


class SparkBacktest(SparkJob):
    """Matches the events of a history in pieces; `tally` has the results."""

    tally: BacktestTally
    learnt: int | None = None  # rows that forecasts have learnt from, where they learn only up to a moment

    def tallied(self, tally: BacktestTally, counted: InputCounter) -> Iterator[float | None]:
        """Match all events and add them to the tally; reports progress from time to time."""
        survey = Survey() if self._engine.has_state else None
        counting = Tallying(tuple(tally.ids), self._engine.stateless_places, tally.most, self._job.events.schema)
        for found in self._filters(survey, counting):
            counted.count(found.read, found.rejected, found.rejects)
            if found.tally is not None:
                tally += BacktestTally.from_bytes(found.tally)
            yield found.done
        forecast = self._engine.forecasts
        if self._train_until is not None and forecast:
            self.learnt = 0
        if survey is not None:
            with told_plainly():
                self._complete(survey)
                if survey.placed:
                    told = tally_patterns(self._spark, survey.placed, self._course(survey), tally.ids, tally.most)
                    tally += told.tally
                    self.counts.shed = told.shed
                    self.learnt = None if self.learnt is None else told.learnt
        tally.score({id_: Score() for id_ in forecast})  # also of those that no event was for
        self.tally = tally
        yield 1.0
