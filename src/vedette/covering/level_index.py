"""An index in two levels: covered conjunctions are tested only for events that match one which covers them.

An index of all conjunctions is kept beside the two levels. If events match much that covers others, matching level
by level costs more than it saves, so both ways are timed now and then and the faster one is used. The price is memory:
every conjunction is indexed twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.covering.gates import GatePlan, Ints, at_gates, below_gates, distinct, gated_events, select
from vedette.filters.index import DEFAULT, Arrays, Index, index_class
from vedette.filters.pairs import PairBuffer
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable

FLAT: Final = 0
IN_LEVELS: Final = 1
TrialNumber: TypeAlias = int

_WORTH = 0.97  # of the other way's time: less of a difference may be chance, and is no reason to change
_FIRST_WAIT, _LONGEST_WAIT = 16, 256  # between two trials, in trials: a trial takes two calls a round


class SpeedTrials:
    """Alternates ways until each was timed often enough, then gives the faster one.

    Any number of threads may use it without a lock. A time that is lost, or counted in the wrong trial, only makes one
    trial worse.
    """

    def __init__(self, rounds: int, best: TrialNumber = FLAT, *, settled: bool = False) -> None:
        self.best = best
        self._rounds = rounds
        self._wait = _FIRST_WAIT
        self.left = self._wait * 2 * rounds if settled else 0  # calls before the next trial; 0 while one goes on
        self._next: TrialNumber = IN_LEVELS
        self._times: tuple[list[float], list[float]] = [], []

    def next_way(self) -> TrialNumber:
        """The way to be timed next, in the order A B B A, so that neither always comes first."""
        way = self._next
        if len(self._times[way]) >= len(self._times[1 - way]):
            self._next = 1 - way
        return way

    def note(self, way: TrialNumber, seconds_per_event: float) -> None:
        """Record the time of a way."""
        times = self._times
        times[way].append(seconds_per_event)
        if len(times[FLAT]) < self._rounds or len(times[IN_LEVELS]) < self._rounds:
            return
        self._times = [], []
        present, other = self.best, 1 - self.best
        changed = median(times[other]) < _WORTH * median(times[present])
        self._wait = _FIRST_WAIT if changed else min(2 * self._wait, _LONGEST_WAIT)
        self.best, self.left = (other if changed else present), self._wait * 2 * self._rounds


_CLASSES = 11  # of batches, by size, each four times as large as the one before: what is faster for one may not be so
_LARGE = 5  # the class of batches so large that few of them tell which way is faster
_REHEARSED = 16_384  # events, about as many as are matched together
_MOST_GATES = 8  # that events may pass, on average, before one index over everything is certain to be faster
_FEWEST = 64  # events with their gates that say how the second level is best laid out


class LevelCounts(NamedTuple):
    """The number of events matched level by level, and of those that reached the second level."""

    asked: int
    reached: int


class LevelIndex:
    """An index with the same results as the flat one."""

    name: ClassVar[str] = "levels"

    def __init__(self, flat: Index, first: Index, second: Index, plan: GatePlan) -> None:
        self.flat, self.first, self.second, self.plan = flat, first, second, plan
        self._opening = int(plan.bounds.max())  # so many of the first level open the second
        self._ways: tuple[Callable[[CodedBatch], ConjunctionPairs], ...] = (flat.match, self.match_in_levels)
        self._one_way: tuple[Callable[[CodedBatch], Ints], ...] = (flat.match_one, self.match_one_in_levels)
        self._start_trials(FLAT, settled=False)
        self._buffer = PairBuffer()
        self._counting = threading.Lock()
        self._asked = self._reached = 0

    @classmethod
    def over(
        cls,
        flat: Index,
        table: PredicateTable,
        ranks: int,
        sample: CodedBatch,
        plan: GatePlan,
        *,
        trusted: bool = False,
    ) -> LevelIndex:
        """Two levels beside an index of all conjunctions; the events of `sample` steer layout and choice.

        `trusted` says that the sample is of real events, and not synthetic.
        """
        kind = index_class(flat.name)
        first = kind.build(select(table, plan.first), ranks, sample)
        below = gated_events(plan, first.match(sample), sample)
        if len(below.event) < _FEWEST:
            events = np.arange(sample.ranks.shape[1], dtype=np.int32)
            below = at_gates(sample, events, events % np.int32(plan.bounds[1] + 1))
        levels = cls(flat, first, kind.build(below_gates(table, ranks, plan), ranks + 1, below.batch), plan)
        levels.rehearse(sample, trusted=trusted)
        return levels

    @classmethod
    def build(cls, table: PredicateTable, ranks: int, sample: CodedBatch) -> LevelIndex:
        """Build from conjunctions without known covers: all are on the first level."""
        everything, nothing = np.arange(len(table.start) - 1, dtype=np.int32), np.zeros(0, np.int32)
        flat = index_class(DEFAULT).build(table, ranks, sample)
        return cls.over(flat, table, ranks, sample, GatePlan(everything, np.zeros(3, np.int32), nothing, nothing))

    def _start_trials(self, best: TrialNumber, *, settled: bool) -> None:
        """Start the trials; `settled` says that large batches need none for a while."""
        self._ones = SpeedTrials(16, best)
        small, large = range(_LARGE), range(_LARGE, _CLASSES)
        self._batches = [SpeedTrials(8, best) for _ in small] + [SpeedTrials(2, best, settled=settled) for _ in large]

    def rehearse(self, sample: CodedBatch, *, trusted: bool) -> None:
        """Time both ways before the first events come; `trusted`: these will be like the sample."""
        events = sample.ranks.shape[1]
        if not events:
            return
        times = -(-_REHEARSED // events)
        batch = sample._replace(ranks=np.tile(sample.ranks, times), sets=np.tile(sample.sets, times))
        trials = SpeedTrials(2)
        for way in self._ways:  # the first time touches fresh memory
            way(batch)
        while trials.left == 0:
            self._timed(batch, trials)
        self._start_trials(trials.best, settled=trusted)
        self.count_anew()

    @property
    def way(self) -> TrialNumber:
        """The way in which large batches are matched now."""
        return self._batches[_class(_REHEARSED)].best

    @property
    def extra_bytes(self) -> int:
        """The bytes of the two levels, in addition to the index of all conjunctions."""
        arrays = [*self.first.arrays().values(), *self.second.arrays().values(), *self.plan]
        return sum(array.nbytes for array in arrays)

    @property
    def counts(self) -> LevelCounts:
        """Counts of the events so far."""
        return LevelCounts(self._asked, self._reached)

    def count_anew(self) -> None:
        """Reset the counts."""
        with self._counting:
            self._asked = self._reached = 0

    # ------------------------------------------------------------ matching

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        """Every (event, conjunction) pair that holds, each once."""
        events = batch.ranks.shape[1]
        trials = self._batches[_class(events)]
        if trials.left > 0:
            trials.left -= 1
            return self._ways[trials.best](batch)
        return self._timed(batch, trials) if events else self.flat.match(batch)

    def match_in_levels(self, batch: CodedBatch) -> ConjunctionPairs:
        """Match level by level."""
        events = batch.ranks.shape[1]
        first = self.first.match(batch)
        opening = first if self._opening == len(self.plan.first) else _only(first, self._opening)
        if len(opening.event) > _MOST_GATES * events:
            self._count(events, len(distinct(opening.event, events)))
            return self.flat.match(batch)
        below = gated_events(self.plan, opening, batch)
        self._count(events, len(distinct(below.event, events)))
        if not len(below.event):
            return ConjunctionPairs(first.event, self.plan.first[first.conjunction])
        second = self.second.match(below.batch)
        size = len(first.event)

        def fill(event: Ints, conjunction: Ints) -> int:
            both = size + len(second.event)
            event[:size] = first.event
            np.take(self.plan.first, first.conjunction, out=conjunction[:size], mode="clip")
            np.take(below.event, second.event, out=event[size:both], mode="clip")
            np.take(self.plan.covered, second.conjunction, out=conjunction[size:both], mode="clip")
            return both

        return self._buffer.collect(fill, size + len(second.event))

    def match_one(self, batch: CodedBatch) -> Ints:
        """The conjunctions that hold for a single event."""
        trials = self._ones
        if trials.left > 0:
            trials.left -= 1
            return self._one_way[trials.best](batch)
        way = trials.next_way()
        begin = time.thread_time()
        found = self._one_way[way](batch)
        trials.note(way, time.thread_time() - begin)
        return found

    def match_one_in_levels(self, batch: CodedBatch) -> Ints:
        """The conjunctions that hold for a single event, found level by level."""
        first = self.first.match_one(batch)
        opens = bool(len(first)) and int(first.min()) < self._opening
        self._count(1, int(opens))
        if not opens:
            return self.plan.first[first]
        below = gated_events(self.plan, ConjunctionPairs(np.zeros(len(first), np.int32), first), batch)
        second = self.second.match(below.batch).conjunction
        return np.concatenate((self.plan.first[first], self.plan.covered[second]))

    def _count(self, asked: int, reached: int) -> None:
        with self._counting:
            self._asked += asked
            self._reached += reached

    def _timed(self, batch: CodedBatch, trials: SpeedTrials) -> ConjunctionPairs:
        way = trials.next_way()
        begin = time.thread_time()  # of this thread: others that are busy too do not count
        found = self._ways[way](batch)
        trials.note(way, (time.thread_time() - begin) / batch.ranks.shape[1])
        return found

    # ------------------------------------------------------------ keeping

    def arrays(self) -> Arrays:
        """The flat arrays by name."""
        found: dict[str, NDArray[Any]] = {"kind": np.frombuffer(self.flat.name.encode(), np.uint8)}
        for level, index in (("flat", self.flat), ("first", self.first), ("second", self.second)):
            found |= {f"{level}.{name}": array for name, array in index.arrays().items()}
        return found | {f"plan.{name}": array for name, array in self.plan._asdict().items()}

    @classmethod
    def restore(cls, table: PredicateTable, ranks: int, arrays: Arrays) -> LevelIndex:
        """The inverse of `arrays`."""
        kind, plan = index_class(arrays["kind"].tobytes().decode()), GatePlan(**_named("plan", arrays))
        first = kind.restore(select(table, plan.first), ranks, _named("first", arrays))
        second = kind.restore(below_gates(table, ranks, plan), ranks + 1, _named("second", arrays))
        return cls(kind.restore(table, ranks, _named("flat", arrays)), first, second, plan)


def _named(level: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(f"{level}."): each for name, each in arrays.items() if name.startswith(f"{level}.")}


def _only(found: ConjunctionPairs, below: int) -> ConjunctionPairs:
    """The pairs whose conjunctions have small numbers."""
    chosen = found.conjunction < below
    return ConjunctionPairs(found.event[chosen], found.conjunction[chosen])


def _class(events: int) -> int:
    return min(events.bit_length() // 2, _CLASSES - 1)
