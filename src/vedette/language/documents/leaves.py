"""Finds the leaves of a JSON value, with their paths and the list elements that they are in.

As AWS flattens an event: keys are joined by dots, and lists do not appear in the path. An element that is an object or
a list makes all leaves below it members of that element; a scalar in a list belongs to no element.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.schema.readings import DEEPEST, leaf

# (list, element) of every list above a leaf, outermost first.
Membership: TypeAlias = tuple[tuple[int, int], ...]


class DocumentLeaf(NamedTuple):
    """A scalar, and the list elements that it is in."""

    value: Any
    membership: Membership


DocumentLeaves: TypeAlias = dict[str, list[DocumentLeaf]]
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def leaves(value: Any, wanted: Container[str] | None = None, above: Container[str] | None = None) -> DocumentLeaves:
    """All leaves by path; if `wanted` is given, only those at these paths, reached through the paths `above`."""
    found: DocumentLeaves = {}
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
                    found.setdefault(name, []).append(DocumentLeaf(_scalar(below), membership))
        elif isinstance(node, list | tuple):
            lists += 1
            for index, element in enumerate(node):
                if _has_parts(element):
                    pending.append((path, element, (*membership, (lists, index)), depth + 1))
                elif path is not None and (wanted is None or path in wanted):
                    found.setdefault(path, []).append(DocumentLeaf(_scalar(element), membership))
    return found


def _has_parts(value: Any) -> bool:
    return type(value) not in _SCALARS and isinstance(value, Mapping | list | tuple)


def _scalar(value: Any) -> Any:
    return value if type(value) in _SCALARS else leaf(value)


def paths_above(paths: Iterable[str]) -> frozenset[str]:
    """The paths and all their prefixes."""
    found: set[str] = set()
    for path in paths:
        found.add(path)
        at = path.find(".")
        while at >= 0:
            found.add(path[:at])
            at = path.find(".", at + 1)
    return frozenset(found)
