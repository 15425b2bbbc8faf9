"""Views: read an attribute of an event, whatever its type, as text or as the leaves found there.

A leaf is a scalar: a text, a number, a truth value, a JSON null; types that JSON lacks (a time, an address) count as
texts. A path leads through objects and lists of objects, and at its end through lists at any level; the path `*` is
the whole event with all that is in it. A view gives None where it finds nothing, and never an error.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

import numpy as np

from vedette.schema.keys import read_float
from vedette.schema.types import FLOAT, INT, STRING, Kind, Type

EVERYTHING: Final = "*"  # the path of the whole event
DEEPEST: Final = 200  # levels that are examined; deeper values count as absent

Leaf: TypeAlias = str | int | float | bool | None
Viewer: TypeAlias = Callable[[Mapping[str, Any]], Any]

TYPES: Final[Mapping[str, Type]] = {
    "text": STRING,
    "items": Type(Kind.STRING, is_list=True),
    "integer": INT,
    "nested": STRING,
    "texts": Type(Kind.STRING, is_list=True),
    "strings": Type(Kind.STRING, is_list=True),
    "leaves": Type(Kind.STRING, is_list=True),
    "numbers": Type(FLOAT.kind, is_list=True),
    "figures": Type(FLOAT.kind, is_list=True),
}
_FIGURE: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_INTEGERS: Final = range(-(2**63), 2**63)
_DIGITS: Final = 19  # of the largest
_WIDEST: Final = 21  # characters of an integer of 64 bits, with its sign
_NOTHING: Final = object()  # the result of a path where there is not even a null


def viewer(reading: str, path: str) -> Viewer:
    """A function that reads a view from an event: a text, a list, or None."""
    if path == EVERYTHING:
        return lambda event: read_view(reading, _whole(event), whole=True)
    seek = _seeker(path)
    return lambda event: read_view(reading, seek(event))


def view_values(reading: str, path: str, events: Iterable[Mapping[str, Any]]) -> list[Any]:
    """As `viewer`, for many events, fast if most values are texts or absent. `items` of a single value is its text."""
    if path == EVERYTHING:
        return list(map(viewer(reading, path), events))
    found = list(map(_seeker(path), events))
    if reading == "text":
        return [
            None if value is _NOTHING else value if type(value) is str and value.isascii() else text_of(value)
            for value in found
        ]
    if reading == "items":
        return [
            None
            if value is _NOTHING
            else value
            if type(value) is str and value.isascii()
            else items_of(value)
            if _is_list(value)
            else text_of(value)
            for value in found
        ]
    of_text: Callable[[str], Any] = _OF_TEXT.get(reading) or functools.partial(read_view, reading)
    return [
        None
        if value is _NOTHING
        else of_text(value)
        if type(value) is str and value.isascii()
        else read_view(reading, value)
        for value in found
    ]


def _whole(event: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(event, Mapping):
        raise TypeError(f"an event is a mapping, not a {type(event).__name__}")
    return event


def read_view(reading: str, value: Any, *, whole: bool = False) -> Any:
    """The view's result for a value that its path has found; `whole`: the value is the event itself."""
    if reading == "text":
        return text_of(value)
    if reading == "items":
        return items_of(value)
    if reading == "integer":
        return value if type(value) is int and value in _INTEGERS else integer_of(text_of(value))
    if reading == "nested":
        return json_text(value) if _holds_objects(value) else None
    found: list[Leaf] = []
    _add_leaves(value, found, 0, objects=whole)
    return _SELECTED[reading](found) if found else None


# ---------------------------------------------------------------- what a path finds


def _seeker(path: str) -> Viewer:
    """As `vedette.schema.paths.finder`, but nulls are found, and in lists only what is present."""
    head, dot, rest = path.partition(".")
    if not dot:
        return lambda event: event.get(path, _NOTHING)
    inside = _seeker(rest)

    def seek(event: Mapping[str, Any]) -> Any:
        value = event.get(path, _NOTHING)
        if value is not _NOTHING and value is not None:
            return value
        below: Any = event.get(head)
        found: Any = _NOTHING
        if isinstance(below, Mapping):
            found = inside(below)
        elif _is_list(below):
            found = _in_each(below, inside, 0) or _NOTHING
        return value if found is _NOTHING else found

    return seek


def _in_each(items: Iterable[Any], inside: Viewer, depth: int) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if isinstance(item, Mapping):
            value = inside(item)
            if value is not _NOTHING:
                found.append(value)
        elif _is_list(item) and depth < DEEPEST:
            found += _in_each(item, inside, depth + 1)
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim > 0)


# ---------------------------------------------------------------- leaves


def _add_leaves(value: Any, found: list[Leaf], depth: int, *, objects: bool) -> None:
    if _is_list(value):
        for each in value if depth < DEEPEST else ():
            _add_leaves(each, found, depth + 1, objects=objects)
    elif isinstance(value, Mapping):
        for each in value.values() if objects and depth < DEEPEST else ():
            _add_leaves(each, found, depth + 1, objects=objects)
    elif value is not _NOTHING:
        found.append(leaf(value))


def leaf(value: Any) -> Leaf:
    """A scalar as JSON has it."""
    if value is None or isinstance(value, bool | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, np.generic | np.ndarray):
        return leaf(value.item())
    if isinstance(value, decimal.Decimal):
        whole = value.is_finite() and value == value.to_integral_value()
        return int(value) if whole else float(value)
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
        return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return mended(value.decode("utf-8", "surrogateescape"))
    return mended(str(value))


def mended(text: str) -> str:
    """The text with question marks for characters that UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def number_text(number: int | float) -> str:
    """The canonical text of a number: as short as possible, without a point if it is whole (300.0 is `300`)."""
    if isinstance(number, float):
        if math.isnan(number):
            return "NaN"
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        if not number.is_integer():
            return repr(number)
        number = int(number) if abs(number) < 2**53 else int(decimal.Decimal(repr(number)))
    try:
        return str(number)
    except ValueError:  # thousands of digits, which Python refuses to write
        return hex(number)


def leaf_text(value: Leaf) -> str | None:
    """A leaf as text; null has none."""
    if value is None or isinstance(value, str):
        return value
    return json_leaf(value)


def json_leaf(value: Leaf) -> str:
    """A leaf as canonical JSON: `"x"`, `12`, `true`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)


def number_of(value: Leaf) -> float | None:
    """A leaf as a float, or as a 64-bit integer that is not a float64; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return read_float(value)
    except ValueError:  # an integer beyond every float
        return math.inf if value > 0 else -math.inf


def figure_of(value: Leaf) -> float | None:
    """A leaf as a float, also if it is the text of a number; None if it is neither."""
    if isinstance(value, str):
        if len(value) <= _WIDEST and _INTEGER.match(value):
            return number_of(int(value))
        return float(value) if _FIGURE.fullmatch(value) else None
    return number_of(value)


_SELECTED: Final[Mapping[str, Callable[[list[Leaf]], list[Any]]]] = {
    "strings": lambda found: [each for each in found if isinstance(each, str)],
    "numbers": lambda found: [number for each in found if (number := number_of(each)) is not None],
    "figures": lambda found: [number for each in found if (number := figure_of(each)) is not None],
    "texts": lambda found: [text for each in found if (text := leaf_text(each)) is not None],
    "leaves": lambda found: [json_leaf(each) for each in found],
}

# As above, for a single text.
_OF_TEXT: Final[Mapping[str, Callable[[str], list[Any]]]] = {
    "strings": lambda text: [text],
    "numbers": lambda text: [],
    "texts": lambda text: [text],
    "leaves": lambda text: [encode_basestring(text)],
}

# ---------------------------------------------------------------- texts


def text_of(value: Any) -> str | None:
    """A value as text: texts unchanged, other scalars and values with parts as JSON; None for null and absent ones."""
    if value is None or value is _NOTHING:
        return None
    return json_text(value) if _is_list(value) or isinstance(value, Mapping) else leaf_text(leaf(value))


def items_of(value: Any) -> list[str] | None:
    """The texts of a list's elements, at any level, or the text of a single value; None for null and absent ones."""
    if not _is_list(value):
        text = text_of(value)
        return None if text is None else [text]
    found: list[str] = []
    _add_items(value, found, 0)
    return found


def _add_items(items: Iterable[Any], found: list[str], depth: int) -> None:
    for each in items:
        if _is_list(each):
            _add_items(each if depth < DEEPEST else (), found, depth + 1)
        elif (text := text_of(each)) is not None:
            found.append(text)


def integer_of(text: str | None) -> int | None:
    """A text as a 64-bit integer; None if it is not one."""
    if text is None or _INTEGER.match(text) is None or len(text.lstrip("+-0")) > _DIGITS:
        return None
    number = int(text)
    return number if number in _INTEGERS else None


def json_text(value: Any, depth: int = 0) -> str:
    """A value as JSON on one line, with numbers and texts as in `json_leaf`."""
    if isinstance(value, Mapping):
        parts = value.items() if depth < DEEPEST else ()
        inside = ",".join(f"{_name(key)}:{json_text(each, depth + 1)}" for key, each in parts)
        return f"{{{inside}}}"
    if _is_list(value):
        inside = ",".join(json_text(each, depth + 1) for each in value) if depth < DEEPEST else ""
        return f"[{inside}]"
    return json_leaf(leaf(value))


def _name(key: Any) -> str:
    return encode_basestring(mended(key if isinstance(key, str) else str(leaf(key))))


def _holds_objects(value: Any, depth: int = 0) -> bool:
    """Whether a list that holds an object is in the value."""
    if depth >= DEEPEST:
        return False
    if isinstance(value, Mapping):
        return any(_holds_objects(each, depth + 1) for each in value.values())
    if _is_list(value):
        return any(isinstance(each, Mapping) or _holds_objects(each, depth + 1) for each in value)
    return False
