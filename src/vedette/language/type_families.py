"""Families of types: which constants can be compared with which types, and their names in messages."""

from __future__ import annotations

import datetime as dt
import difflib
import ipaddress
import reprlib
from collections.abc import Iterable
from typing import Any, Final

from vedette.language.syntax import Constant, Point, Region
from vedette.schema.keys import read
from vedette.schema.types import Kind, Type

NUMBER, TEXT, BOOLEAN, TIME, ADDRESS, PLACE, AREA = (
    "number",
    "text",
    "truth value",
    "time",
    "ip address",
    "point",
    "region",
)

FAMILY_OF_KIND: Final[dict[Kind, str]] = {
    Kind.INT: NUMBER,
    Kind.FLOAT: NUMBER,
    Kind.STRING: TEXT,
    Kind.BOOL: BOOLEAN,
    Kind.TIMESTAMP: TIME,
    Kind.DATE: TIME,
    Kind.IP: ADDRESS,
    Kind.POINT: PLACE,
    Kind.REGION: AREA,
}
_FAMILY_OF_CONSTANT: Final[dict[type, str]] = {
    int: NUMBER,
    float: NUMBER,
    str: TEXT,
    bool: BOOLEAN,
    dt.datetime: TIME,
    dt.date: TIME,
    ipaddress.IPv4Address: ADDRESS,
    ipaddress.IPv6Address: ADDRESS,
    Point: PLACE,
    Region: AREA,
}
# The type that a constant suggests for an attribute without a schema, or as which a text attribute is then read.
SUGGESTED: Final[dict[str, Kind]] = {
    NUMBER: Kind.FLOAT,
    TEXT: Kind.STRING,
    BOOLEAN: Kind.BOOL,
    TIME: Kind.TIMESTAMP,
    ADDRESS: Kind.IP,
    PLACE: Kind.POINT,
    AREA: Kind.REGION,
}
_EXAMPLES: Final[dict[str, str]] = {
    NUMBER: "a number, such as 120",
    TEXT: "a text in quotes, such as 'abc'",
    BOOLEAN: "true or false",
    TIME: "a time, such as '2024-05-01T12:30:00Z'",
    ADDRESS: "an address, such as '10.0.0.1'",
}


def family(constant: Constant) -> str | None:
    """The family of a constant; None for null."""
    return _FAMILY_OF_CONSTANT.get(type(constant))


def example(kind: Kind) -> str | None:
    """An example of a constant of this kind, for hints; None if it cannot be written as a constant."""
    return _EXAMPLES.get(FAMILY_OF_KIND[kind])


def parsed(kind: Kind, text: str) -> Any:
    """Parse a text as a constant of the kind; a date attribute may be compared with a time. ValueError if it fails."""
    if kind is Kind.DATE:
        try:
            return read(kind, text)
        except ValueError:
            return read(Kind.TIMESTAMP, text)
    return read(kind, text)


def not_text(text: str) -> str | None:
    """Why a Python string is not a valid text; None if it is one."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "the text has half of a surrogate pair"
    return None


def named(type_: Type) -> str:
    """`an int`, `a list of string`."""
    name = str(type_)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def shown(constant: Any) -> str:
    """`the number 5`, `the text 'abc'`."""
    text = repr(constant) if isinstance(constant, int | float) else reprlib.repr(constant)
    if isinstance(constant, dt.date | ipaddress.IPv4Address | ipaddress.IPv6Address):
        text = f"'{constant}'"
    elif isinstance(constant, bool):
        text = str(constant).lower()
    return f"the {family(constant) or 'value'} {text}"


def similar(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known names most like this one."""
    names = list(known)
    ratios = {each: difflib.SequenceMatcher(None, name.casefold(), each.casefold()).ratio() for each in names}
    best = max(ratios.values(), default=0.0)
    near = [each for each, ratio in ratios.items() if ratio >= max(0.6, best - 0.05)][:3]
    if not near:
        # People remember the last part of a path.
        last = name.rpartition(".")[2]
        near = [each for each in names if each.rpartition(".")[2] == last][:3]
    if near:
        return f"did you mean {' or '.join(near)}?"
    if not names:
        return None
    return f"known are {', '.join(names[:12])}{', …' if len(names) > 12 else ''}"
