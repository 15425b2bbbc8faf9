"""Evaluates a filter on one event, in SQL's three-valued logic: the slow, obvious reference.

This is the oracle that everything fast is tested against, and the basis of `explain`. It works on plain Python
values, without keys, value sets and normal forms.
"""

from __future__ import annotations

import datetime as dt
import functools
import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from vedette.errors import NotSupported, SchemaError
from vedette.language.ast import (
    Comparator,
    Comparison,
    In,
    InNetwork,
    IsNull,
    Literal,
    Near,
    Range,
    TextTest,
    Within,
)
from vedette.language.checked_tree import (
    AndPart,
    Atom,
    CheckedExpression,
    NotPart,
    OrPart,
    PairAtom,
    Part,
    Residual,
    Test,
    TruthPart,
)
from vedette.language.likes import LikeWildcard, pieces
from vedette.schema.columns import Column
from vedette.schema.compare import RELATIONS
from vedette.schema.keys import INT_MAX, INT_MIN, read
from vedette.schema.paths import finder
from vedette.schema.readings import TYPES, viewer
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.schema.values import json_text

Event: TypeAlias = Mapping[str, Any]
Truth: TypeAlias = bool | None

EARTH_RADIUS = 6_371_008.8  # metres


def evaluate(checked: CheckedExpression, event: Event) -> Truth:
    """The truth of a filter for an event; None is unknown. SchemaError if the event's values break the schema."""
    if checked.root is None:
        raise NotSupported("a pattern speaks of several events; a single one cannot satisfy it")
    return truth(checked.root, event, checked.schema)


def truth(part: Part, event: Event, schema: Schema | None = None) -> Truth:
    """The truth of one part of a filter."""
    if isinstance(part, AndPart):
        return every([truth(each, event, schema) for each in part.parts])
    if isinstance(part, OrPart):
        return some([truth(each, event, schema) for each in part.parts])
    if isinstance(part, NotPart):
        return opposite(truth(part.part, event, schema))
    if isinstance(part, TruthPart):
        return part.value
    if isinstance(part, Residual):
        raise NotSupported(f"{part.what} cannot be decided from one event alone")
    if isinstance(part, PairAtom):
        return _pair(part, event, schema)
    seen = atom_value(part, event, schema)
    if part.quantifier is None:
        return tested(part.test, seen)
    if seen is None:
        return None
    # A leaf that is not an address is in no network.
    decided = isinstance(part.test, InNetwork) and part.of_leaves
    verdicts = (False if element is None and decided else tested(part.test, element) for element in seen)
    return some(verdicts) if part.quantifier == "any" else every(verdicts)


def _pair(atom: PairAtom, event: Event, schema: Schema | None) -> Truth:
    """The truth of a comparison of two attributes; values without a common order compare as unknown."""
    if atom.column.reading is not None:
        return compared(view_of(atom.left, event), atom.test.op, view_of(atom.right, event))
    left, right = (value_of(column.path, None, event, schema) for column in (atom.left, atom.right))
    try:
        if left is not None and right is not None and schema is not None:
            # An attribute that the schema lacks is read as the type of the other one.
            left = _read_beside(atom.right.path, left, atom.left.path, schema)
            right = _read_beside(atom.left.path, right, atom.right.path, schema)
        return compared(left, atom.test.op, right)
    except (SchemaError, ValueError):
        return None


def _read_beside(other: str, value: Any, path: str, schema: Schema) -> Any:
    wanted = schema.type_of(other)
    if schema.type_of(path) is not None or wanted is None:
        return value
    return value if wanted.kind.numeric and isinstance(value, int | float) else read(wanted.kind, value)


def every(truths: Iterable[Truth]) -> Truth:
    """SQL's AND."""
    result: Truth = True
    for one in truths:
        if one is False:
            return False
        if one is None:
            result = None
    return result


def some(truths: Iterable[Truth]) -> Truth:
    """SQL's OR."""
    return opposite(every(opposite(one) for one in truths))


def opposite(one: Truth) -> Truth:
    """SQL's NOT."""
    return None if one is None else not one


# ---------------------------------------------------------------- the values of an event


def atom_value(atom: Atom, event: Event, schema: Schema | None) -> Any:
    """The event's value of the atom's column: a value, a list of values, or None."""
    if atom.column.reading is not None:
        return view_of(atom.column, event)
    if atom.column.other is not None:
        return value_of(atom.column.path, None, event, schema)
    return value_of(atom.column.path, atom.column.type, event, schema)


def view_of(column: Column, event: Event) -> Any:
    """The value that a view reads from the event, as the type of its column; missing if it cannot be read so."""
    if column.other is not None:
        left, right = (viewer("text", path)(event) for path in column.paths)
        return None if left is None or right is None else int(RELATIONS[column.reading or ""](left, right))
    found = viewer(column.reading or "text", column.path)(event)
    kind = column.type.kind
    if found is None or column.type == TYPES[column.reading or "text"]:
        return found

    def one(text: str) -> Any:
        try:
            return read(kind, text)
        except ValueError:
            return None

    return [one(each) for each in found] if column.type.is_list else one(found)


def value_of(path: str, type_: Type | None, event: Event, schema: Schema | None) -> Any:
    """The value at a path, read as a type (None: the one in the schema, or else unchanged)."""
    declared = schema.type_of(path) if schema is not None else None
    wanted = type_ or declared
    raw = finder(path, flat=wanted is None or wanted.kind is not Kind.POINT)(event)
    if raw is None:
        return None
    if wanted is None:
        return read(Kind.FLOAT, raw) if type(raw) is int and not INT_MIN <= raw <= INT_MAX else raw
    # A value that is not of the declared type breaks the schema; one that cannot be read as another type is missing.
    strict = declared == wanted
    mixed = schema is not None and schema.takes_all(path)

    def one(value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(wanted.kind, json_text(value) if mixed else value)
        except ValueError as error:
            if strict:
                raise SchemaError(f"attribute {path!r}: {error}") from None
            return None

    if not wanted.is_list:
        return one(raw)
    if isinstance(raw, list | tuple | set | frozenset | np.ndarray):
        return [one(value) for value in raw]
    if mixed:
        return [one(raw)]
    if strict:
        raise SchemaError(f"attribute {path!r}: {raw!r} is not a list")
    return None


# ---------------------------------------------------------------- tests of one value


def tested(test: Test, value: Any) -> Truth:
    """The truth of one test for one value; None is null."""
    return _TESTS[type(test)](test, value)


def _comparison(test: Comparison, value: Any) -> Truth:
    if not isinstance(test.right, Literal):
        raise TypeError(f"not a constant: {test.right}")
    return compared(value, test.op, test.right.value)


def compared(left: Any, op: Comparator, right: Any) -> Truth:
    """The truth of a comparison of two values, either of which may be null."""
    if left is None or right is None:
        return (left is None and right is None) if op is Comparator.SAME else None
    return _HOLDS[op](order(left, right))


def order(left: Any, right: Any) -> int:
    """-1, 0, 1 as left is before, equal to or after right; NaN equals itself and comes after every number."""
    a, b = _plain(left), _plain(right)
    if type(a) is not type(b) and not {type(a), type(b)} <= {int, float}:
        raise SchemaError(f"{left!r} and {right!r} are of different types and cannot be compared")
    if isinstance(a, float) and math.isnan(a):
        return 0 if isinstance(b, float) and math.isnan(b) else 1
    if isinstance(b, float) and math.isnan(b):
        return -1
    try:
        return int(a > b) - int(a < b)
    except TypeError:  # of lists and objects, or of their elements
        raise SchemaError(f"{left!r} and {right!r} cannot be compared") from None


def _plain(value: Any) -> Any:
    """A value that Python orders as Vedette does: dates become midnights, IPv4 addresses their mapped IPv6 ones."""
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if isinstance(value, ipaddress.IPv4Address):
        return _Address(0xFFFF_0000_0000 + int(value))
    if isinstance(value, ipaddress.IPv6Address):
        return _Address(int(value))
    return value


class _Address(int):
    """The number of an address, as a type that is not comparable with numbers."""


_HOLDS: dict[Comparator, Callable[[int], bool]] = {
    Comparator.EQ: lambda found: found == 0,
    Comparator.NE: lambda found: found != 0,
    Comparator.LT: lambda found: found < 0,
    Comparator.LE: lambda found: found <= 0,
    Comparator.GT: lambda found: found > 0,
    Comparator.GE: lambda found: found >= 0,
    Comparator.SAME: lambda found: found == 0,
}


def _range(test: Range, value: Any) -> Truth:
    low, high = test.low, test.high
    if not isinstance(low, Literal) or not isinstance(high, Literal):
        raise TypeError("the ends of a range are constants")
    return every(
        (
            compared(value, Comparator.GE if test.low_closed else Comparator.GT, low.value),
            compared(value, Comparator.LE if test.high_closed else Comparator.LT, high.value),
        )
    )


def _in(test: In, value: Any) -> Truth:
    return some(compared(value, Comparator.EQ, item.value) for item in test.items)


def _is_null(test: IsNull, value: Any) -> Truth:
    return value is None


def _text(test: TextTest, value: Any) -> Truth:
    pattern = test.pattern.value
    if value is None or not isinstance(pattern, str):
        return None
    return text_holds(test.kind, pattern, value, escape=test.escape, ignore_case=test.ignore_case)


def text_holds(kind: str, pattern: str, value: str, *, escape: str, ignore_case: bool) -> bool:
    """Whether an elementary test of a text holds."""
    if kind == "fits":
        return _event_pattern(pattern, value)
    if kind == "matches":
        return _regex(f"(?i){pattern}" if ignore_case else pattern).search(value) is not None
    if kind == "like":
        return like(value, pattern, escape, ignore_case)
    if ignore_case:
        value, pattern = value.lower(), pattern.lower()
    if kind == "contains":
        return pattern in value
    return value.startswith(pattern) if kind == "startswith" else value.endswith(pattern)


def _event_pattern(pattern: str, text: str) -> bool:
    from vedette.language.documents import fits_text

    return fits_text(pattern, text)


@functools.lru_cache(maxsize=1024)
def _regex(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


def like(value: str, pattern: str, escape: str, ignore_case: bool) -> bool:
    """SQL's LIKE, as a regular expression over whole characters."""
    made = ""
    for piece in pieces(pattern, escape):
        if isinstance(piece, LikeWildcard):
            made += ".*" if piece is LikeWildcard.ANY else "."
        else:
            made += re.escape(piece.lower() if ignore_case else piece)
    return re.fullmatch(made, value.lower() if ignore_case else value, re.DOTALL) is not None


def _in_network(test: InNetwork, value: Any) -> Truth:
    if value is None:
        return None
    address = _Address(_plain(value))
    for text in test.networks:
        network = ipaddress.ip_network(text)
        if _plain(network[0]) <= address <= _plain(network[-1]):
            return True
    return False


def _within(test: Within, value: Any) -> Truth:
    if value is None:
        return None
    import shapely

    shape = shapely.Point(*value) if isinstance(value, tuple) else value
    return bool(shapely.intersects(_shape(test.region.wkt), shape))


@functools.lru_cache(maxsize=256)
def _shape(wkt: str) -> Any:
    return read(Kind.REGION, wkt)


def _near(test: Near, value: Any) -> Truth:
    return None if value is None else distance(value, (test.centre.x, test.centre.y)) <= test.metres


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Distance in metres along the great circle between two points (haversine)."""
    (x1, y1), (x2, y2) = (tuple(map(math.radians, place)) for place in (one, other))
    half = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(half)))


_TESTS: dict[type, Callable[[Any, Any], Truth]] = {
    Comparison: _comparison,
    Range: _range,
    In: _in,
    IsNull: _is_null,
    TextTest: _text,
    InNetwork: _in_network,
    Within: _within,
    Near: _near,
}
