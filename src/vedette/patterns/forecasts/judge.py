"""Judge forecasts: each waits until its horizon, so many events of its partition, has passed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.partition_tracks import NodeMoves
from vedette.patterns.forecasts.score import Score

_SLOT = 40  # bits for the number of an event in its partition
_NEVER = -(1 << 61)


class ForecastRows(NamedTuple):
    """Forecasts of some rows: time, partition, probability, and whether each was reported."""

    slot: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    probability: NDArray[np.float64]
    reported: NDArray[np.bool_]

    def take(self, rows: NDArray[Any]) -> ForecastRows:
        """The rows with these numbers."""
        return ForecastRows(*(column[rows] for column in self))

    @staticmethod
    def both(one: ForecastRows, other: ForecastRows) -> ForecastRows:
        """Concatenate rows."""
        return ForecastRows(*(np.concatenate(columns) for columns in zip(one, other, strict=True)))


_NONE = ForecastRows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_))


class ForecastVerdicts(NamedTuple):
    """Whether forecasts came true, in the order in which that becomes known: by the deciding event, then by age."""

    at: NDArray[np.int64]  # the place of that event among the moves
    made: NDArray[np.int64]  # where the forecast is made among the moves; -1: it was made before them
    before: ForecastRows  # those made before them; anything for the others
    came_true: NDArray[np.bool_]
    open: ForecastRows  # those of which nothing becomes known; of those that the moves make, what is said comes later
    open_made: NDArray[np.int64]  # where these are made

    def between(self, begin: int, end: int) -> slice:
        """The verdicts that become known from one place to before another."""
        first, last = np.searchsorted(self.at, [begin, end]).tolist()
        return slice(first, last)

    def said(self, which: slice, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities, including those of the moves' own forecasts."""
        return np.where(self.made[which] < 0, self.before.probability[which], probability[self.made[which]])

    def reported(self, which: slice, reported: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each forecast was reported."""
        return np.where(self.made[which] < 0, self.before.reported[which], reported[self.made[which]])


class ForecastJudge:
    """Judges the forecasts of one pattern, each as soon as it is known whether it came true."""

    def __init__(self, within: int, threshold: float) -> None:
        self._within, self._threshold = within, threshold
        self.score = Score()
        self._waiting = _NONE
        self._last = np.zeros(0, np.int64)  # the number of the last event of each partition
        self._reported = np.zeros(0, np.int64)  # the number of the event of its last prediction; 0 for none

    def verdicts(self, moves: NodeMoves, hit: NDArray[np.bool_]) -> ForecastVerdicts:
        """The verdicts that become known with these moves, whatever their own forecasts will be."""
        self._grow(int(moves.slot.max(initial=-1)) + 1)
        self._last[moves.slot] = moves.ordinal  # of several the last one stays
        came = np.zeros(self._last.size, np.bool_)
        came[moves.slot] = True
        touched = came[self._waiting.slot]
        old, order = self._waiting.take(touched), moves.order  # partition by partition, so that keys are sorted
        size, is_hit = order.size, hit[order]
        nothing = ForecastRows(moves.slot[order], moves.ordinal[order], np.zeros(size), np.zeros(size, np.bool_))
        open_ = ForecastRows.both(old, nothing)
        made = np.concatenate([np.full(old.slot.size, -1), order])
        asked = (open_.slot << _SLOT) + open_.ordinal
        keys, hits = asked[old.slot.size :], order[is_hit]
        place = np.searchsorted(keys[is_hit], asked, side="right")
        next_hit = np.append(keys[is_hit], np.iinfo(np.int64).max)[place]
        came_true = next_hit <= asked + self._within
        judged = came_true | (self._last[open_.slot] - open_.ordinal >= self._within)
        passes = np.searchsorted(keys, asked[judged] + self._within)
        at = np.where(came_true[judged], np.append(hits, 0)[place[judged]], np.append(order, 0)[passes])
        which = np.flatnonzero(judged)[np.argsort(at, kind="stable")]  # of one partition the older come first already
        self._waiting = self._waiting.take(~touched)
        at.sort()
        return ForecastVerdicts(
            at, made[which], open_.take(which), came_true[which], open_.take(~judged), made[~judged]
        )

    def judge(
        self, probability: NDArray[np.float64], came_true: NDArray[np.bool_], reported: NDArray[np.bool_]
    ) -> None:
        """Count forecasts, in the order in which it became known whether they came true."""
        self.score.add(probability, came_true, self._threshold)
        self.score.add_predictions(came_true[reported])

    def wait(self, verdicts: ForecastVerdicts, probability: NDArray[np.float64], reported: NDArray[np.bool_]) -> None:
        """Keep the undecided forecasts; by now all the moves have forecasts."""
        made = verdicts.open_made
        here = made >= 0
        verdicts.open.probability[here], verdicts.open.reported[here] = probability[made[here]], reported[made[here]]
        self._waiting = ForecastRows.both(self._waiting, verdicts.open)

    def count_matches(self, moves: NodeMoves, part: slice, hit: NDArray[np.bool_], reported: NDArray[np.bool_]) -> None:
        """Which matches of some moves had a prediction within the horizon before them."""
        slot, ordinal = moves.slot[part], moves.ordinal[part]
        key = (slot << _SLOT) + ordinal
        predicted = np.sort(key[reported])
        before = np.searchsorted(predicted, key[hit], side="left")
        here = np.append(predicted, _NEVER)[before - 1]  # one of another partition is too far away to count
        earlier = self._reported[slot[hit]]
        earlier = np.where(earlier > 0, (slot[hit] << _SLOT) + earlier, _NEVER)
        latest = np.maximum(here, earlier)
        self.score.add_matches(key[hit] - latest <= self._within)
        self._reported[slot[reported]] = ordinal[reported]  # of several the last one stays

    def _grow(self, size: int) -> None:
        short = size - self._last.size
        if short > 0:
            more = np.zeros(max(short, self._last.size), np.int64)
            self._last, self._reported = np.concatenate([self._last, more]), np.concatenate([self._reported, more])

    def moved(self, slots: NDArray[np.int64]) -> None:
        """Change the slots of partitions; -1 removes one."""
        self._grow(slots.size)
        kept = np.flatnonzero(slots >= 0)
        for name in ("_last", "_reported"):
            array = np.zeros(kept.size, np.int64)
            array[slots[kept]] = getattr(self, name)[kept]
            setattr(self, name, array)
        new = slots[self._waiting.slot]
        self._waiting = self._waiting._replace(slot=new).take(new >= 0)

    @property
    def waiting(self) -> int:
        """The number of forecasts that cannot be judged yet."""
        return int(self._waiting.slot.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the score, as named arrays."""
        return {**self._waiting._asdict(), "last": self._last, "last_reported": self._reported}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        self._waiting = ForecastRows(*(np.array(arrays[name]) for name in ForecastRows._fields))
        self._last, self._reported = np.array(arrays["last"]), np.array(arrays["last_reported"])
