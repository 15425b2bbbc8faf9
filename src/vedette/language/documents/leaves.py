"""Which leaves does a JSON value have, at which paths, and in which elements of which lists?

As AWS flattens an event: keys are joined by dots, lists leave no trace in the path. An element that is an object or a
list makes all leaves below it members of that element; a scalar in a list belongs to no element.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.schema.readings import DEEPEST, leaf

# (list, element) of every list above a leaf, outermost first.
Membership: TypeAlias = tuple[tuple[int, int], ...]


class Leaf(NamedTuple):
    """A scalar, and the elements that it lies in."""

    value: Any
    membership: Membership


Leaves: TypeAlias = dict[str, list[Leaf]]
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def leaves(value: Any, wanted: Container[str] | None = None, above: Container[str] | None = None) -> Leaves:
    """All leaves by path; only those at the `wanted` ones if that is said, with those `above` them."""
    found: Leaves = {}
    lists = 0
    pending: list[tuple[str | None, Any, Membership, int]] = [(None, value, (), 0)]
    while pending:
        path, node, membership, depth = pending.pop()
        if depth > DEEPEST:
            continue
        if isinstance(node, Mapping):
            for key, below in node.items():
                name = key if path is None else f"{path}.{key}"
                if _has_parts(below):
                    if above is None or name in above:
                        pending.append((name, below, membership, depth + 1))
                elif wanted is None or name in wanted:
                    found.setdefault(name, []).append(Leaf(_scalar(below), membership))
        elif isinstance(node, list | tuple):
            lists += 1
            for index, element in enumerate(node):
                if _has_parts(element):
                    pending.append((path, element, (*membership, (lists, index)), depth + 1))
                elif path is not None and (wanted is None or path in wanted):
                    found.setdefault(path, []).append(Leaf(_scalar(element), membership))
    return found


def _has_parts(value: Any) -> bool:
    return type(value) not in _SCALARS and isinstance(value, Mapping | list | tuple)


def _scalar(value: Any) -> Any:
    return value if type(value) in _SCALARS else leaf(value)


def paths_above(paths: Iterable[str]) -> frozenset[str]:
    """The paths themselves and all that a path can go through to them."""
    found: set[str] = set()
    for path in paths:
        found.add(path)
        at = path.find(".")
        while at >= 0:
            found.add(path[:at])
            at = path.find(".", at + 1)
    return frozenset(found)
