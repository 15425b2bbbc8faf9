"""Matching a history on Spark to be tallied: counts are made where events are read and followed, and added up here."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.cli.job import Counted
from vedette.cli.on_spark.match import SparkJob
from vedette.files.backtest_tally import Tally
from vedette.prediction.score import Score
from vedette.spark.file_task import Tallying
from vedette.spark.patterns.file_backtest import tally_patterns
from vedette.spark.patterns.file_survey import Survey
from vedette.spark.plainly import told_plainly


class SparkBacktest(SparkJob):
    """Takes the events of a history in pieces; `tally` is what came of it."""

    tally: Tally
    learnt: int | None = None  # rows that forecasts have learnt from, where they learn only up to a moment

    def tallied(self, tally: Tally, counted: Counted) -> Iterator[float | None]:
        """Match all events and add to a tally; says from time to time how much of the source is done."""
        survey = Survey() if self._records else None
        counting = Tallying(tuple(tally.ids), self._filter_places, tally.most, self._job.events.schema)
        for found in self._filters(survey, counting):
            counted.count(found.read, found.rejected, found.rejects)
            if found.tally is not None:
                tally += Tally.from_bytes(found.tally)
            yield found.done
        forecast = [record.id for record in self._records if record.predict is not None]
        if self._train_until is not None and forecast:
            self.learnt = 0
        if survey is not None:
            with told_plainly():
                self._complete(survey)
                if survey.placed:
                    task, how = self._following(survey)
                    told = tally_patterns(self._spark, survey.placed, task, how, tally.ids, tally.most)
                    tally += told.tally
                    self.counts.shed = told.shed
                    self.learnt = None if self.learnt is None else told.learnt
        tally.score({id_: Score() for id_ in forecast})  # also of those that no event was for
        self.tally = tally
        yield 1.0
