"""A matching tree that grows and shrinks by one conjunction at a time (Aguilera 1999, appendices A and B).

Stored as the trie of ordered predicates, so that its shape depends on its content and not on the order of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from vedette.errors import InputError, UnknownSubscription
from vedette.filters.tree.index import Factoring, MatchingTree, TreeOptions, freeze
from vedette.filters.tree.kernels.tree_layout import TrieArrays
from vedette.filters.tree.kernels.tree_order import simplify
from vedette.filters.tree.trie import check_index_column, form_of, place_of, starts
from vedette.kernels.bundles import PredicateTable

PredicateKey: TypeAlias = tuple[int, int, int]  # column, low, width, as in PredicateTable
Combination: TypeAlias = tuple[int | None, ...]  # a value for each index column; None: none that is tested


class _GrowingNode:
    """A node of the trie: the predicates that may follow, and the conjunctions that end here."""

    __slots__ = ("children", "own")

    def __init__(self) -> None:
        self.children: dict[PredicateKey, _GrowingNode] = {}
        self.own: set[int] = set()

    @property
    def empty(self) -> bool:
        return not self.children and not self.own


class GrowingTree:
    """A tree to which conjunctions are added and removed; `freeze` makes a tree that can be walked."""

    def __init__(self, ranks: int, order: Sequence[int] = (), index: Sequence[int] = ()) -> None:
        """Columns below `ranks` are rank columns; those in `order` are tested first, those in `index` factored out."""
        self._ranks = ranks
        self._order = tuple(order)
        self._index = tuple(index)
        for column in self._index:
            check_index_column(column, ranks, exact=True)
        self._roots: dict[Combination, _GrowingNode] = {}
        self._held: dict[int, tuple[Combination, tuple[PredicateKey, ...]] | None] = {}  # None: it can never hold
        self._tests: Counter[int] = Counter()  # by column
        self._ranges: Counter[int] = Counter()  # by column: predicates of width > 0
        self._values: list[Counter[int]] = [Counter() for _ in self._index]

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, conjunction: int) -> bool:
        return conjunction in self._held

    def add(self, conjunction: int, predicates: Iterable[PredicateKey]) -> None:
        """Add a conjunction."""
        if conjunction in self._held:
            raise InputError(f"conjunction {conjunction} is in the tree already. Remove it first.")
        useful = self._simplified(predicates)
        if useful is None:
            self._held[conjunction] = None
            return
        values = {column: low for column, low, _ in useful if column in self._index}
        for column, _, width in useful:
            if column in self._index:
                check_index_column(column, self._ranks, exact=width == 0)
        wanted = tuple(values.get(column) for column in self._index)
        sequence = tuple(sorted((p for p in useful if p[0] not in self._index), key=self._rank))
        for number, value in enumerate(wanted):
            if value is not None:
                self._note_value(number, value)
        for root in self._consistent(wanted):
            self._insert(root, conjunction, sequence)
        for column, _, width in sequence:
            self._tests[column] += 1
            self._ranges[column] += width > 0
        self._held[conjunction] = (wanted, sequence)

    def remove(self, conjunction: int) -> None:
        """Remove a conjunction, and every node that only it needed."""
        if conjunction not in self._held:
            raise UnknownSubscription(f"conjunction {conjunction} is not in the tree.")
        held = self._held.pop(conjunction)
        if held is None:
            return
        wanted, sequence = held
        for root in self._consistent(wanted):
            self._take_out(root, conjunction, sequence)
        for column, _, width in sequence:
            self._tests[column] -= 1
            self._ranges[column] -= width > 0
        for number, value in enumerate(wanted):
            if value is not None:
                self._forget_value(number, value)

    def freeze(self, options: TreeOptions | None = None) -> MatchingTree:
        """The tree as it is now; order and index columns are the growing tree's own."""
        options = options or TreeOptions()
        columns = sorted((c for c, tests in self._tests.items() if tests), key=lambda c: place_of(c, self._order))
        exact = [self._ranges[column] == 0 for column in columns]
        form = form_of(columns, exact, self._ranks, filled=options.successors or not options.collapse)
        values = [sorted(counter) for counter in self._values]
        places = {combination: _place(combination, values) for combination in self._roots}
        combinations = sorted(self._roots, key=places.__getitem__)
        trie = self._trie([self._roots[combination] for combination in combinations], columns)
        factoring = Factoring(
            np.array(self._index, np.int32),
            np.cumsum([0, *map(len, values)], dtype=np.int64),
            np.array([value for column in values for value in column], np.int32),
            np.array([places[combination] for combination in combinations], np.int64),
            int(np.prod([len(column) + 1 for column in values], dtype=np.int64)),
        )
        return MatchingTree(freeze(trie, factoring, form, options), self._ranks)

    def _simplified(self, predicates: Iterable[PredicateKey]) -> list[PredicateKey] | None:
        """The predicates that are worth testing, or None if they can never all hold."""
        given = list(predicates)
        table = PredicateTable(
            np.array([0, len(given)], np.int64),
            np.array([column for column, _, _ in given], np.int32),
            np.array([low for _, low, _ in given], np.int32),
            np.array([width for _, _, width in given], np.uint32),
        )
        keep, possible = simplify(table, self._ranks)
        return [p for p, kept in zip(given, keep.tolist(), strict=True) if kept] if possible[0] else None

    def _rank(self, predicate: PredicateKey) -> tuple[int, int, int]:
        """The sort key of the total order: by column, then by lower bound, then the wider first."""
        column, low, width = predicate
        return place_of(column, self._order), low, -width

    def _consistent(self, wanted: Combination) -> Iterator[Combination]:
        """The combinations of index values that a conjunction allows."""
        choices = [[None, *self._values[number]] if value is None else [value] for number, value in enumerate(wanted)]
        return product(*choices)

    def _insert(self, root: Combination, conjunction: int, sequence: tuple[PredicateKey, ...]) -> None:
        node = self._roots.setdefault(root, _GrowingNode())
        for predicate in sequence:
            node = node.children.setdefault(predicate, _GrowingNode())
        node.own.add(conjunction)

    def _take_out(self, root: Combination, conjunction: int, sequence: tuple[PredicateKey, ...]) -> None:
        path = [self._roots[root]]
        for predicate in sequence:
            path.append(path[-1].children[predicate])
        path[-1].own.remove(conjunction)
        for parent, predicate, node in zip(path[-2::-1], reversed(sequence), path[:0:-1], strict=True):
            if not node.empty:
                return
            del parent.children[predicate]
        if path[0].empty:
            del self._roots[root]

    def _note_value(self, number: int, value: int) -> None:
        """Give a new value of an index column its own trees, with all conjunctions that do not test the column."""
        self._values[number][value] += 1
        if self._values[number][value] > 1:
            return
        for root in [root for root in self._roots if root[number] is None]:
            own = (*root[:number], value, *root[number + 1 :])
            for conjunction in _members(self._roots[root]):
                held = self._held[conjunction]
                if held is not None:
                    self._insert(own, conjunction, held[1])

    def _forget_value(self, number: int, value: int) -> None:
        self._values[number][value] -= 1
        if self._values[number][value] == 0:
            del self._values[number][value]
            for root in [root for root in self._roots if root[number] == value]:
                del self._roots[root]

    def _trie(self, roots: list[_GrowingNode], columns: list[int]) -> TrieArrays:
        """The trie as arrays, breadth first."""
        position = {column: place for place, column in enumerate(columns)}
        labels: list[PredicateKey] = [(-1, 0, 0)] * len(roots)
        children: list[int] = []
        own: list[int] = []
        owners: list[int] = []
        level = roots
        while level:
            following = []
            for node in level:
                owners.append(len(node.own))
                own.extend(sorted(node.own))
                children.append(len(node.children))
                for predicate in sorted(node.children, key=self._rank):
                    labels.append((position[predicate[0]], *predicate[1:]))
                    following.append(node.children[predicate])
            level = following
        return TrieArrays(
            np.array([place for place, _, _ in labels], np.int32),
            np.array([low for _, low, _ in labels], np.int32),
            np.array([width for _, _, width in labels], np.uint32),
            starts([np.array(children, np.int64)], len(roots)),
            starts([np.array(owners, np.int64)], 0),
            np.array(own, np.int32),
        )


def _members(root: _GrowingNode) -> list[int]:
    """Every conjunction of a tree."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.extend(node.own)
        waiting.extend(node.children.values())
    return found


def _place(combination: Combination, values: list[list[int]]) -> int:
    """The number of a combination of index values; the last column counts fastest."""
    place = 0
    for value, tested in zip(combination, values, strict=True):
        place = place * (len(tested) + 1) + (0 if value is None else 1 + tested.index(value))
    return place
