"""Outputs of a step: matches with their witnesses, and observations of the patterns that are forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Witness i has the steps `position[start[i] : start[i + 1]]`, from first to last, taken by the events `taken`."""

    start: NDArray[np.int64]
    position: NDArray[np.int32]
    taken: NDArray[np.int64]  # arrival numbers

    def of(self, row: int) -> list[tuple[int, int]]:
        """The positions and events of one witness."""
        begin, end = self.start[row], self.start[row + 1]
        return list(zip(self.position[begin:end].tolist(), self.taken[begin:end].tolist(), strict=True))

    def take(self, rows: NDArray[np.int64]) -> Witnesses:
        """The witnesses with these numbers."""
        lengths = self.start[rows + 1] - self.start[rows]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        taken = np.repeat(self.start[rows] - start[:-1], lengths) + np.arange(start[-1])
        return Witnesses(start, self.position[taken], self.taken[taken])

    @staticmethod
    def joined(parts: Sequence[Witnesses]) -> Witnesses:
        """Concatenate witnesses."""
        lengths = [np.zeros(1, np.int64), *(np.diff(part.start) for part in parts)]
        none = Witnesses(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        parts = [none, *parts]
        return Witnesses(
            np.cumsum(np.concatenate(lengths)),
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.taken for part in parts]),
        )


class WitnessedRows:
    """Rows about events, each with a witness."""

    __slots__ = ()
    event: NDArray[np.int64]
    witness: Witnesses

    def __len__(self) -> int:
        return len(self.event)

    @property
    def start(self) -> NDArray[np.int64]:
        """Where each witness begins."""
        return self.witness.start

    @property
    def position(self) -> NDArray[np.int32]:
        """The positions of all witnesses."""
        return self.witness.position

    @property
    def taken(self) -> NDArray[np.int64]:
        """The events of all witnesses."""
        return self.witness.taken


@dataclass(frozen=True, slots=True)
class PatternMatches(WitnessedRows):
    """Match i, ordered by event as they were processed, then by pattern."""

    event: NDArray[np.int64]  # arrival number of the completing event
    pattern: NDArray[np.int64]  # uid
    witness: Witnesses
    values: NDArray[np.int64]  # (n, variables, 2) of the join variables, as pairs


@dataclass(frozen=True, slots=True)
class Observations(WitnessedRows):
    """A row for every event that the machine of a forecast pattern sees, in the order of processing."""

    event: NDArray[np.int64]  # arrival number
    pattern: NDArray[np.int64]  # uid
    key: NDArray[np.int64]  # (n, 2) the partition
    state: NDArray[np.int64]  # the set of states in which there are partial matches after the event; 0: none
    hit: NDArray[np.bool_]  # the pattern was completed by this event
    symbol: NDArray[np.int64]  # bit i: the i-th distinct filter of its steps holds, then a bit for every feature
    depth: NDArray[np.int64]  # steps taken by the most advanced partial match
    age: NDArray[np.int64]  # microseconds since its first event; -1: there is none
    first: NDArray[np.int64]  # arrival number of its first event; -1
    time: NDArray[np.int64]  # of the event, in microseconds
    span: NDArray[np.int64]  # microseconds from the first to this, the last event of the shortest match; -1: none
    begun: NDArray[np.int64]  # arrival number of the first event of that match; -1
    witness: Witnesses  # of the most advanced partial match


@dataclass(frozen=True, slots=True)
class PatternOutputs:
    """All outputs of a batch."""

    matches: PatternMatches
    observations: Observations


def joined_matches(parts: Sequence[PatternMatches], variables: int) -> PatternMatches:
    """Concatenate matches."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _no_matches(variables)
    return PatternMatches(
        np.concatenate([part.event for part in parts]),
        np.concatenate([part.pattern for part in parts]),
        Witnesses.joined([part.witness for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def joined_observations(parts: Sequence[Observations]) -> Observations:
    """Concatenate observations."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _no_observations()
    columns = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(Observations)
        if each.name != "witness"
    }
    return Observations(**columns, witness=Witnesses.joined([part.witness for part in parts]))


@cache
def _no_matches(variables: int) -> PatternMatches:
    none = _frozen(np.zeros(0, np.int64))
    return PatternMatches(none, none, Witnesses.joined([]), _frozen(np.zeros((0, variables, 2), np.int64)))


@cache
def _no_observations() -> Observations:
    none = _frozen(np.zeros(0, np.int64))
    return Observations(
        event=none,
        pattern=none,
        key=_frozen(np.zeros((0, 2), np.int64)),
        state=none,
        hit=_frozen(np.zeros(0, np.bool_)),
        symbol=none,
        depth=none,
        age=none,
        first=none,
        time=none,
        span=none,
        begun=none,
        witness=Witnesses.joined([]),
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, because it is shared."""
    array.flags.writeable = False
    return array
