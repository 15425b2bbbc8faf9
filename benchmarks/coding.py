"""Constants to code space, as the engine does it: sorted breakpoints per column, ranks for everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.constants import Attribute, Constraints, Events, Op
from vedette.kernels.bundles import MISSING, CodedBatch, PredicateTable


@dataclass(frozen=True)
class CodedSubscriptions:
    """A predicate table and the breakpoints that its ranks count."""

    attributes: tuple[Attribute, ...]
    table: PredicateTable
    breakpoints: tuple[NDArray[np.int64], ...]

    @property
    def ranks(self) -> int:
        """How many rank columns there are."""
        return len(self.breakpoints)

    def encode(self, events: Events) -> CodedBatch:
        """A batch of events, in the ranks of these breakpoints."""
        ranks = np.empty((self.ranks, len(events)), np.int32)
        for row, attribute, column, points in zip(
            ranks, self.attributes, events.columns, self.breakpoints, strict=True
        ):
            row[:] = np.searchsorted(points, keys(attribute, column.values), side="right")
            row[~column.present] = MISSING
        return CodedBatch(ranks, np.empty((0, len(events)), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))


def keys(attribute: Attribute, values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Order-preserving int64 keys; a string's is even, so that its successor lies before the next string."""
    if attribute.kind == "int":
        return values.astype(np.int64)
    if attribute.kind == "string":
        return values.astype(np.int64) * 2
    bits = (values.astype(np.float64) + 0.0).view(np.int64)  # adding 0.0 makes -0.0 the other zero
    return np.where(bits >= 0, bits, bits ^ np.int64(0x7FFFFFFFFFFFFFFF))


def encode_subscriptions(constraints: Constraints) -> CodedSubscriptions:
    """Breakpoints from all constants of a column; every constraint becomes one interval of ranks."""
    low = np.empty(len(constraints.attribute), np.int32)
    high = np.empty(len(constraints.attribute), np.int32)
    breakpoints = []
    for attribute, places in zip(constraints.attributes, constraints.by_attribute, strict=True):
        op = constraints.op[places]
        first = keys(attribute, constraints.low[places]) + (op == Op.ABOVE)
        upper = np.where(op == Op.EQUAL, constraints.low[places], constraints.high[places])
        last = keys(attribute, upper) + (op != Op.BELOW)
        bounded_below, bounded_above = op != Op.BELOW, op != Op.ABOVE
        points = np.unique(np.concatenate((first[bounded_below], last[bounded_above])))
        low[places] = np.where(bounded_below, _places(points, first) + 1, 0)
        high[places] = np.where(bounded_above, _places(points, last), len(points))
        breakpoints.append(points)
    table = PredicateTable(
        constraints.start, constraints.attribute.astype(np.int32), low, (high - low).astype(np.uint32)
    )
    return CodedSubscriptions(constraints.attributes, table, tuple(breakpoints))


def _places(points: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Binary search; of many constants in sorted order, because that stays in the cache."""
    if len(wanted) < 100_000 or len(points) < 100_000:
        return np.searchsorted(points, wanted)
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.int64)
    found[order] = np.searchsorted(points, wanted[order])
    return found
