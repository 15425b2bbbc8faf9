"""Points of the space as values of events."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vedette.covering.boxes import Box, Space
from vedette.covering.candidates import BoxTable
from vedette.covering.covers import Point
from vedette.covering.labels import FIRST, LOWEST
from vedette.schema.keys import LOWEST as LOWEST_KEYS
from vedette.schema.keys import date_key, float_key, timestamp_key
from vedette.schema.types import Kind, Type

_HUGE = {Kind.INT: 2**62, Kind.FLOAT: float_key(math.inf)}  # keys that no filter is likely to mean
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LEAST, _MOST = float_key(-math.inf), float_key(math.inf)
_DAYS = date_key(dt.date.min), date_key(dt.date.max)
_MOMENTS = timestamp_key(dt.datetime.min), timestamp_key(dt.datetime.max)


def nearer(table: BoxTable[Any], boxes: Iterable[Box], space: Space, point: Point) -> dict[int, int]:
    """The same point, with plain numbers instead of infinite and huge ones, where that changes nothing.

    `boxes` are those that the table does not have.
    """
    moved = dict(point)
    for number, coordinate in point.items():
        dimension = space.dimensions[number]
        kind, least = dimension.column.type.kind, _HUGE.get(dimension.column.type.kind)
        derived = space.derived[number] or dimension.column.type.is_list
        if derived or least is None or coordinate == LOWEST or abs(coordinate) < least:
            continue
        low, high = table.cell(number, coordinate)
        for end in _ends(boxes, number):
            low, high = (max(low, end), high) if end <= coordinate else (low, min(high, end))
        moved[number] = _plainest(kind, low, high)
    return moved


def _ends(boxes: Iterable[Box], dimension: int) -> Iterator[int]:
    for box in boxes:
        for number, low, high in zip(box.dimensions, box.low, box.high, strict=True):
            if number == dimension:
                yield from (low, high)


def _plainest(kind: Kind, low: int, high: int) -> int:
    """Of the keys from low up to high, which are unbounded at an end at least, the one that is easiest to read."""
    if low <= 0 < high:
        return 0
    if low > FIRST:
        return low
    end = _float(high) if kind is Kind.FLOAT else None
    rounded = high - 1 if not isinstance(end, float) else float_key(math.floor(end) - 1.0)
    return min(rounded, high - 1)  # of huge numbers, one less is the same


def values_at(space: Space, point: Point) -> dict[str, Any]:
    """Attributes and values of an event that is there, as JSON has them; attributes that are missing are left out."""
    values: dict[str, Any] = {}
    for number, coordinate in sorted(point.items()):
        column = space.dimensions[number].column
        if column.reading is None and has_value(space, number, coordinate):
            values[column.path] = value_at(space, number, coordinate)
    return values


def has_value(space: Space, number: int, coordinate: int) -> bool:
    """Whether a coordinate stands for a value: not for what a test says, a comparison, or nothing there."""
    dimension = space.dimensions[number]
    return dimension.test is None and dimension.column.other is None and coordinate != LOWEST


def value_at(space: Space, number: int, coordinate: int) -> Any:
    """The value that a coordinate of a dimension stands for."""
    type_ = space.dimensions[number].column.type
    if not type_.kind.textual or type_.is_list:
        return value_of(type_, coordinate)
    return value_of(type_, space.text_at(number, coordinate) or LOWEST_KEYS[type_.kind])


def value_of(type_: Type, key: Any) -> Any:
    """The value that an order-preserving key stands for, as JSON has it."""
    return [] if type_.is_list else _VALUES[type_.kind](key)


def _float(key: int) -> float | str:
    """The value, or the nearest one below where there is none; JSON has no name for those that are not finite."""
    if key > _MOST:
        value = math.nan if key >= float_key(math.nan) else math.inf
    elif key <= _LEAST:
        value = -math.inf
    else:
        key = -2 if key == -1 else key  # -1 would be -0.0
        bits = key if key >= 0 else key ^ 0x7FFF_FFFF_FFFF_FFFF
        value = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value if math.isfinite(value) else str(value)


def _moment(key: int) -> str:
    least, most = _MOMENTS
    return (_EPOCH + dt.timedelta(microseconds=min(max(key, least), most))).isoformat()


def _day(key: int) -> str:
    least, most = _DAYS
    return dt.date.fromordinal(min(max(key, least), most) + dt.date(1970, 1, 1).toordinal()).isoformat()


def _address(key: bytes) -> str:
    found = ipaddress.IPv6Address(key)
    return str(found.ipv4_mapped or found)


_VALUES: dict[Kind, Callable[[Any], Any]] = {
    Kind.INT: int,
    Kind.FLOAT: _float,
    Kind.BOOL: lambda key: key >= 1,
    Kind.TIMESTAMP: _moment,
    Kind.DATE: _day,
    Kind.STRING: lambda key: key.decode(),
    Kind.IP: _address,
    Kind.POINT: lambda key: [0.0, 0.0],
    Kind.REGION: lambda key: "POLYGON((0 0, 1 0, 1 1, 0 0))",
}
