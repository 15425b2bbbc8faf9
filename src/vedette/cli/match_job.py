"""The results of matching a file: outcomes written, rows counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vedette.cli.terminal import counted
from vedette.engine.outcomes import PREDICTION, OutcomeDetails, Outcomes
from vedette.io.chunks import RejectedRow
from vedette.io.output import MatchWriter, RejectWriter

SHOWN = 5  # rejected events that are kept to be reported one by one


@dataclass(slots=True)
class JobTally:
    """The counts of a finished job."""

    subscriptions: int = 0
    events: int = 0  # read, good and bad
    rejected: int = 0
    matches: int = 0
    patterns: int = 0  # among the subscriptions
    predictions: int = 0
    prepared_s: float = 0.0  # reading subscriptions, building the index
    matched_s: float = 0.0  # reading events, matching, writing
    first_rejects: list[RejectedRow] = field(default_factory=list)

    def count(self, read: int, rejected: int, rejects: Sequence[RejectedRow]) -> None:
        """Count rows read and rows rejected: all rejects, or the first of them."""
        self.events += read
        self.rejected += rejected
        self.first_rejects += rejects[: SHOWN - len(self.first_rejects)]

    @property
    def rate(self) -> float:
        """Events per second, from file to file."""
        return self.events / self.matched_s if self.matched_s else 0.0

    def __str__(self) -> str:
        predictions = f"{counted(self.predictions, 'prediction')}, " if self.predictions else ""
        return (
            f"{counted(self.events, 'event')} against {counted(self.subscriptions, 'subscription')}: "
            f"{counted(self.matches, 'match', 'matches')}, "
            f"{predictions}{self.rejected:,} rejected; {self.matched_s:.1f} s, {self.rate:,.0f} events/s "
            f"(after {self.prepared_s:.1f} s of preparation)"
        )


class InputCounter:
    """Counts rows read, and writes the rejected ones to their file."""

    def __init__(self, aside: RejectWriter | None, tally: JobTally) -> None:
        self._aside = aside
        self._tally = tally

    def count(self, read: int, rejected: int, rejects: Sequence[RejectedRow]) -> None:
        """Count rows read and rows rejected: all rejects, or the first of them if no more are needed."""
        self._tally.count(read, rejected, rejects)
        if rejected and self._aside is not None:
            self._aside.write(rejects)


class MatchOutput(InputCounter):
    """Writes outcomes in the order of the events, from either engine."""

    def __init__(self, out: MatchWriter, aside: RejectWriter | None, tally: JobTally) -> None:
        super().__init__(aside, tally)
        self._out = out

    def tell(self, outcomes: Outcomes) -> None:
        """Write the outcomes of some events."""
        self._out.tell(outcomes)
        self._tally.predictions += (predictions := outcomes.count(PREDICTION))
        self._tally.matches += len(outcomes) - predictions

    def rows(self, events: Any, subscriptions: Any, details: OutcomeDetails | None) -> None:
        """Write ids of events and of subscriptions, given as dictionaries, and the details of some of the rows."""
        self._out.write(events, subscriptions, details)
        predictions = 0 if details is None else int((details.kind == PREDICTION).sum())
        self._tally.predictions += predictions
        self._tally.matches += len(events) - predictions
