"""Finds events that break the schema of their stream; all declared attributes are checked, used or not.

Most values are plain ones of the declared type, which is seen at once; all others are read as matching reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

_MAP: Final = ".*"
_PLAIN: Final[Mapping[Kind, frozenset[type]]] = {
    Kind.INT: frozenset({int}),
    Kind.FLOAT: frozenset({int, float}),
    Kind.STRING: frozenset({str}),
    Kind.BOOL: frozenset({bool}),
}
_EXACT: Final = 1 << 53  # integers up to there are floats, too


def schema_violations(events: Sequence[Mapping[str, Any]], schema: Schema) -> list[Reject]:
    """The first error of every event that breaks the schema, in the order of events."""
    found: dict[int, Reject] = {}
    for path, type_ in schema.attributes.items():
        of = _of_map if path.endswith(_MAP) else _of_attribute
        for one in of(events, path, type_, schema):
            found.setdefault(one.row, one)
    return [found[row] for row in sorted(found)]


def _of_attribute(events: Sequence[Mapping[str, Any]], path: str, type_: Type, schema: Schema) -> list[Reject]:
    rows = _doubtful(events, path, type_)
    if not rows:
        return []
    rejects = encode([events[row] for row in rows], [Column(path, type_)], schema).rejects
    return [replace(one, row=rows[one.row]) for one in rejects]


def _doubtful(events: Sequence[Mapping[str, Any]], path: str, type_: Type) -> Sequence[int]:
    """The events whose value is not plainly of the type."""
    plain = _PLAIN.get(type_.kind)
    if plain is None or type_.is_list:
        return range(len(events))
    find = finder(path)
    return [
        row
        for row, event in enumerate(events)
        if (value := find(event)) is not None
        and ((kind := type(value)) not in plain or (kind is int and not -_EXACT <= value <= _EXACT))
    ]


def _of_map(events: Sequence[Mapping[str, Any]], path: str, type_: Type, schema: Schema) -> list[Reject]:
    """Errors of values in a map: each value is checked as if it were an event of one attribute."""
    find = finder(inside := path.removesuffix(_MAP))
    entries = [
        (row, name, value)
        for row, event in enumerate(events)
        if isinstance(inner := find(event), Mapping)
        for name, value in inner.items()
    ]
    alone = Schema({"value": type_}, closed=False, mixed=frozenset({"value"} if path in schema.mixed else ()))
    rejects = _of_attribute([{"value": value} for _, _, value in entries], "value", type_, alone)
    places = [(entries[one.row], one) for one in rejects]
    return [replace(one, row=row, attribute=f"{inside}.{name}") for (row, name, _), one in places]
