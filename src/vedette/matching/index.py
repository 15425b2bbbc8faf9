"""The interface of a primitive index: which conjunctions hold for which events, in code space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import CodedBatch, Pairs, PredicateTable

Arrays = Mapping[str, NDArray[Any]]


class Index(Protocol):
    """Immutable once built; any number of threads may match at the same time."""

    name: ClassVar[str]

    @classmethod
    def build(cls, table: PredicateTable, ranks: int, sample: CodedBatch) -> Index:
        """Index the conjunctions of `table`; `ranks` columns are rank columns, the rest token columns.

        `sample` is a few thousand events (or, where none are known, made-up ones): it only steers the
        layout, never the answer.
        """
        ...

    def match(self, batch: CodedBatch) -> Pairs:
        """Every (event, conjunction) pair that holds, each once, in any order.

        The arrays may be buffers that the same thread's next match uses again.
        """
        ...

    def match_one(self, batch: CodedBatch) -> NDArray[np.int32]:
        """The conjunctions that hold for the only event of a batch of one, quickly."""
        ...

    def arrays(self) -> Arrays:
        """Plain arrays from which `restore` makes the same index (they may be memory-mapped there)."""
        ...

    @classmethod
    def restore(cls, table: PredicateTable, ranks: int, arrays: Arrays) -> Index:
        """The inverse of `arrays`."""
        ...
