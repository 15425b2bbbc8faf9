"""The maps of an Arrow column: single keys looked up, all texts encoded, once for a batch.

Columns of single keys and views of the whole event then share their distinct texts, and no item is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.schema.arrays import is_text, plain, validity
from vedette.schema.columns import TextColumn

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


_FLAGS = 1 << 26  # bytes to spend on finding out quickly that no map has a key twice


@dataclass(frozen=True, slots=True)
class MapItems:
    """The items of maps that count, in the order of rows; of a duplicate key the last one counts."""

    owners: NDArray[np.int64]  # the map that each is of
    items: pa.Array
    keys: NDArray[Any]  # the number of the key of each
    names: pa.Array  # of the keys


def map_items(maps: pa.MapArray) -> MapItems:
    """The items of all maps of a column."""
    offsets = maps.offsets.to_numpy().astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    owners = np.repeat(np.arange(len(maps)), np.diff(offsets))
    names = plain(maps.keys.slice(first, last - first))
    encoded = names if isinstance(names, pa.DictionaryArray) else names.dictionary_encode()
    keys = encoded.indices.to_numpy(zero_copy_only=False)
    items = maps.items.slice(first, last - first)
    kept = _kept(maps, owners, keys, len(encoded.dictionary))
    if kept is None:
        return MapItems(owners, items, keys, encoded.dictionary)
    return MapItems(owners[kept], plain(items).take(pa.array(kept)), keys[kept], encoded.dictionary)


def _kept(maps: pa.MapArray, owners: NDArray[np.int64], keys: NDArray[Any], kinds: int) -> NDArray[np.int64] | None:
    """The entries that count: not those of null maps, nor of a key that is repeated later; None: all."""
    there = validity(maps)[owners] if maps.null_count else np.ones(len(owners), np.bool_)
    numbers = owners * max(1, kinds) + keys
    if len(maps) * kinds <= _FLAGS:
        seen = np.zeros(len(maps) * max(1, kinds), np.bool_)
        seen[numbers] = True
        if int(np.count_nonzero(seen)) == len(numbers):
            return None if there.all() else np.flatnonzero(there)
    last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
    last.sort()
    return last[there[last]]


class MapTexts:
    """The texts of a map column, by key and all together."""

    def __init__(self, own: MapItems, codes: NDArray[np.int32], values: list[bytes]) -> None:
        self.rows, self.items = own.owners, own.items
        self.texts = TextColumn(codes, values)
        # Few distinct keys sort by radix, in one pass.
        keys = own.keys.astype(np.uint16) if len(own.names) < 2**16 else own.keys
        order = np.argsort(keys, kind="stable")
        self._numbers = {name: number for number, name in enumerate(own.names.to_pylist())}
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=len(own.names)))])
        self._rows_by_key, self._codes_by_key = own.owners[order], codes[order]
        self._place = np.full(len(values), -1, np.int32)

    @classmethod
    def of(cls, maps: pa.MapArray) -> MapTexts | None:
        """The texts of a map column; None if keys or values are not texts, or not UTF-8."""
        if not pa.types.is_string(maps.type.key_type) or not is_text(maps.type.item_type):
            return None
        own = map_items(maps)
        items = plain(own.items)
        if items.null_count:  # a null counts as absent
            there = validity(items)
            own = MapItems(own.owners[there], items.filter(pa.array(there)), own.keys[there], own.names)
        encoded = plain(own.items).dictionary_encode()
        dictionary = encoded.dictionary
        try:
            dictionary.validate(full=True)
        except pa.ArrowInvalid:
            return None
        binary = pa.binary() if pa.types.is_string(dictionary.type) else pa.large_binary()
        values: list[bytes] = dictionary.view(binary).to_numpy(zero_copy_only=False).tolist()
        return cls(own, encoded.indices.to_numpy(zero_copy_only=False), values)

    def under(self, key: str, size: int) -> TextColumn:
        """The texts under a key, as a column of `size` rows."""
        codes = np.full(size, -1, np.int32)
        number = self._numbers.get(key)
        if number is None:
            return TextColumn(codes, [])
        from vedette.kernels.codes import renumbered  # imported here, since checking subscriptions needs no compiler

        first, last = self._bounds[number : number + 2].tolist()
        own, used = renumbered(self._codes_by_key[first:last], self._place)
        codes[self._rows_by_key[first:last]] = own
        values = self.texts.values
        return TextColumn(codes, [values[code] for code in used.tolist()])
