"""The matching tree as an index."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vedette.errors import SnapshotError
from vedette.filters.index import Arrays
from vedette.filters.tree.freeze import Factoring, freeze
from vedette.filters.tree.kernels.tree import walk_batch, walk_one
from vedette.filters.tree.kernels.tree_events import EventGroups, roots_of
from vedette.filters.tree.kernels.tree_nodes import NONE, FlatTree
from vedette.filters.tree.test_order import chosen_order, form_of, index_columns, inexact_columns, place_of, simplified
from vedette.filters.tree.tree_options import TreeOptions
from vedette.filters.tree.trie import build_trie, factored, sequences
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable

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
