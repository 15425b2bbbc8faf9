"""`scan`: tests every event against every conjunction; the baseline, and the oracle of the other indexes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vedette.filters.index import Arrays
from vedette.filters.kernels.scan import scan, scan_one
from vedette.filters.pairs import PairBuffer
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable
from vedette.kernels.lanes import LANES


class Scan:
    """The index without a structure: it stores only the predicates themselves."""

    name: ClassVar[str] = "scan"
    uses_sample: ClassVar[bool] = False

    def __init__(self, table: PredicateTable) -> None:
        self._table = table
        self._buffer = PairBuffer()

    @classmethod
    def build(cls, table: PredicateTable, ranks: int, sample: CodedBatch) -> Scan:
        """Keep the table; there is nothing to build."""
        return cls(table)

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        """Every (event, conjunction) pair that holds, each once."""
        events = batch.ranks.shape[1]
        padded = pad(batch)
        return self._buffer.collect(
            lambda event, conjunction: scan(self._table, padded, events, event, conjunction), 4 * events
        )

    def match_one(self, batch: CodedBatch) -> NDArray[np.int32]:
        """The conjunctions that hold for the only event."""
        out = np.empty(self._table.start.shape[0] - 1, np.int32)
        return out[: scan_one(self._table, batch, out)]

    def arrays(self) -> Arrays:
        """No arrays beyond the predicates."""
        return {}

    @classmethod
    def restore(cls, table: PredicateTable, ranks: int, arrays: Arrays) -> Scan:
        """The inverse of `arrays`."""
        return cls(table)


def pad(batch: CodedBatch) -> CodedBatch:
    """The batch, padded to whole blocks of lanes."""
    events = batch.ranks.shape[1]
    missing = -events % LANES
    if not missing:
        return batch
    fill = ((0, 0), (0, missing))
    return batch._replace(
        ranks=np.pad(batch.ranks, fill, constant_values=-1), sets=np.pad(batch.sets, fill, constant_values=-1)
    )
