"""Convert points of the space to values of events (witnesses)."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import struct
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from vedette.covering.boxes import Box, BoxSpace
from vedette.covering.candidates import BoxTable
from vedette.covering.cover_judge import SpacePoint
from vedette.covering.order_labels import FIRST, LOWEST
from vedette.schema.keys import (
    DENSE,
    INT_MIN,
    UINT_MAX,
    NumberKey,
    date_key,
    float_key,
    joined_key,
    number_of,
    timestamp_key,
)
from vedette.schema.keys import LOWEST as LOWEST_KEYS
from vedette.schema.types import Kind, Type

_HUGE = {Kind.INT: 2**62, Kind.FLOAT: float_key(math.inf)}  # keys that no filter is likely to mean
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LEAST, _MOST = float_key(-math.inf), float_key(math.inf)
_DAYS = date_key(dt.date.min), date_key(dt.date.max)
_MOMENTS = timestamp_key(dt.datetime.min), timestamp_key(dt.datetime.max)


def plain_point(table: BoxTable[Any], boxes: Iterable[Box], space: BoxSpace, point: SpacePoint) -> dict[int, int]:
    """The same point with plain numbers instead of infinite and huge ones, if that changes nothing.

    `boxes` are those that are not in the table.
    """
    moved = dict(point)
    for number, coordinate in point.items():
        dimension = space.dimensions[number]
        kind, least = dimension.column.type.kind, _HUGE.get(dimension.column.type.kind)
        derived = space.derived[number] or dimension.column.type.is_list or dimension.rest
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
    """The most readable key from low up to high, of which at least one end is unbounded."""
    if low <= 0 < high:
        return 0
    if low > FIRST:
        return low
    end = _float(high) if kind is Kind.FLOAT else None
    rounded = high - 1 if not isinstance(end, float) else float_key(math.floor(end) - 1.0)
    return min(rounded, high - 1)  # of huge numbers, one less is the same


def values_at(space: BoxSpace, point: SpacePoint) -> dict[str, Any]:
    """Attributes and values of an event at this point, for JSON; without missing attributes."""
    values: dict[str, Any] = {}
    for number, coordinate in sorted(point.items()):
        column = space.dimensions[number].column
        if column.reading is None and has_value(space, number, coordinate):
            rest = space.rest_of(number)
            above = 0 if rest is None else max(0, point.get(rest, 0))
            values[column.path] = value_at(space, number, coordinate, above)
    return values


def has_value(space: BoxSpace, number: int, coordinate: int) -> bool:
    """Whether a coordinate is a value, and not the result of a test, of a comparison, or a missing value."""
    dimension = space.dimensions[number]
    own = dimension.test is None and not dimension.rest
    return own and dimension.column.other is None and coordinate != LOWEST


def value_at(space: BoxSpace, number: int, coordinate: int, above: int = 0) -> Any:
    """The value at a coordinate of a dimension; a number may be so many integers `above` it."""
    type_ = space.dimensions[number].column.type
    if above and type_.kind is Kind.FLOAT:
        return value_of(type_, _integer_above(coordinate, above))
    if not type_.kind.textual or type_.is_list:
        return value_of(type_, coordinate)
    return value_of(type_, space.text_at(number, coordinate) or LOWEST_KEYS[type_.kind])


def value_of(type_: Type, key: Any) -> Any:
    """The value of an order-preserving key, for JSON."""
    return [] if type_.is_list else _VALUES[type_.kind](key)


def _integer_above(key: int, above: int) -> NumberKey:
    """The key of the integer so far above a float, but below the next one, if there are integers."""
    number, following = number_of(key), number_of(key + 1)
    if not (INT_MIN <= number <= UINT_MAX and abs(number) >= DENSE):
        return key
    return joined_key(key, min(above, int(following - number) - 1))


def _float(key: NumberKey) -> float | str:
    """The value, or the nearest one below if there is none; JSON has no form for values that are not finite."""
    if isinstance(key, Fraction):
        return number_of(key)
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
