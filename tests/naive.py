"""Slow, obvious answers that fast code is held against."""

from __future__ import annotations

from vedette.kernels.bundles import CodedBatch, PredicateTable

_WRAP = 2**32


def holds(predicate: tuple[int, int, int], ranks: int, batch: CodedBatch, event: int) -> bool:
    """Does (column, low, width) hold for this event of the batch?"""
    column, low, width = predicate
    if column < ranks:
        return (int(batch.ranks[column, event]) - low) % _WRAP <= width
    number = int(batch.sets[column - ranks, event])
    tokens = [] if number < 0 else batch.set_tokens[batch.set_start[number] : batch.set_start[number + 1]].tolist()
    return (low in tokens) == (width == 0)


def naive_pairs(table: PredicateTable, ranks: int, batch: CodedBatch) -> set[tuple[int, int]]:
    """Every (event, conjunction) that holds, one predicate after the other."""
    predicates = list(zip(table.column.tolist(), table.low.tolist(), table.width.tolist(), strict=True))
    start = table.start.tolist()
    events = batch.ranks.shape[1]
    return {
        (event, conjunction)
        for event in range(events)
        for conjunction in range(len(start) - 1)
        if all(holds(p, ranks, batch, event) for p in predicates[start[conjunction] : start[conjunction + 1]])
    }
