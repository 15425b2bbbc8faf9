"""A batch of events as patterns need it: which filters each satisfies, its time, and the values for joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.packing import packed, unpacked

_KIND = "batch of events"


@dataclass(frozen=True, slots=True)
class PatternBatch:
    """n events in the order in which a pattern is to see them, with G partitionings and C columns of values.

    Values and keys are pairs (see `vedette.patterns.values`); unknown ones are 0.
    """

    number: NDArray[np.int64]  # (n) the number of its arrival, which names the event in witnesses
    time: NDArray[np.int64]  # (n) microseconds
    start: NDArray[np.int64]  # (n + 1) event i satisfies the filters primitive[start[i] : start[i + 1]]
    primitive: NDArray[np.int32]
    key: NDArray[np.int64]  # (G, n, 2) the partition
    keyed: NDArray[np.bool_]  # (G, n) false: in none
    value: NDArray[np.int64]  # (C, n, 2) what variables are compared with
    known: NDArray[np.bool_]  # (C, n)

    @staticmethod
    def empty(partitionings: int = 0, columns: int = 0) -> PatternBatch:
        """A batch without events."""
        return PatternBatch(
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            np.zeros((partitionings, 0, 2), np.int64),
            np.zeros((partitionings, 0), np.bool_),
            np.zeros((columns, 0, 2), np.int64),
            np.zeros((columns, 0), np.bool_),
        )

    @property
    def size(self) -> int:
        """The number of events."""
        return len(self.number)

    def take(self, order: NDArray[np.int64]) -> PatternBatch:
        """The events at these places, in this order."""
        begin = self.start[:-1].take(order)
        lengths = self.start[1:].take(order) - begin
        start = _starts(lengths)
        inner = np.arange(start[-1]) + np.repeat(begin - start[:-1], lengths)
        return PatternBatch(
            self.number.take(order),
            self.time.take(order),
            start,
            self.primitive.take(inner),
            self.key.take(order, axis=1),
            self.keyed.take(order, axis=1),
            self.value.take(order, axis=1),
            self.known.take(order, axis=1),
        )

    def slice(self, begin: int, end: int) -> PatternBatch:
        """The events [begin, end), which share their memory with this batch."""
        begin, end, _ = slice(begin, end).indices(self.size)
        end = max(begin, end)
        first, last = self.start[begin], self.start[end]
        return PatternBatch(
            self.number[begin:end],
            self.time[begin:end],
            self.start[begin : end + 1] - first,
            self.primitive[first:last],
            self.key[:, begin:end],
            self.keyed[:, begin:end],
            self.value[:, begin:end],
            self.known[:, begin:end],
        )

    @staticmethod
    def concatenate(batches: Sequence[PatternBatch]) -> PatternBatch:
        """Concatenate batches. One that lacks the last partitionings or columns gets unknown values there."""
        if len(batches) == 1:
            return batches[0]
        groups = max((len(batch.keyed) for batch in batches), default=0)
        columns = max((len(batch.known) for batch in batches), default=0)
        parts = [PatternBatch.empty(groups, columns), *batches]
        return PatternBatch(
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.time for part in parts]),
            _starts(np.concatenate([np.diff(part.start) for part in parts])),
            np.concatenate([part.primitive for part in parts]),
            np.concatenate([_padded(part.key, groups) for part in parts], axis=1),
            np.concatenate([_padded(part.keyed, groups) for part in parts], axis=1),
            np.concatenate([_padded(part.value, columns) for part in parts], axis=1),
            np.concatenate([_padded(part.known, columns) for part in parts], axis=1),
        )

    def renumbered(
        self, primitives: Sequence[int], keys: Sequence[int], columns: Sequence[int], counts: tuple[int, int]
    ) -> PatternBatch:
        """The same events with other numbers: each sequence maps an old number to its new one (-1: no longer used).

        `counts` are the numbers of partitionings and columns afterwards; new ones are unknown.
        """
        new = np.array([*primitives, -1], np.int32)[self.primitive]
        event = np.repeat(np.arange(self.size), np.diff(self.start))
        asked = new >= 0
        order = np.lexsort((new[asked], event[asked]))
        lengths = np.bincount(event[asked], minlength=self.size)
        return PatternBatch(
            self.number,
            self.time,
            _starts(lengths),
            new[asked][order],
            _moved(self.key, keys, counts[0]),
            _moved(self.keyed, keys, counts[0]),
            _moved(self.value, columns, counts[1]),
            _moved(self.known, columns, counts[1]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def to_bytes(self) -> bytes:
        """The batch as plain bytes."""
        return packed(_KIND, self.arrays())

    @staticmethod
    def from_bytes(data: bytes) -> PatternBatch:
        """Restore what `to_bytes` wrote; SnapshotError if these bytes are something else, or damaged."""
        return PatternBatch(**unpacked(_KIND, data)[0])


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _moved(array: NDArray[Any], places: Sequence[int], rows: int) -> NDArray[Any]:
    made = np.zeros((rows, *array.shape[1:]), array.dtype)
    for old, new in enumerate(places[: len(array)]):
        if new >= 0:
            made[new] = array[old]
    return made


def _padded(array: NDArray[Any], rows: int) -> NDArray[Any]:
    if len(array) == rows:
        return array
    made = np.zeros((rows, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made
