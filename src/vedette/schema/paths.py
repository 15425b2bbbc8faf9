"""Finds the value of a dotted path in an event.

A key equal to the whole path comes first; then, step by step, the objects below the key before the first dot.
A null counts as no key. A path through a list of objects gives the list of what it finds in each of them
(null where it finds nothing), flat if that is lists again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from vedette.errors import SchemaError

PARTS: Final = 32  # of a path; finding its value is a recursion over them
PART_BYTES: Final = 255  # of each, in UTF-8
_SHORT: Final = 63  # characters; a path that is not longer is within both limits: 32 parts of one, 63 of four bytes
_DEEPEST = 64
Finder: TypeAlias = Callable[[Mapping[str, Any]], Any]


def over_limit(path: str) -> str | None:
    """Which limit the name of an attribute exceeds; None if it is within the limits."""
    if len(path) <= _SHORT:
        return None
    parts = path.split(".")
    if len(parts) > PARTS:
        return f"the name `{path[:40]}…` has {len(parts):,} parts, and a name has at most {PARTS}"
    longest = max(len(part.encode("utf-8", "replace")) for part in parts)
    if longest > PART_BYTES:
        return f"the name `{path[:40]}…` has a part of {longest:,} bytes, and a part has at most {PART_BYTES}"
    return None


SHORTER: Final = "make the event flatter, or its keys shorter"  # the hint for a name over the limit


def finder(path: str, *, flat: bool = True) -> Finder:
    """A function that finds the path's value in an event; it returns None if there is none.

    `flat=False` keeps lists found below a list apart: a point may be written as [longitude, latitude].
    SchemaError if the path is over the limits of names.
    """
    problem = over_limit(path)
    if problem is not None:
        raise SchemaError(f"{problem}\nHint: {SHORTER}")
    return _finder(path, flat)


def _finder(path: str, flat: bool) -> Finder:
    head, dot, rest = path.partition(".")
    if not dot:
        return lambda event: event.get(path)
    inside = _finder(rest, flat)

    def find(event: Mapping[str, Any]) -> Any:
        value = event.get(path)
        if value is not None:
            return value
        below = event.get(head)
        if below is None:
            return None
        if type(below) is dict or isinstance(below, Mapping):
            return inside(below)
        if isinstance(below, list | tuple):
            return _through(below, inside, flat)
        return None

    return find


def lookup(event: Mapping[str, Any], path: str) -> Any:
    """The value of one path in one event."""
    return finder(path)(event)


def _through(items: Iterable[Any], inside: Finder, flat: bool, depth: int = 0) -> list[Any] | None:
    """What the path finds in each item; None if the items are not objects, or in lists nested too deeply."""
    found: list[Any] = []
    for item in items:
        if item is None:
            found.append(None)
        elif isinstance(item, Mapping):
            value = inside(item)
            if flat and isinstance(value, list | tuple):
                found.extend(value)
            else:
                found.append(value)
        elif isinstance(item, list | tuple) and depth < _DEEPEST:
            below = _through(item, inside, flat, depth + 1)
            if below is None:
                return None
            found.extend(below)
        else:
            return None
    return found
