"""Values of an attribute that are worth trying: at its constants, beside them, and at the ends of its type."""

from __future__ import annotations

import datetime as dt
import ipaddress
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import shapely

from vedette.language import ast
from vedette.schema.types import Kind, Type

_INTS = -(2**63), 2**63 - 1
_ADDRESSES = 2**128
_MICROSECOND, _DAY = dt.timedelta(microseconds=1), dt.timedelta(days=1)
_DEGREE = 6_371_008.8 * math.pi / 180  # metres
_STEPS = 64  # along the line between two places


def tried(type_: Type, tests: Iterable[ast.Filter]) -> list[Any]:
    """Values of the type (of a list: of its elements), null among them, for all of these tests."""
    nodes = list(tests)
    if type_.kind in (Kind.POINT, Kind.REGION):
        places = dict.fromkeys(_places(nodes))
        if type_.kind is Kind.POINT:
            return [None, *places]
        return [None, *(shapely.Polygon([(x, y), (x + 1e-9, y), (x, y + 1e-9)]) for x, y in places)]
    return [None, *_distinct(type_.kind, [each for one in nodes for each in _constants(one)])]


def lists_of(elements: Iterable[Any]) -> list[Any]:
    """Lists of none, one and two of the elements, and null."""
    several = list(elements)
    return [None, [], *([one] for one in several), *map(list, itertools.combinations(several, 2))]


def _distinct(kind: Kind, constants: Iterable[Any]) -> Iterable[Any]:
    beside = _BESIDE[kind]
    # NaN is not equal to itself, so that values are told apart by how they look.
    return {
        repr(value): value for value in (*_ENDS[kind], *(each for one in constants for each in beside(one)))
    }.values()


def _constants(node: ast.Filter) -> Iterator[Any]:
    """The constants of a test; of a beginning, what begins so and what comes first behind all of that."""
    if isinstance(node, ast.TextTest) and isinstance(node.pattern.value, str):
        beginning = node.pattern.value
        if node.kind == "like":  # at its end is a %, or nothing that is special
            beginning = re.sub(r"(?<!\\)%$", "", beginning).replace("\\", "")
        yield beginning
        yield _after(beginning)
    elif isinstance(node, ast.TextTest):
        yield node.pattern.value
    elif isinstance(node, ast.InNetwork):
        for network in map(ipaddress.ip_network, node.networks):
            yield from (network[0], network[-1])
    else:
        written = (getattr(node, name, None) for name in ("left", "right", "low", "high"))
        for operand in (*written, *getattr(node, "items", ())):
            if isinstance(operand, ast.Literal) and operand.value is not None:
                yield operand.value


def _after(beginning: str) -> str:
    """The first text behind all that begin so."""
    while beginning:
        following = ord(beginning[-1]) + 1
        beginning = beginning[:-1]
        if following < 0x110000:
            return beginning + chr(0xE000 if 0xD800 <= following < 0xE000 else following)
    return ""


# ---------------------------------------------------------------- beside a constant


def _ints(constant: float) -> Iterator[int]:
    if math.isfinite(constant):
        for near in (math.floor(constant), math.ceil(constant)):
            yield from (each for each in (near - 1, near, near + 1) if _INTS[0] <= each <= _INTS[1])


def _floats(constant: float) -> Iterator[float]:
    if abs(constant) >= 2**53:  # where numbers are integers of 64 bits as well
        yield from (each for each in _ints(constant) if float(each) != each)
    near = float(constant)
    yield from (math.nextafter(near, -math.inf), near, math.nextafter(near, math.inf))


def _texts(constant: str) -> Iterator[str]:
    yield from (constant, constant + "\0")


def _moments(constant: str | dt.date) -> Iterator[dt.datetime]:
    moment = dt.datetime.fromisoformat(constant) if isinstance(constant, str) else constant
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    yield from (moment - _MICROSECOND, moment, moment + _MICROSECOND)


def _days(constant: str | dt.date) -> Iterator[dt.date]:
    day = next(_moments(constant)).astimezone(dt.UTC).date()  # the day before, if the constant is a midnight
    yield from (day - _DAY, day, day + _DAY, day + 2 * _DAY)


def _addresses(constant: Any) -> Iterator[ipaddress.IPv6Address]:
    try:
        address = ipaddress.ip_address(constant)
    except ValueError:  # what comes behind a text that is one
        return
    number = int(address) + (0xFFFF_0000_0000 if address.version == 4 else 0)
    for near in (number - 1, number, number + 1):
        if 0 <= near < _ADDRESSES:
            yield ipaddress.IPv6Address(near)


_BESIDE: dict[Kind, Callable[[Any], Iterable[Any]]] = {
    Kind.INT: _ints,
    Kind.FLOAT: _floats,
    Kind.STRING: _texts,
    Kind.BOOL: lambda constant: (),
    Kind.TIMESTAMP: _moments,
    Kind.DATE: _days,
    Kind.IP: _addresses,
}
_ENDS: dict[Kind, tuple[Any, ...]] = {
    Kind.INT: _INTS,
    Kind.FLOAT: (-math.inf, math.inf, math.nan),
    Kind.STRING: ("",),
    Kind.BOOL: (False, True),
    Kind.TIMESTAMP: (dt.datetime(1, 1, 2, tzinfo=dt.UTC), dt.datetime(9999, 12, 30, tzinfo=dt.UTC)),
    Kind.DATE: (dt.date.min, dt.date.max),
    Kind.IP: (ipaddress.IPv6Address(0), ipaddress.IPv6Address(_ADDRESSES - 1)),
}

# ---------------------------------------------------------------- places


def _places(tests: list[ast.Filter]) -> Iterator[tuple[float, float]]:
    """Points of all areas and discs, and for each two of them some that both have, if they clearly have any.

    Distances are those of the plane, so places have to be small and near the equator.
    """
    shapes = {test: _shape(test) for test in tests if isinstance(test, ast.Within | ast.Near)}
    for test, shape in shapes.items():
        for one in (_core(test, shape), shape):
            yield from map(tuple, shapely.get_coordinates(one).tolist())
    for one, other in itertools.combinations(shapes, 2):
        common = shapely.intersection(shapes[one], shapes[other])
        if not common.is_empty:
            yield tuple(shapely.get_coordinates(common.representative_point())[0].tolist())
        if isinstance(one, ast.Near) or isinstance(other, ast.Near):
            yield from _between(_core(one, shapes[one]), _core(other, shapes[other]))


def _shape(test: ast.Within | ast.Near) -> Any:
    if isinstance(test, ast.Within):
        return shapely.from_wkt(test.region.wkt)
    return shapely.Point(test.centre.x, test.centre.y).buffer(0.999 * test.metres / _DEGREE)


def _core(test: ast.Within | ast.Near, shape: Any) -> Any:
    return shapely.Point(test.centre.x, test.centre.y) if isinstance(test, ast.Near) else shape


def _between(one: Any, other: Any) -> Iterator[tuple[float, float]]:
    """Points along the shortest line."""
    (x, y), (u, v) = shapely.get_coordinates(shapely.shortest_line(one, other)).tolist()
    for step in range(_STEPS + 1):
        part = step / _STEPS
        yield x + part * (u - x), y + part * (v - y)
