"""What came of matching a file: written, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from vedette.cli.terminal import counted
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher
from vedette.files.notices import PREDICTION, Notices
from vedette.files.output import MatchWriter, RejectWriter
from vedette.kernels.rows import events_of

SHOWN = 5  # rejected events that are kept to be reported one by one


@dataclass(slots=True)
class Tally:
    """What came of it."""

    subscriptions: int = 0
    events: int = 0  # read, good and bad
    rejected: int = 0
    matches: int = 0
    patterns: int = 0  # among the subscriptions
    predictions: int = 0
    prepared_s: float = 0.0  # reading subscriptions, building the index
    matched_s: float = 0.0  # reading events, matching, writing
    first_rejects: list[RejectedEvent] = field(default_factory=list)

    def count(self, read: int, rejected: int, rejects: Sequence[RejectedEvent]) -> None:
        """So many rows were read and so many of them rejected: these, or the first of them."""
        self.events += read
        self.rejected += rejected
        self.first_rejects += rejects[: SHOWN - len(self.first_rejects)]

    @property
    def rate(self) -> float:
        """Events a second, from file to file."""
        return self.events / self.matched_s if self.matched_s else 0.0

    def __str__(self) -> str:
        predictions = f"{counted(self.predictions, 'prediction')}, " if self.predictions else ""
        return (
            f"{counted(self.events, 'event')} against {counted(self.subscriptions, 'subscription')}: "
            f"{counted(self.matches, 'match', 'matches')}, "
            f"{predictions}{self.rejected:,} rejected; {self.matched_s:.1f} s, {self.rate:,.0f} events/s "
            f"(after {self.prepared_s:.1f} s of preparation)"
        )


class Counted:
    """Counts what was read, and puts aside what was rejected."""

    def __init__(self, aside: RejectWriter | None, tally: Tally) -> None:
        self._aside = aside
        self._tally = tally

    def count(self, read: int, rejected: int, rejects: Sequence[RejectedEvent]) -> None:
        """So many rows were read and so many of them rejected: these, or the first of them where no more is needed."""
        self._tally.count(read, rejected, rejects)
        if rejected and self._aside is not None:
            self._aside.write(rejects)


class Output(Counted):
    """Takes what was found, in the order of the events, whichever engine found it."""

    def __init__(self, subscriptions: Any, out: MatchWriter, aside: RejectWriter | None, tally: Tally) -> None:
        super().__init__(aside, tally)
        self._subscriptions = subscriptions  # their ids
        self._out = out

    def match(self, chunk: EventChunk, matcher: ChunkMatcher) -> None:
        """Match one chunk here and now."""
        ids = chunk.ids
        for found in matcher.match(chunk):
            self.take(ids, events_of(found.rows, found.begin), found.rows.subscription, found.notices)
            self.count(found.read, len(found.rejects), found.rejects)

    def take(self, events: Any, numbers: NDArray[Any], subscriptions: Any, notices: Notices | None = None) -> None:
        """Matches: ids of events, and for every match a number among them and the number of its subscription."""
        self._out.write(
            pa.DictionaryArray.from_arrays(pa.array(numbers), events),
            pa.DictionaryArray.from_arrays(pa.array(subscriptions), self._subscriptions),
            notices,
        )
        self._tally.matches += len(numbers)

    def tell(self, events: Any, subscriptions: Any, notices: Notices) -> None:
        """All that was found of filters and patterns: ids of events and of subscriptions as dictionaries."""
        self._out.write(events, subscriptions, notices)
        predictions = sum(notice.kind == PREDICTION for notice in notices.notices)
        self._tally.predictions += predictions
        self._tally.matches += len(events) - predictions
