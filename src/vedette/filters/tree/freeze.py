"""Turns a trie into the flat tree that is walked, with the optimisations of the options."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.tree.kernels.tree_layout import TreeLayoutOptions, TrieArrays, lay_out
from vedette.filters.tree.kernels.tree_nodes import EXAMINE, EXAMINE_TOKENS, KIND, NONE, FlatTree
from vedette.filters.tree.kernels.tree_successors import compact, complete_successors, same_level_successors
from vedette.filters.tree.tree_options import TreeOptions


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
