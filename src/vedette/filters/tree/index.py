"""The matching tree as an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.errors import SnapshotError
from vedette.filters.index import Arrays
from vedette.filters.tree.kernels.tree import walk_batch, walk_one
from vedette.filters.tree.kernels.tree_events import EventGroups, roots_of
from vedette.filters.tree.kernels.tree_layout import TreeLayoutOptions, TrieArrays, lay_out
from vedette.filters.tree.kernels.tree_nodes import EXAMINE, EXAMINE_TOKENS, KIND, NONE, FlatTree
from vedette.filters.tree.kernels.tree_successors import compact, complete_successors, same_level_successors
from vedette.filters.tree.trie import (
    build_trie,
    chosen_order,
    factored,
    form_of,
    index_columns,
    inexact_columns,
    place_of,
    sequences,
    simplified,
)
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """The optimisations of Aguilera 1999, §5, and the total order. None of them changes an answer."""

    collapse: bool = True
    """An edge leads past nodes that only a *-edge leaves."""

    successors: bool = False
    """Successor sets are computed ahead for the equality form: fewer tests, but more space, and measured slower."""

    refine: bool = False
    """Successor sets leave out nodes where the test that has just failed must fail again."""

    index: int | tuple[int, ...] = 0
    """Factor out these columns, or so many of the best: one tree for each combination of their values."""

    order: tuple[int, ...] | None = None
    """Columns in the order of their tests, before all others; None: chosen from the conjunctions and the sample."""


class Factoring(NamedTuple):
    """The index columns with the values tested there, and the position of each root among their combinations."""

    columns: NDArray[np.int32]
    start: NDArray[np.int64]
    values: NDArray[np.int32]
    places: NDArray[np.int64]
    combinations: int


def freeze(trie: TrieArrays, factoring: Factoring, form: TreeLayoutOptions, options: TreeOptions) -> FlatTree:
    """Lay the trie out as rows; arrays are read-only, so that a restored tree runs the same machine code."""
    layout = lay_out(trie, factoring.places.size, form)
    successor_start, successors = np.zeros(1, np.int64), np.empty(0, np.int32)
    if options.successors:
        paths = same_level_successors(layout, form.levels)
        sets = complete_successors(layout, paths, form.levels, options.collapse, options.refine)
        layout, successor_start, successors = compact(layout, sets, form.levels, options.collapse)
    roots = np.full(factoring.combinations, NONE, np.int32)
    roots[factoring.places] = layout.roots
    kinds = layout.nodes[:, 0] & KIND
    bits = layout.nodes[(kinds == EXAMINE) | (kinds == EXAMINE_TOKENS), 2]
    flat = FlatTree(
        layout.nodes,
        layout.slots,
        layout.members,
        roots,
        factoring.columns,
        factoring.start,
        factoring.values,
        successor_start,
        successors,
        np.array([1 << int(bits.max(initial=0))], np.int64),
    )
    for array in flat:
        array.flags.writeable = False
    return flat


_TYPES = dict(
    zip(
        FlatTree._fields,
        (np.int32, np.int32, np.int32, np.int32, np.int32, np.int64, np.int32, np.int64, np.int32, np.int64),
        strict=True,
    )
)


class MatchingTree:
    """A frozen matching tree (Aguilera 1999). Immutable; threads may match at the same time."""

    name: ClassVar[str] = "tree"

    def __init__(self, flat: FlatTree, ranks: int) -> None:
        self.flat = flat
        self._ranks = ranks

    @classmethod
    def build(
        cls, table: PredicateTable, ranks: int, sample: CodedBatch, options: TreeOptions | None = None
    ) -> MatchingTree:
        """Index the conjunctions of `table`; `sample` and `options` steer the shape, never the answer."""
        options = options or TreeOptions()
        predicates = simplified(table, ranks)
        inexact = inexact_columns(predicates)
        index = index_columns(predicates, ranks, options.index)
        if options.order is None:
            order = chosen_order(predicates, ranks, sample)
        else:
            given = options.order
            order = sorted(np.unique(predicates.column).tolist(), key=lambda column: place_of(column, given))
        columns = [column for column in order if column not in index]
        exact = [column not in inexact for column in columns]
        form = form_of(columns, exact, ranks, filled=options.successors or not options.collapse)
        entries = factored(predicates, index)
        trie = build_trie(sequences(predicates, form, table.start.size - 1), entries)
        factoring = Factoring(
            np.array(index, np.int32), entries.index_start, entries.index_values, entries.places, entries.combinations
        )
        return cls(freeze(trie, factoring, form, options), ranks)

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        """Every (event, conjunction) pair that holds, each once."""
        return walk_batch(self.flat, self._ranks, batch, self._groups(batch), np.empty(0, np.int64), True)

    def match_counting(self, batch: CodedBatch, *, forks: bool = True) -> tuple[ConjunctionPairs, NDArray[np.int64]]:
        """The pairs, and how many nodes each event visited: the paper's measure of work.

        With collapsed edges and successor sets, some edges lead to several nodes. Such a fork is a row that is
        read, and counts as a visit unless `forks` is False.
        """
        visits = np.zeros(batch.ranks.shape[1], np.int64)
        pairs = walk_batch(self.flat, self._ranks, batch, self._groups(batch), visits, forks)
        return pairs, visits

    def match_one(self, batch: CodedBatch) -> NDArray[np.int32]:
        """The conjunctions that hold for the only event of a batch of one."""
        return walk_one(self.flat, self._ranks, batch)[0]

    def match_one_counting(self, batch: CodedBatch) -> tuple[NDArray[np.int32], int]:
        """The same, and how many nodes the event visited."""
        found, visits = walk_one(self.flat, self._ranks, batch)
        return found, int(visits)

    def _groups(self, batch: CodedBatch) -> EventGroups:
        """The events by the tree they belong to."""
        events = int(batch.ranks.shape[1])
        if self.flat.roots.size == 1:
            return EventGroups(
                np.arange(events, dtype=np.int32), np.array([0, events], np.int64), self.flat.roots.copy()
            )
        roots = roots_of(self.flat, batch)
        order = np.argsort(roots, kind="stable")
        distinct, start = np.unique(roots[order], return_index=True)
        return EventGroups(order.astype(np.int32), np.append(start, events).astype(np.int64), distinct)

    @property
    def nodes(self) -> int:
        """All rows, leaves and forks among them."""
        return int(self.flat.nodes.shape[0])

    @property
    def edges(self) -> int:
        """Every node but the roots has one edge that leads to it."""
        return self.nodes - int(np.count_nonzero(self.flat.roots != NONE))

    @property
    def successors(self) -> int:
        """The sizes of all successor sets together."""
        return int(self.flat.successors.size)

    def arrays(self) -> Arrays:
        """Plain arrays from which `restore` makes the same tree."""
        return self.flat._asdict()

    @classmethod
    def restore(cls, table: PredicateTable, ranks: int, arrays: Arrays) -> MatchingTree:
        """The inverse of `arrays`; the predicates themselves are all in the nodes."""
        missing = [name for name in FlatTree._fields if name not in arrays]
        if missing:
            raise SnapshotError(f"the tree's arrays lack {', '.join(missing)}. Compile the set again.")
        columns = []
        for name, kind in _TYPES.items():
            array = np.asarray(arrays[name], kind).view()
            array.flags.writeable = False
            columns.append(array)
        return cls(FlatTree(*columns), ranks)
