"""The tally of a backtest: counts by group and day, samples and scores of parts of a history, that add up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.io.backtest_samples import BacktestSample, BacktestSamples
from vedette.patterns.forecasts.score import Score
from vedette.patterns.packing import packed, unpacked

UNTIMED = int(np.iinfo(np.int64).min)  # the time of an event that has none
NO_DAY = -(1 << 31)
_DAY = 86_400_000_000  # microseconds
_BITS = 32  # of a key, for the day
_DENSE = 1 << 20  # cells that are counted in a table, however few rows there are


def days_of(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The day (UTC) of times in microseconds, as days since 1970-01-01; NO_DAY without a time."""
    return np.where(times == UNTIMED, NO_DAY, times // _DAY)


def day_text(day: int) -> str:
    """A day as `2024-05-01`; empty for NO_DAY."""
    return "" if day == NO_DAY else str(np.datetime64(day, "D"))


class DayCells(NamedTuple):
    """Counts above 0, ordered by group, then by day."""

    group: NDArray[np.int64]
    day: NDArray[np.int64]
    counts: NDArray[np.int64]


class DayCounts:
    """Counts rows as they come; the sum of two is the count of both."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.int64)  # ascending
        self._counts = np.zeros(0, np.int64)
        self._more: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # not merged yet
        self._size = 0  # of those

    def add(self, group: NDArray[Any], day: NDArray[np.int64]) -> None:
        """Count rows, given the group and day of each."""
        if not len(group):
            return
        found, cell = np.unique(day, return_inverse=True)
        span = int(group.max()) + 1
        if span * len(found) <= max(_DENSE, 4 * len(group)):
            counts = np.bincount(group.astype(np.int64) * len(found) + cell, minlength=span * len(found))
            places = np.flatnonzero(counts)
            self._put(_keys(places // len(found), found[places % len(found)]), counts[places])
        else:
            self._put(*np.unique(_keys(group, day), return_counts=True))

    def _put(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._more.append((keys, counts))
        self._size += len(keys)
        if self._size > max(_DENSE, len(self._keys)):  # so that every count is moved a few times only
            self._merge()

    def _merge(self) -> None:
        if self._more:
            keys = np.concatenate([self._keys, *(keys for keys, _ in self._more)])
            counts = np.concatenate([self._counts, *(counts for _, counts in self._more)])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            self._keys, self._counts = keys[begins], np.add.reduceat(counts[order], begins)
            self._more, self._size = [], 0

    def __add__(self, other: DayCounts) -> DayCounts:
        """The sum of both."""
        both = DayCounts()
        for one in (self, other):
            one._merge()
            if len(one._keys):
                both._put(one._keys, one._counts)
        return both

    def cells(self) -> DayCells:
        """All counts."""
        self._merge()
        return DayCells(self._keys >> _BITS, (self._keys & ((1 << _BITS) - 1)) + NO_DAY, self._counts)

    @classmethod
    def of(cls, cells: DayCells) -> DayCounts:
        """Restore what `cells` returned."""
        made = cls()
        made._keys, made._counts = _keys(cells.group, cells.day), cells.counts.astype(np.int64)
        return made


def _keys(group: NDArray[Any], day: NDArray[np.int64]) -> NDArray[np.int64]:
    return (group.astype(np.int64) << _BITS) | (day - NO_DAY)


_KIND: Final = "backtest"
KINDS: Final = ("match", "prediction")


class BacktestRows(NamedTuple):
    """Rows of outcomes: the place of the subscription, the time of the event, and the event's number, of each.

    A number identifies an event within the history; it has no other meaning.
    """

    subscription: NDArray[Any]
    time: NDArray[np.int64]
    number: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BacktestSummary:
    """What one subscription would have reported."""

    subscription: str
    days: NDArray[np.int64]  # those on which it reported anything, ascending
    matches: NDArray[np.int64]  # of each of these days
    predictions: NDArray[np.int64]
    first: int  # time of the first match, in microseconds; of the first prediction where nothing matched
    last: int
    score: Score | None  # None: no forecasts

    @property
    def told(self) -> NDArray[np.int64]:
        """Matches of each day, or predictions if nothing matched."""
        return self.matches if self.matches.any() else self.predictions

    @property
    def total(self) -> int:
        """The number of all outcomes."""
        return int(self.matches.sum() + self.predictions.sum())


class BacktestTally:
    """Counts the outcomes of a history, or of a part of it; tallies of several parts add up.

    Its size depends on how many subscriptions and days there are, not on how many events.
    """

    def __init__(self, ids: Sequence[str], samples: int = 5) -> None:
        self.ids = list(ids)
        self.most = samples
        self._events, self._counts = DayCounts(), DayCounts()
        self._samples = BacktestSamples(samples, _seeds(self.ids))
        size = len(KINDS) * len(self.ids)
        self._first, self._last = np.full(size, np.iinfo(np.int64).max), np.full(size, UNTIMED)
        self.scores: dict[str, Score] = {}

    # ------------------------------------------------------------ counting

    def see(self, times: NDArray[np.int64]) -> None:
        """Count events by their times in microseconds (UNTIMED: without a time)."""
        self._events.add(np.zeros(len(times), np.int64), days_of(times))

    def take(
        self, kind: str, told: BacktestRows, samples: Callable[[NDArray[np.int64]], Sequence[BacktestSample]]
    ) -> None:
        """Count matches or predictions; `samples` returns details of some of them, by their places."""
        if not len(told.subscription):
            return
        group = told.subscription.astype(np.int64) * len(KINDS) + KINDS.index(kind)
        self._counts.add(group, days_of(told.time))
        timed = told.time != UNTIMED
        np.minimum.at(self._first, group[timed], told.time[timed])
        np.maximum.at(self._last, group[timed], told.time[timed])
        self._samples.add(group, told.time, told.number, samples)

    def score(self, scores: Mapping[str, Score]) -> None:
        """Add the scores of forecasts, by subscription."""
        for id_, score in scores.items():
            self.scores[id_] = self.scores.get(id_, Score()) + score

    def __add__(self, other: BacktestTally) -> BacktestTally:
        """The sum of both; InputError if they are of different subscriptions."""
        if self.ids != other.ids or self.most != other.most:
            raise InputError("tallies of different subscriptions, or with more or fewer samples, do not add up")
        both = BacktestTally(self.ids, self.most)
        both._events, both._counts = self._events + other._events, self._counts + other._counts
        both._samples = self._samples + other._samples
        both._first, both._last = np.minimum(self._first, other._first), np.maximum(self._last, other._last)
        for one in (self, other):
            both.score(one.scores)
        return both

    # ------------------------------------------------------------ what it came to

    @property
    def events(self) -> dict[int, int]:
        """The number of events on each day, in the order of days; NO_DAY first."""
        cells = self._events.cells()
        return dict(zip(cells.day.tolist(), cells.counts.tolist(), strict=True))

    def summaries(self) -> list[BacktestSummary]:
        """One summary per subscription, in their order."""
        cells = self._counts.cells()
        place, kind = np.divmod(cells.group, len(KINDS))
        bounds = np.searchsorted(place, np.arange(len(self.ids) + 1))
        made = []
        for number, id_ in enumerate(self.ids):
            rows = slice(bounds[number], bounds[number + 1])
            days, cell = np.unique(cells.day[rows], return_inverse=True)
            both = np.zeros((len(KINDS), len(days)), np.int64)
            both[kind[rows], cell] = cells.counts[rows]
            group = number * len(KINDS) + (0 if both[0].any() else 1)
            last = int(self._last[group])
            first = UNTIMED if last == UNTIMED else int(self._first[group])
            made.append(BacktestSummary(id_, days, both[0], both[1], first, last, self.scores.get(id_)))
        return made

    def samples(self) -> dict[str, list[BacktestSample]]:
        """The samples of each subscription that has any: matches by time, then predictions by time."""
        found: dict[str, list[BacktestSample]] = {}
        for group, samples in sorted(self._samples.of().items()):
            found.setdefault(self.ids[group // len(KINDS)], []).extend(samples)
        return found

    # ------------------------------------------------------------ kept

    def to_bytes(self) -> bytes:
        """The whole tally as bytes, to be added up elsewhere."""
        numbers, samples = self._samples.arrays()
        arrays: dict[str, NDArray[Any]] = {f"samples.{name}": array for name, array in numbers.items()}
        for name, counts in (("events", self._events), ("counts", self._counts)):
            arrays |= {f"{name}.{column}": array for column, array in counts.cells()._asdict().items()}
        arrays |= {"first": self._first, "last": self._last}
        facts = {
            "ids": self.ids,
            "most": self.most,
            "samples": [asdict(sample) for sample in samples],
            "scores": {id_: score.plain() for id_, score in self.scores.items()},
        }
        return packed(_KIND, arrays, facts)

    @classmethod
    def from_bytes(cls, data: bytes) -> BacktestTally:
        """Restore what `to_bytes` returned; SnapshotError if these bytes are something else."""
        arrays, facts = unpacked(_KIND, data)
        made = cls(facts["ids"], facts["most"])
        made._events, made._counts = (
            DayCounts.of(DayCells(*(arrays[f"{name}.{column}"] for column in DayCells._fields)))
            for name in ("events", "counts")
        )
        numbers = {name.removeprefix("samples."): array for name, array in arrays.items() if "samples." in name}
        made._samples.restore(numbers, [BacktestSample(**sample) for sample in facts["samples"]])
        made._first, made._last = arrays["first"], arrays["last"]
        made.scores = {id_: Score.from_plain(plain) for id_, plain in facts["scores"].items()}
        return made


def _seeds(ids: Sequence[str]) -> NDArray[np.uint64]:
    """A number for every subscription and kind, independent of the other subscriptions."""
    digests = b"".join(
        hashlib.blake2b(f"{kind} {id_}".encode(), digest_size=8).digest() for id_ in ids for kind in KINDS
    )
    return np.frombuffer(digests, "<u8").astype(np.uint64)
