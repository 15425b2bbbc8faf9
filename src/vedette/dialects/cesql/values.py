"""Values of CloudEvents SQL: its three types, the casts between them, built-in functions, attributes of events.

A cast that fails gives the value that the specification defines (3.7), and an error.

IS_INT and IS_BOOL are from the specification's drafts: its version 1.0 no longer has them, but other
implementations do.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
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


# Unicode's white space: `str.strip` would remove control characters, too.
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)


class FunctionResult(NamedTuple):
    """The result and the error of a function."""

    value: Value
    kind: ErrorKind | None = None
    wrong: str = ""


class CesqlFunction(NamedTuple):
    """A function, with the types of its parameters (None: any), and perhaps of any number of `more` after them."""

    gives: CesqlType
    takes: tuple[CesqlType | None, ...]
    run: Callable[..., FunctionResult]
    more: CesqlType | None = None

    def kind_of(self, place: int) -> CesqlType | None:
        """The type of the parameter at a position."""
        return self.takes[place] if place < len(self.takes) else self.more


def find(name: str, arguments: int) -> CesqlFunction | None:
    """The function of a name (in upper case) that takes that many arguments."""
    for function in _FUNCTIONS.get(name, ()):
        if len(function.takes) == arguments or (function.more is not None and arguments > len(function.takes)):
            return function
    return None


def names() -> tuple[str, ...]:
    """The names of all functions."""
    return tuple(_FUNCTIONS)


def _cast_to(kind: CesqlType) -> CesqlFunction:
    def run(value: Value) -> FunctionResult:
        made = cast(value, kind)
        return (
            FunctionResult(made.value) if made.wrong is None else FunctionResult(made.value, ErrorKind.CAST, made.wrong)
        )

    return CesqlFunction(kind, (None,), run)


def _is(kind: CesqlType) -> CesqlFunction:
    def run(value: Value) -> FunctionResult:
        if isinstance(value, str):
            return FunctionResult(cast(value, kind).wrong is None)
        return FunctionResult(kind_of(value) is kind)

    return CesqlFunction(CesqlType.BOOLEAN, (None,), run)


def _abs(x: int) -> FunctionResult:
    if x == INTEGERS[0]:
        return FunctionResult(INTEGERS[-1], ErrorKind.MATH, f"ABS({x}) is too large for an Integer")
    return FunctionResult(abs(x))


def _left(x: str, y: int) -> FunctionResult:
    return _wrong(x, f"LEFT of {y} characters") if y < 0 else FunctionResult(x[:y])


def _right(x: str, y: int) -> FunctionResult:
    return _wrong(x, f"RIGHT of {y} characters") if y < 0 else FunctionResult(x[max(0, len(x) - y) :])


def _substring(x: str, position: int, length: int | None = None) -> FunctionResult:
    if length is not None and length < 0:
        return _wrong("", f"SUBSTRING of {length} characters")
    if position == 0:
        return FunctionResult("")
    if abs(position) > len(x):
        return _wrong("", f"SUBSTRING from {position} of a text that is {len(x)} long")
    begin = position - 1 if position > 0 else len(x) + position
    return FunctionResult(x[begin:] if length is None else x[begin : begin + length])


def _wrong(value: Value, what: str) -> FunctionResult:
    return FunctionResult(value, ErrorKind.FUNCTION_EVALUATION, what)


def _plain(
    gives: CesqlType, takes: tuple[CesqlType, ...], run: Callable[..., Any], more: CesqlType | None = None
) -> CesqlFunction:
    """A function that never has an error."""
    return CesqlFunction(gives, takes, lambda *arguments: FunctionResult(run(*arguments)), more)


_S, _I = CesqlType.STRING, CesqlType.INTEGER
_FUNCTIONS: Final[dict[str, tuple[CesqlFunction, ...]]] = {
    "INT": (_cast_to(CesqlType.INTEGER),),
    "BOOL": (_cast_to(CesqlType.BOOLEAN),),
    "STRING": (_cast_to(CesqlType.STRING),),
    "IS_INT": (_is(CesqlType.INTEGER),),
    "IS_BOOL": (_is(CesqlType.BOOLEAN),),
    "ABS": (CesqlFunction(_I, (_I,), _abs),),
    "LENGTH": (_plain(_I, (_S,), len),),
    "CONCAT": (_plain(_S, (), lambda *parts: "".join(parts), more=_S),),
    "CONCAT_WS": (_plain(_S, (_S,), lambda between, *parts: between.join(parts), more=_S),),
    "LOWER": (_plain(_S, (_S,), str.lower),),
    "UPPER": (_plain(_S, (_S,), str.upper),),
    "TRIM": (_plain(_S, (_S,), lambda x: x.strip(_WHITE)),),
    "LEFT": (CesqlFunction(_S, (_S, _I), _left),),
    "RIGHT": (CesqlFunction(_S, (_S, _I), _right),),
    "SUBSTRING": (CesqlFunction(_S, (_S, _I), _substring), CesqlFunction(_S, (_S, _I, _I), _substring)),
}
