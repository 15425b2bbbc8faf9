"""The named bundles of arrays that kernels take.

An event in code space has, for every *rank column*, an int32 rank (MISSING = -1 when the attribute is null),
and for every *token column* a set of tokens: the probes that its value satisfies. A predicate is one test:

- on a rank column `c < ranks`: `uint32(rank - low) <= width`. One unsigned comparison covers intervals, equality,
  `is null` (low = -1, width = 0), `is not null` (low = 0), and, by wrapping around, the complement of an
  interval (which then includes MISSING, so a second predicate says `is not null`);
- on a token column `ranks + t`: token `low` is in the event's set (width = 0) or is not (width = 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = -1


class PredicateTable(NamedTuple):
    """Predicates by conjunction: conjunction i holds when predicates `start[i] .. start[i + 1]` all do."""

    start: NDArray[np.int64]  # conjunctions + 1
    column: NDArray[np.int32]
    low: NDArray[np.int32]
    width: NDArray[np.uint32]


class CodedBatch(NamedTuple):
    """Events in code space; the set of event e in token column t is number `sets[t, e]` (-1: empty)."""

    ranks: NDArray[np.int32]  # [rank columns, events], C order
    sets: NDArray[np.int32]  # [token columns, events], C order
    set_start: NDArray[np.int64]  # sets + 1
    set_tokens: NDArray[np.int32]  # ascending within a set


class ConjunctionPairs(NamedTuple):
    """(event, conjunction) pairs, each once."""

    event: NDArray[np.int32]
    conjunction: NDArray[np.int32]
