"""Looks up keys in the maps of an Arrow column: one pass for all keys of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.schema.arrays import plain, validity

# From so many keys on it pays to sort all items of a map column, unless that takes too much memory.
_SEVERAL = 5
_TOO_LARGE = 1 << 30


@dataclass(frozen=True, slots=True)
class MapEntries:
    """The values under one key, of those rows whose map has it."""

    rows: NDArray[np.int64]
    values: pa.Array


class MapIndex:
    """The entries of a map column by key, so that many keys cost one pass over it."""

    def __init__(self, array: pa.MapArray) -> None:
        offsets = array.offsets.to_numpy()
        lengths = np.where(validity(array), np.diff(offsets), 0)
        entries = np.repeat(offsets[:-1] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        encoded = array.keys.take(pa.array(entries)).dictionary_encode()
        codes = encoded.indices.to_numpy()
        names = encoded.dictionary.to_pylist()
        # Few distinct keys sort by radix, in one pass.
        order = np.argsort(codes.astype(np.uint16) if len(names) < 2**16 else codes, kind="stable")
        self._numbers = {name: number for number, name in enumerate(names)}
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))])
        self._entries = entries[order]
        self._rows = np.repeat(np.arange(len(array)), lengths)[order]
        self._items = plain(array.items)
        self._in_order: pa.Array | None = None  # the items by key, after several keys have been looked up
        self._asked = 0

    def find(self, name: str) -> MapEntries:
        """The values under a key, in the order of rows (of a duplicate key in a map, the last one counts)."""
        number = self._numbers.get(name)
        first, last = (0, 0) if number is None else self._bounds[number : number + 2].tolist()
        self._asked += 1
        if self._asked == _SEVERAL and self._items.nbytes < _TOO_LARGE:
            self._in_order = self._items.take(pa.array(self._entries))
        if self._in_order is not None:
            values = self._in_order.slice(first, last - first)
        else:
            values = self._items.take(pa.array(self._entries[first:last]))
        rows = self._rows[first:last]
        again = rows[1:] == rows[:-1]
        if again.any():
            kept = np.append(~again, True)
            rows, values = rows[kept], values.filter(pa.array(kept))
        return MapEntries(rows, values)
