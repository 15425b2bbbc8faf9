"""How a dotted path finds its value in an event.

A key equal to the whole path comes first; then, step by step, the objects below the key before the first dot.
A null is as good as no key. A path through a list of objects gives the list of what it finds in each of them
(null where it finds nothing), flat if that is lists again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

_DEEPEST = 64
Finder: TypeAlias = Callable[[Mapping[str, Any]], Any]


def finder(path: str, *, flat: bool = True) -> Finder:
    """A function that finds the path's value in an event; None where there is none.

    `flat=False` keeps lists found below a list apart: a point may be written as [longitude, latitude].
    """
    head, dot, rest = path.partition(".")
    if not dot:
        return lambda event: event.get(path)
    inside = finder(rest, flat=flat)

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
