"""Evaluates a filter on one event, in SQL's three-valued logic: the slow, obvious reference.

This is the oracle that everything fast is tested against, and the basis of `explain`. It works on plain Python
values, without keys, value sets and normal forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from vedette.errors import NotSupported, SchemaError
from vedette.language.checked_tree import (
    AndPart,
    Atom,
    CheckedExpression,
    NotPart,
    OrPart,
    PairAtom,
    Part,
    Residual,
    TruthPart,
)
from vedette.language.three_valued import Truth, compared, every, opposite, some
from vedette.schema.columns import Column
from vedette.schema.compare import RELATIONS
from vedette.schema.keys import INT_MAX, INT_MIN, read
from vedette.schema.paths import finder
from vedette.schema.readings import TYPES, viewer
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.schema.values import json_text

Event: TypeAlias = Mapping[str, Any]


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
        return part.test.holds(seen)
    if seen is None:
        return None
    decided = part.test.OTHER_LEAVES is False and part.of_leaves
    verdicts = (False if element is None and decided else part.test.holds(element) for element in seen)
    return some(verdicts) if part.quantifier == "any" else every(verdicts)


def _pair(atom: PairAtom, event: Event, schema: Schema | None) -> Truth:
    """The truth of a comparison of two attributes; values without a common order compare as unknown."""
    if atom.column.reading is not None:
        return compared(view_of(atom.left, event), atom.op, view_of(atom.right, event))
    left, right = (value_of(column.path, None, event, schema) for column in (atom.left, atom.right))
    try:
        if left is not None and right is not None and schema is not None:
            # An attribute that the schema lacks is read as the type of the other one.
            left = _read_beside(atom.right.path, left, atom.left.path, schema)
            right = _read_beside(atom.left.path, right, atom.right.path, schema)
        return compared(left, atom.op, right)
    except (SchemaError, ValueError):
        return None


def _read_beside(other: str, value: Any, path: str, schema: Schema) -> Any:
    wanted = schema.type_of(other)
    if schema.type_of(path) is not None or wanted is None:
        return value
    return value if wanted.kind.numeric and isinstance(value, int | float) else read(wanted.kind, value)


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
