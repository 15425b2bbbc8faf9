"""A matching tree written out, so that a test can say what it should look like."""

from __future__ import annotations

from typing import Any

from vedette.filters.tree import MatchingTree
from vedette.filters.tree.kernels.tree_nodes import (
    CHILD,
    COLUMN_SHIFT,
    EXAMINE,
    EXAMINE_TOKENS,
    KIND,
    LEAF,
    NO_TOKEN,
    NONE,
    SKIP,
    TEST,
    VALUE,
)

Outline = Any  # a leaf is the list of its conjunctions, a node a dict: what it asks -> where the edge leads
Path = tuple[Any, ...]
ANY = "*"


def edges(tree: MatchingTree, row: int) -> dict[Any, int]:
    """The edges that leave a row, the *-edge last."""
    head, a, b, star = tree.flat.nodes[row].tolist()
    kind, column = head & KIND, head >> COLUMN_SHIFT
    found: dict[Any, int] = {}
    if kind in (EXAMINE, EXAMINE_TOKENS):
        slots = tree.flat.slots[a : a + (1 << b)].tolist()
        found = {(column, slot[VALUE]): slot[CHILD] for slot in sorted(slots) if slot[CHILD] != NONE}
    elif kind == TEST:
        width = b % 2**32
        found = {(column, a) if width == 0 else (column, a, a + width): row + 1}
    elif kind not in (LEAF, SKIP):
        found = {(column, "without" if kind == NO_TOKEN else "with", a): row + 1}
    if star != NONE:
        found[ANY] = star
    return found


def outline(tree: MatchingTree, row: int | None = None) -> Outline:
    """The tree below a row, or the whole of it; of a tree with index columns ask for a row."""
    row = int(tree.flat.roots[0]) if row is None else row
    head, first, count, _ = tree.flat.nodes[row].tolist()
    if head & KIND == LEAF:
        return sorted(tree.flat.members[first : first + count].tolist())
    return {label: outline(tree, child) for label, child in edges(tree, row).items()}


def paths(tree: MatchingTree) -> dict[Path, int]:
    """Rows by their path from the root: a value or ANY for each level passed."""
    found: dict[Path, int] = {}
    waiting: list[tuple[Path, int]] = [((), int(tree.flat.roots[0]))]
    while waiting:
        path, row = waiting.pop()
        found[path] = row
        for label, child in edges(tree, row).items():
            waiting.append(((*path, ANY if label == ANY else label[1]), child))
    return found


def successors(tree: MatchingTree, row: int) -> set[int]:
    """The successor set of a row."""
    begin, end = tree.flat.successor_start[row : row + 2].tolist()
    return set(tree.flat.successors[begin:end].tolist())
