"""Gates: the conjunctions below which covered ones are filed, and the events that pass them.

A conjunction that one other covers is filed below that one, its gate. The second level matches pairs of an event
and a gate that it passed, where the gate is an attribute tested for equality: so an event meets
only what lies within something that it matched. Conjunctions that only several others cover together are filed below
one more gate, TOGETHER, which an event passes if it matched any of those.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable

Ints: TypeAlias = NDArray[np.int32]


TOGETHER, NOT_COVERED = -1, -2  # below which a subscription hangs, if it is not one other


class GatePlan(NamedTuple):
    """Conjunctions by level.

    Gates come first on the first level, and their places there are their numbers. Those that help to cover others are
    adjacent, too: some of them are gates of their own.
    """

    first: Ints
    bounds: Ints  # where those that help begin, where gates end, where those that help end
    covered: Ints
    gate: Ints  # of each covered one; the number of gates stands for TOGETHER


class GatedEvents(NamedTuple):
    """Pairs of event and passed gate, encoded as events: the gate is the last rank column."""

    event: Ints
    batch: CodedBatch


def plan_of_covers(owner: Ints, below: Ints, alone: NDArray[np.bool_], helping: NDArray[np.bool_]) -> GatePlan:
    """The plan from the known covers: the gate of each conjunction, TOGETHER or NOT_COVERED.

    `alone` are those that cover others alone, which have one conjunction each; `helping` those that help to.
    """
    of_conjunctions = below[owner]
    covered = np.flatnonzero(of_conjunctions != NOT_COVERED).astype(np.int32)
    first = np.flatnonzero(of_conjunctions == NOT_COVERED).astype(np.int32)
    gates, helps = alone[owner[first]], helping[owner[first]]
    kind = np.select([gates & ~helps, gates, helps], [0, 1, 2], 3)
    first = first[np.argsort(kind, kind="stable")]
    together, gates_end, helping_end = np.searchsorted(np.sort(kind), [1, 2, 3])
    number = np.full(len(below) + 1, gates_end, np.int32)  # the last place is that of TOGETHER
    number[owner[first[:gates_end]]] = np.arange(gates_end)
    return GatePlan(
        first, np.array([together, gates_end, helping_end], np.int32), covered, number[of_conjunctions[covered]]
    )


def select(table: PredicateTable, conjunctions: Ints) -> PredicateTable:
    """Some of the conjunctions, numbered in the given order."""
    lengths = np.diff(table.start)[conjunctions]
    start = np.zeros(len(conjunctions) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    places = np.repeat(table.start[:-1][conjunctions] - start[:-1], lengths) + np.arange(start[-1])
    return PredicateTable(start, table.column[places], table.low[places], table.width[places])


def below_gates(table: PredicateTable, ranks: int, plan: GatePlan) -> PredicateTable:
    """The covered conjunctions, each with its gate as an additional predicate; token columns move up by one."""
    own = select(table, plan.covered)
    at = own.start[:-1]
    column = own.column + (own.column >= ranks).astype(np.int32)
    return PredicateTable(
        own.start + np.arange(len(own.start)),
        np.insert(column, at, np.int32(ranks)),
        np.insert(own.low, at, plan.gate),
        np.insert(own.width, at, np.uint32(0)),
    )


def gated_events(plan: GatePlan, found: ConjunctionPairs, batch: CodedBatch) -> GatedEvents:
    """The gates that events passed, given their matches on the first level."""
    together, gates, helping = plan.bounds.tolist()
    own = found.conjunction < gates
    event, gate = found.event[own], found.conjunction[own]
    if together < helping:
        helped = (found.conjunction >= together) & (found.conjunction < helping)
        several = distinct(found.event[helped], batch.ranks.shape[1])
        event = np.concatenate((event, several))
        gate = np.concatenate((gate, np.full(len(several), gates, np.int32)))
    return at_gates(batch, event, gate)


def at_gates(batch: CodedBatch, event: Ints, gate: Ints) -> GatedEvents:
    """Pairs of an event and a gate, from encoded events."""
    ranks = np.empty((len(batch.ranks) + 1, len(event)), np.int32)
    np.take(batch.ranks, event, axis=1, out=ranks[:-1], mode="clip")
    ranks[-1] = gate
    return GatedEvents(event, batch._replace(ranks=ranks, sets=batch.sets.take(event, axis=1)))


def distinct(events: Ints, size: int) -> Ints:
    """Distinct values, ascending."""
    marked = np.zeros(size, np.bool_)
    marked[events] = True
    return np.flatnonzero(marked).astype(np.int32)
