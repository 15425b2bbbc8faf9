"""Values as pairs of int64 for comparison across events: equal pairs are equal values.

    int, float, bool   the key of the float64 at or below the value, and how far the value is above it
    timestamp, date    microseconds since 1970-01-01 UTC, and 0
    ip                 the two halves of its 128 bits, turned so that they sort
    string             a digest of 128 bits

All but strings are exact, and pairs sort as their values do: 1 = 1.0, and no integer is rounded. A value always has
the same pair. The check of the pattern decides which kinds are compared with each other.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import NotSupported
from vedette.schema.columns import ColumnData, KeyColumn, TextColumn
from vedette.schema.exact_numbers import integer_column
from vedette.schema.keys import NumberKey, number_key, split
from vedette.schema.types import Kind

Int64Pair: TypeAlias = tuple[int, int]
Values: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]  # (n, 2) pairs, and which are known; else they are 0

_DAY: Final = 86_400_000_000  # in microseconds
_SIGN: Final = np.uint64(1 << 63)
_HALVES: Final = struct.Struct("<2q")
# A digest includes the kind of its input, so that no text has the digest of a combination.
_TEXT, _SEVERAL = b"vedette text", b"vedette several"


def coded(data: ColumnData, kind: Kind) -> Values:
    """The pairs of a column's values."""
    if isinstance(data, KeyColumn):
        pairs = np.zeros((len(data.keys), 2), np.int64)
        if kind in (Kind.INT, Kind.BOOL):
            data = integer_column(data.keys, data.present)
        pairs[:, 0] = data.keys * _DAY if kind is Kind.DATE else data.keys
        if data.rest is not None:
            pairs[:, 1] = data.rest
        pairs[~data.present] = 0
        return pairs, data.present
    if isinstance(data, TextColumn):
        table = _addresses(data.values) if kind is Kind.IP else _digests(data.values, _TEXT)
        unknown = np.zeros((1, 2), np.int64)  # which code -1 finds
        return np.concatenate([table, unknown])[data.codes], data.codes >= 0
    raise NotSupported(f"a pattern cannot join or partition by a {kind.value}, or by lists: they have no order")


def pair_of(kind: Kind, key: NumberKey | bytes) -> Int64Pair:
    """The pair of a single value, from its key (`vedette.schema.keys`): the same as that of `coded`."""
    if isinstance(key, bytes):
        table = _addresses([key]) if kind is Kind.IP else None
        return _digest(key, _TEXT) if table is None else (int(table[0, 0]), int(table[0, 1]))
    if kind in (Kind.INT, Kind.BOOL):
        key = number_key(int(key))
    if isinstance(key, int):
        return (key * _DAY if kind is Kind.DATE else key), 0
    return split(key)


def partition_pair(parts: Sequence[Int64Pair]) -> Int64Pair:
    """The key of a single event for the values of all attributes that a pattern is partitioned by."""
    if len(parts) == 1:
        return parts[0]
    whole = [half for pair in parts for half in pair]
    return _digest(struct.pack(f"<{len(whole)}q", *whole), _SEVERAL)


def _addresses(values: list[bytes]) -> NDArray[np.int64]:
    halves = np.frombuffer(b"".join(values), ">u8").astype(np.uint64) ^ _SIGN
    return halves.view(np.int64).reshape(-1, 2)


def _digests(values: Sequence[bytes], what: bytes) -> NDArray[np.int64]:
    made = b"".join([_digested(value, what) for value in values])
    return np.frombuffer(made, "<i8").astype(np.int64).reshape(-1, 2)


def _digest(value: bytes, what: bytes) -> Int64Pair:
    high, low = _HALVES.unpack(_digested(value, what))
    return high, low


def _digested(value: bytes, what: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=16, person=what).digest()


def partition_keys(parts: Sequence[Values]) -> Values:
    """One key for the values of all attributes that partition a pattern; unknown if one of them is."""
    if len(parts) == 1:
        return parts[0]
    known = np.logical_and.reduce([known for _, known in parts])
    rows = np.concatenate([pairs for pairs, _ in parts], axis=1)[known].astype("<i8")
    texts: list[Any] = rows.view(np.dtype((np.void, rows.shape[1] * 8))).ravel().tolist()
    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    places = np.fromiter(map(distinct.__getitem__, texts), np.int64, len(texts))
    keys = np.zeros((len(known), 2), np.int64)
    keys[known] = _digests(list(distinct), _SEVERAL)[places]
    return keys, known
