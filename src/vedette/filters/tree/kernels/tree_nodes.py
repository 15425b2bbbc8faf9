"""The flat form of a matching tree: one row of four integers per node (Aguilera 1999, §3 and §4).

    row = (column << 4 | greedy | kind, a, b, star)

    kind             a, b                     follows
    LEAF             first member, count      nothing: these conjunctions hold
    TEST             low, width               the next row, if the rank lies in the interval
    EXAMINE          first slot, log2(slots)  the child filed under the rank
    TOKEN            token                    the next row, if the token is in the event's set
    NO_TOKEN         token                    the next row, if it is not
    EXAMINE_TOKENS   first slot, log2(slots)  the child of every token of the event's set
    SKIP                                      nothing: a level that no conjunction below tests
    FORK                                      nothing: no node, but an edge that leads to all of its successors

and then `star`, the end of the *-edge (-1: none). Rows are in the order of a walk that takes the results of a
test before its *-edge. An attribute with a single value edge needs no hash: it is a TEST of width 0.

A *greedy* row does not follow its *-edge itself: an event that finds no value edge there continues at the row's
successors, one of which is the *-edge (§5). Rows that are not greedy may have successors too; these are always
followed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

LEAF, TEST, EXAMINE, TOKEN, NO_TOKEN, EXAMINE_TOKENS, SKIP, FORK = range(8)
KIND = 7
GREEDY = 8
COLUMN_SHIFT = 4

HEAD, A, B, STAR = range(4)
VALUE, CHILD = range(2)
NONE = -1

WORD = 0xFFFFFFFF  # ranks are numbers modulo 2 ** 32


class FlatTree(NamedTuple):
    """A frozen tree, or one tree for every combination of values of the index columns (§5).

    The tree of an event is `roots[place]`; `place` numbers the combinations, the last index column varying fastest.
    Number 0 of a column is "no value that is tested", number 1 + i the value `index_values[index_start[c] + i]`.
    """

    nodes: NDArray[np.int32]  # [nodes, 4]
    slots: NDArray[np.int32]  # [slots, 2]: value, child (NONE: free)
    members: NDArray[np.int32]  # the conjunctions of the leaves
    roots: NDArray[np.int32]  # NONE: no conjunction
    index_columns: NDArray[np.int32]
    index_start: NDArray[np.int64]  # index columns + 1
    index_values: NDArray[np.int32]  # ascending within a column
    successor_start: NDArray[np.int64]  # nodes + 1, or just [0] where there are none
    successors: NDArray[np.int32]
    widest: NDArray[np.int64]  # one element: the most slots that a node has


@kernel
def slot_of(value: int, bits: int) -> int:
    """The slot at which the search for a value begins."""
    spread = ((int(value) & WORD) * 1640531527) & WORD  # from the golden ratio: neighbours get distant slots
    return spread >> (32 - int(bits))


@kernel
def find_slot(slots: NDArray[np.int32], start: int, bits: int, value: int) -> int:
    """The slot of a value in the table of 2 ** bits slots at `start`, or NONE."""
    mask = (1 << int(bits)) - 1
    place = slot_of(value, bits)
    for _ in range(mask + 1):
        slot = start + place
        if slots[slot, CHILD] == NONE:
            return NONE
        if slots[slot, VALUE] == value:
            return slot
        place = (place + 1) & mask
    return NONE


@kernel
def grown(array: NDArray[Any], wanted: int) -> NDArray[Any]:
    """A copy with room for `wanted` items and as many spare ones."""
    wider = np.empty(2 * wanted + 1024, array.dtype)
    wider[: array.size] = array
    return wider


@kernel
def grown_rows(array: NDArray[Any], wanted: int) -> NDArray[Any]:
    """A copy with room for `wanted` rows and as many spare ones."""
    wider = np.empty((2 * wanted + 1024, array.shape[1]), array.dtype)
    wider[: array.shape[0]] = array
    return wider
