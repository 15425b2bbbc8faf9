"""Choose the faster of two ways: timed at first, and again now and then, since events change."""

from __future__ import annotations

from statistics import median
from typing import Final, TypeAlias

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
