"""The functions that come with CloudEvents SQL (3.5), and those that cast.

IS_INT and IS_BOOL are those of the specification's drafts: its version 1.0 does not have them any more, but other
implementations do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from vedette.dialects.cesql.nodes import Value
from vedette.dialects.cesql.parser import INTEGERS
from vedette.dialects.cesql.values import ErrorKind, Kind, cast, kind_of

# What Unicode calls white space: `str.strip` would take control characters, too.
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)


class Found(NamedTuple):
    """What a function gives, and what went wrong."""

    value: Value
    kind: ErrorKind | None = None
    wrong: str = ""


class Function(NamedTuple):
    """A function of so many parameters (None: of any type), perhaps with any number of `more` behind them."""

    gives: Kind
    takes: tuple[Kind | None, ...]
    run: Callable[..., Found]
    more: Kind | None = None

    def kind_of(self, place: int) -> Kind | None:
        """The type of the parameter at a place."""
        return self.takes[place] if place < len(self.takes) else self.more


def find(name: str, arguments: int) -> Function | None:
    """The function of a name (in upper case) that takes so many arguments."""
    for function in _FUNCTIONS.get(name, ()):
        if len(function.takes) == arguments or (function.more is not None and arguments > len(function.takes)):
            return function
    return None


def names() -> tuple[str, ...]:
    """Of all functions."""
    return tuple(_FUNCTIONS)


def _cast_to(kind: Kind) -> Function:
    def run(value: Value) -> Found:
        made = cast(value, kind)
        return Found(made.value) if made.wrong is None else Found(made.value, ErrorKind.CAST, made.wrong)

    return Function(kind, (None,), run)


def _is(kind: Kind) -> Function:
    def run(value: Value) -> Found:
        if isinstance(value, str):
            return Found(cast(value, kind).wrong is None)
        return Found(kind_of(value) is kind)

    return Function(Kind.BOOLEAN, (None,), run)


def _abs(x: int) -> Found:
    if x == INTEGERS[0]:
        return Found(INTEGERS[-1], ErrorKind.MATH, f"ABS({x}) is too large for an Integer")
    return Found(abs(x))


def _left(x: str, y: int) -> Found:
    return _wrong(x, f"LEFT of {y} characters") if y < 0 else Found(x[:y])


def _right(x: str, y: int) -> Found:
    return _wrong(x, f"RIGHT of {y} characters") if y < 0 else Found(x[max(0, len(x) - y) :])


def _substring(x: str, position: int, length: int | None = None) -> Found:
    if length is not None and length < 0:
        return _wrong("", f"SUBSTRING of {length} characters")
    if position == 0:
        return Found("")
    if abs(position) > len(x):
        return _wrong("", f"SUBSTRING from {position} of a text that is {len(x)} long")
    begin = position - 1 if position > 0 else len(x) + position
    return Found(x[begin:] if length is None else x[begin : begin + length])


def _wrong(value: Value, what: str) -> Found:
    return Found(value, ErrorKind.FUNCTION_EVALUATION, what)


def _plain(gives: Kind, takes: tuple[Kind, ...], run: Callable[..., Any], more: Kind | None = None) -> Function:
    """One in which nothing goes wrong."""
    return Function(gives, takes, lambda *arguments: Found(run(*arguments)), more)


_S, _I = Kind.STRING, Kind.INTEGER
_FUNCTIONS: Final[dict[str, tuple[Function, ...]]] = {
    "INT": (_cast_to(Kind.INTEGER),),
    "BOOL": (_cast_to(Kind.BOOLEAN),),
    "STRING": (_cast_to(Kind.STRING),),
    "IS_INT": (_is(Kind.INTEGER),),
    "IS_BOOL": (_is(Kind.BOOLEAN),),
    "ABS": (Function(_I, (_I,), _abs),),
    "LENGTH": (_plain(_I, (_S,), len),),
    "CONCAT": (_plain(_S, (), lambda *parts: "".join(parts), more=_S),),
    "CONCAT_WS": (_plain(_S, (_S,), lambda between, *parts: between.join(parts), more=_S),),
    "LOWER": (_plain(_S, (_S,), str.lower),),
    "UPPER": (_plain(_S, (_S,), str.upper),),
    "TRIM": (_plain(_S, (_S,), lambda x: x.strip(_WHITE)),),
    "LEFT": (Function(_S, (_S, _I), _left),),
    "RIGHT": (Function(_S, (_S, _I), _right),),
    "SUBSTRING": (Function(_S, (_S, _I), _substring), Function(_S, (_S, _I, _I), _substring)),
}
