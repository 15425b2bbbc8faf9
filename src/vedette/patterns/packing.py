"""Pack arrays and plain facts into bytes: a line of JSON that describes them, then the arrays.

b"vedette state 1\n" | crc32 of the rest, 8 hex digits, "\n" | {"kind": …, "facts": …, "arrays": …} "\n" | arrays
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import DamageError, SnapshotError

_BEGINNING: Final = b"vedette state 1\n"
_SUM: Final = 9  # characters


def packed(kind: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> bytes:
    """Pack named arrays of numbers, and facts as JSON."""
    plain = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    shapes = {name: [array.dtype.str, *array.shape] for name, array in plain.items()}
    header = json.dumps({"kind": kind, "facts": dict(facts or {}), "arrays": shapes}).encode()
    body = b"".join([header, b"\n", *[array.tobytes() for array in plain.values()]])
    return b"%s%08x\n%s" % (_BEGINNING, zlib.crc32(body), body)


def is_packed(data: bytes) -> bool:
    """Whether bytes begin like those of `packed`."""
    return data.startswith(_BEGINNING)


def is_whole(data: bytes) -> bool:
    """Whether the checksum of packed bytes is right."""
    begin = len(_BEGINNING) + _SUM
    return data[len(_BEGINNING) : begin] == b"%08x\n" % zlib.crc32(memoryview(data)[begin:])


def unpacked(kind: str, data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays (which can be written to) and the facts; SnapshotError if the bytes are no such state."""
    if not is_packed(data):
        raise SnapshotError(f"these bytes are not the state of a {kind} that this version can read")
    if not is_whole(data):
        raise DamageError(f"the state of a {kind}", "is damaged", ": its checksum does not fit")
    begin = len(_BEGINNING) + _SUM
    at = data.index(b"\n", begin) + 1
    header = json.loads(data[begin:at])
    if header["kind"] != kind:
        raise SnapshotError(f"these bytes are the state of a {header['kind']}, not of a {kind}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, (code, *shape) in header["arrays"].items():
        dtype = np.dtype(code)
        count = math.prod(shape)
        found = np.frombuffer(data, dtype, count, at) if count else np.zeros(0, dtype)
        arrays[name] = found.reshape(shape).astype(dtype.newbyteorder("="))
        at += count * dtype.itemsize
    return arrays, header["facts"]


def arrays_under(owner: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of an owner, with its name as a prefix."""
    return {f"{owner}/{name}": array for name, array in arrays.items()}


def arrays_of(owner: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of this owner, without the prefix."""
    prefix = f"{owner}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
