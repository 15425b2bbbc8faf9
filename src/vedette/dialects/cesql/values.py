"""Values of CloudEvents SQL: its three types, the casts between them, and what an event has under a name.

A cast that cannot be done gives the value that the specification names (3.7), and says so.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vedette.dialects.cesql.nodes import Value
from vedette.dialects.cesql.parser import INTEGERS
from vedette.schema.readings import leaf, text_of

# Of the JSON format of an event, what is no attribute.
NO_ATTRIBUTES: Final = frozenset({"data", "data_base64"})
REQUIRED: Final = frozenset({"id", "source", "specversion", "type"})
# Attributes that the specification of CloudEvents defines: all are texts, URIs or times, which are Strings here.
STRINGS: Final = REQUIRED | {"datacontenttype", "dataschema", "subject", "time"}

_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")


class Kind(enum.Enum):
    """The types."""

    STRING = "String"
    INTEGER = "Integer"
    BOOLEAN = "Boolean"


class ErrorKind(enum.Enum):
    """What can go wrong, by the names of the conformance cases."""

    PARSE = "parse"
    MATH = "math"
    CAST = "cast"
    MISSING_ATTRIBUTE = "missingAttribute"
    MISSING_FUNCTION = "missingFunction"
    FUNCTION_EVALUATION = "functionEvaluation"
    GENERIC = "generic"


ZERO: Final[Mapping[Kind, Value]] = {Kind.STRING: "", Kind.INTEGER: 0, Kind.BOOLEAN: False}


class Cast(NamedTuple):
    """What a value became, and why that is not its own if it could not be cast."""

    value: Value
    wrong: str | None = None


def kind_of(value: Value) -> Kind:
    """The type of a value."""
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.INTEGER if isinstance(value, int) else Kind.STRING


def cast(value: Value, kind: Kind) -> Cast:
    """A value as another type."""
    if kind is Kind.STRING:
        return Cast(to_string(value))
    if kind is Kind.INTEGER:
        return _to_integer(value)
    return _to_boolean(value)


def to_string(value: Value) -> str:
    """Every value as a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _to_integer(value: Value) -> Cast:
    if not isinstance(value, str):
        return Cast(int(value))
    if _INTEGER.match(value) and len(value.lstrip("+-0")) <= 10:
        number = int(value)
        if number in INTEGERS:
            return Cast(number)
    return Cast(0, f"{value!r} is no Integer")


def _to_boolean(value: Value) -> Cast:
    if not isinstance(value, str):
        return Cast(bool(value))
    lowered = value.lower()
    if lowered in ("true", "false"):
        return Cast(lowered == "true")
    return Cast(False, f"{value!r} is no Boolean")


def attribute(event: Mapping[str, Any], name: str) -> Value | None:
    """What an event has under a name; None if it has nothing.

    A number that is no Integer, a list and an object are Strings: their JSON text.
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
    """A truth value as it is, a number if it is whole and of 32 bits; else None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and value in INTEGERS else None
