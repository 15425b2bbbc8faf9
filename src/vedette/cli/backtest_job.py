"""Match a history for a tally: like `match`, but outcomes are counted and dropped."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.cli.match import LocalMatch, MatchJob
from vedette.cli.match_job import InputCounter
from vedette.io.backtest_tally import BacktestTally
from vedette.io.output import RejectWriter
from vedette.io.step_tally import StepTally


class LocalBacktest(LocalMatch):
    """Matches a history in this process; `tally` has the results."""

    def __init__(self, job: MatchJob, late: RejectWriter | None) -> None:
        super().__init__(job, late)
        self._schema = job.events.schema

    @property
    def learnt(self) -> int | None:
        """The number of rows that forecasts were trained on, if training ends at a given time."""
        return self._stepper.state.learnt

    def tallied(self, tally: BacktestTally, counted: InputCounter) -> Iterator[float | None]:
        """Match all events and add them to the tally; reports progress from time to time."""
        self.tally = tally
        steps = StepTally(tally, self._schema)
        for chunk, found in self._steps(counted):
            steps.take(chunk, found, self._stepper.state)
            yield self._events.progress
        steps.tell(self._stepper.finish())
        tally.score(self._stepper.state.scores)
        yield self._events.progress
