"""The interface of an index, which finds the conjunctions that hold for events in code space; the installed ones.

A conjunction is a run of predicates; a predicate looks at one column of a coded event (`vedette.kernels.bundles`).
How to add an index, with an example: docs/how-to/write-an-index.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from vedette import plugins
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable
from vedette.plugins import Door, lacking

Arrays = Mapping[str, NDArray[Any]]


class Index(Protocol):
    """An index over conjunctions: immutable once built; any number of threads may match at the same time."""

    name: ClassVar[str]  # the name of its entry point; snapshots store it

    @classmethod
    def build(cls, table: PredicateTable, ranks: int, sample: CodedBatch) -> Index:
        """Index the conjunctions of `table`; `ranks` columns are rank columns, the rest token columns.

        `sample` is a few thousand events: it only steers the layout, never the answer. If none are known, synthetic
        ones are used, unless the class says `uses_sample = False`.
        """
        ...

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
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


DEFAULT: Final = plugins.DEFAULT_INDEX
AT_ONCE: Final = "scan"  # for few subscriptions or few events: needs no time to build


def _check(name: str, found: object) -> type[Index]:
    why = lacking(found, "name", "build", "match", "match_one", "arrays", "restore")
    if why is not None:
        raise TypeError(why)
    kind = cast("type[Index]", found)
    if kind.name != name:  # snapshots name the index to restore by this
        raise TypeError(f"its `name` is {kind.name!r}, which is not the name of its entry point")
    return kind


INDEXES: Final = Door(plugins.INDEXES, _check, called=("index", "indexes"))


def index_class(name: str) -> type[Index]:
    """The class of an index."""
    return INDEXES.find(name)


def names() -> tuple[str, ...]:
    """The names of the installed indexes, sorted."""
    return plugins.names(plugins.INDEXES)
