"""The events of a shard that may still be spoken of: kept as columns, and looked up only when something is told."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MANY = 1 << 17  # events that are kept before it is worth forgetting some


class NamedEvents:
    """Events by the rows of the source that they stand in, which come in any order, each once."""

    def __init__(self, row: str) -> None:
        self._row = row  # the column that says so
        self._parts: list[pa.Table] = []
        self._rows = np.zeros(0, np.int64)  # of the first part, ascending
        self._order = np.zeros(0, np.int64)  # where they are in it
        self._size = 0
        self._crowded = _MANY

    def add(self, events: pa.RecordBatch) -> None:
        """These may be spoken of from now on."""
        self._parts.append(pa.Table.from_batches([events]))
        self._size += events.num_rows

    @property
    def crowded(self) -> bool:
        """So many are kept that it is worth finding out which of them can still be named."""
        return self._size > self._crowded

    def find(self, rows: NDArray[np.int64]) -> pa.Table:
        """The events of these rows, in this order."""
        table = self._whole()
        return table.take(pa.array(self._order[np.searchsorted(self._rows, rows)]))

    def forget(self, but: NDArray[np.int64]) -> None:
        """Keep only these."""
        table = self._whole()
        self._parts = [table.take(pa.array(np.sort(self._order[np.isin(self._rows, but, assume_unique=True)])))]
        self._index()
        self._size = len(self._rows)
        self._crowded = max(_MANY, 2 * self._size)

    def _whole(self) -> pa.Table:
        if len(self._parts) > 1 or len(self._rows) < self._size:
            self._parts = [pa.concat_tables(self._parts).combine_chunks()]
            self._index()
        return self._parts[0]

    def _index(self) -> None:
        rows = self._parts[0].column(self._row).to_numpy()
        self._order = np.argsort(rows, kind="stable")
        self._rows = rows[self._order]
