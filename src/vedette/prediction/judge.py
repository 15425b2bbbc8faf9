"""Did it come true? Forecasts wait until their horizon has passed: so many events of their partition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.prediction.score import Score
from vedette.prediction.tracks import Moves

_SLOT = 40  # bits for the number of an event in its partition
_NEVER = -(1 << 61)


class Forecasts(NamedTuple):
    """Forecasts of some rows: when, in which partition, what was said, whether it was reported."""

    slot: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    probability: NDArray[np.float64]
    reported: NDArray[np.bool_]

    def take(self, rows: NDArray[Any]) -> Forecasts:
        """Some of them."""
        return Forecasts(*(column[rows] for column in self))

    @staticmethod
    def both(one: Forecasts, other: Forecasts) -> Forecasts:
        """One after the other."""
        return Forecasts(*(np.concatenate(columns) for columns in zip(one, other, strict=True)))


_NONE = Forecasts(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_))


class Judge:
    """Judges the forecasts of one pattern, each as soon as it is known whether it came true."""

    def __init__(self, within: int, threshold: float) -> None:
        self._within, self._threshold = within, threshold
        self.score = Score()
        self._waiting = _NONE
        self._last = np.zeros(0, np.int64)  # the number of the last event of each partition
        self._reported = np.zeros(0, np.int64)  # the number of the event of its last prediction; 0 for none

    def see(
        self, moves: Moves, hit: NDArray[np.bool_], probability: NDArray[np.float64], reported: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Take in moves with their forecasts; what could be judged: probabilities, and what came true."""
        self._grow(int(moves.slot.max(initial=-1)) + 1)
        self._count_matches(moves, hit, reported)
        self._last[moves.slot[moves.ends]] = moves.ordinal[moves.ends]
        came = np.zeros(self._last.size, np.bool_)
        came[moves.slot] = True
        touched = came[self._waiting.slot]
        new = Forecasts(moves.slot, moves.ordinal, probability, reported)
        open_ = Forecasts.both(self._waiting.take(touched), new)
        key = (open_.slot << _SLOT) + open_.ordinal
        hits = ((moves.slot << _SLOT) + moves.ordinal)[hit]
        next_hit = np.append(hits, np.iinfo(np.int64).max)[np.searchsorted(hits, key, side="right")]
        came_true = next_hit <= key + self._within
        passed = self._last[open_.slot] - open_.ordinal >= self._within
        judged = came_true | passed
        self._waiting = Forecasts.both(self._waiting.take(~touched), open_.take(~judged))
        done, outcome = open_.take(judged), came_true[judged]
        self.score.add(done.probability, outcome, self._threshold)
        self.score.add_predictions(outcome[done.reported])
        return done.probability, outcome

    def _count_matches(self, moves: Moves, hit: NDArray[np.bool_], reported: NDArray[np.bool_]) -> None:
        """Which matches had a prediction within the horizon before them?"""
        key = (moves.slot << _SLOT) + moves.ordinal
        predicted = key[reported]
        before = np.searchsorted(predicted, key[hit], side="left")
        here = np.append(predicted, _NEVER)[before - 1]  # one of another partition is too far away to count
        earlier = self._reported[moves.slot[hit]]
        earlier = np.where(earlier > 0, (moves.slot[hit] << _SLOT) + earlier, _NEVER)
        latest = np.maximum(here, earlier)
        self.score.add_matches(key[hit] - latest <= self._within)
        self._reported[moves.slot[reported]] = moves.ordinal[reported]

    def _grow(self, size: int) -> None:
        short = size - self._last.size
        if short > 0:
            more = np.zeros(max(short, self._last.size), np.int64)
            self._last, self._reported = np.concatenate([self._last, more]), np.concatenate([self._reported, more])

    def moved(self, slots: NDArray[np.int64]) -> None:
        """Partitions have new slots, or none (-1)."""
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
        """How many forecasts cannot be judged yet."""
        return int(self._waiting.slot.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All but the score, as named arrays."""
        return {**self._waiting._asdict(), "last": self._last, "last_reported": self._reported}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """What `arrays` gave."""
        self._waiting = Forecasts(*(np.array(arrays[name]) for name in Forecasts._fields))
        self._last, self._reported = np.array(arrays["last"]), np.array(arrays["last_reported"])
