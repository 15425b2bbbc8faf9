"""Values of CloudEvents SQL: its three types, the casts between them, and the attributes of events.

A cast that fails gives the value that the specification defines (3.7), and an error.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vedette.dialects.cesql.nodes import Value
from vedette.dialects.cesql.parser import INTEGERS
from vedette.schema.readings import leaf, text_of

# Members of the JSON format of events that are not attributes.
NO_ATTRIBUTES: Final = frozenset({"data", "data_base64"})
REQUIRED: Final = frozenset({"id", "source", "specversion", "type"})
# Attributes that the specification of CloudEvents defines: all are texts, URIs or times, which are Strings here.
STRINGS: Final = REQUIRED | {"datacontenttype", "dataschema", "subject", "time"}

_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")


class CesqlType(enum.Enum):
    """The types of CloudEvents SQL."""

    STRING = "String"
    INTEGER = "Integer"
    BOOLEAN = "Boolean"


class ErrorKind(enum.Enum):
    """The kinds of errors, by their names in the conformance cases."""

    PARSE = "parse"
    MATH = "math"
    CAST = "cast"
    MISSING_ATTRIBUTE = "missingAttribute"
    MISSING_FUNCTION = "missingFunction"
    FUNCTION_EVALUATION = "functionEvaluation"
    GENERIC = "generic"


ZERO: Final[Mapping[CesqlType, Value]] = {CesqlType.STRING: "", CesqlType.INTEGER: 0, CesqlType.BOOLEAN: False}


class CastResult(NamedTuple):
    """The result of a cast, and the error if the value could not be cast."""

    value: Value
    wrong: str | None = None


def kind_of(value: Value) -> CesqlType:
    """The type of a value."""
    if isinstance(value, bool):
        return CesqlType.BOOLEAN
    return CesqlType.INTEGER if isinstance(value, int) else CesqlType.STRING


def cast(value: Value, kind: CesqlType) -> CastResult:
    """Cast a value to another type."""
    if kind is CesqlType.STRING:
        return CastResult(to_string(value))
    if kind is CesqlType.INTEGER:
        return _to_integer(value)
    return _to_boolean(value)


def to_string(value: Value) -> str:
    """A value as a text, which always works."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _to_integer(value: Value) -> CastResult:
    if not isinstance(value, str):
        return CastResult(int(value))
    if _INTEGER.match(value) and len(value.lstrip("+-0")) <= 10:
        number = int(value)
        if number in INTEGERS:
            return CastResult(number)
    return CastResult(0, f"{value!r} is no Integer")


def _to_boolean(value: Value) -> CastResult:
    if not isinstance(value, str):
        return CastResult(bool(value))
    lowered = value.lower()
    if lowered in ("true", "false"):
        return CastResult(lowered == "true")
    return CastResult(False, f"{value!r} is no Boolean")


def attribute(event: Mapping[str, Any], name: str) -> Value | None:
    """The attribute of an event with this name; None if there is none.

    A number that is not an Integer, a list and an object are Strings: their JSON text.
    """
    raw = None if name in NO_ATTRIBUTES else event.get(name)
    if raw is None:
        return None
    if name not in STRINGS:
        if isinstance(raw, bool):
            return raw
        number = _whole(leaf(raw)) if not isinstance(raw, str | Mapping | list) else None
        if number is not None:
            return number
    return text_of(raw)


def _whole(value: Any) -> bool | int | None:
    """A Boolean unchanged, a number if it is whole and has 32 bits; else None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and value in INTEGERS else None
