"""Parses constants that are written as text, and checks the patterns of text tests.

Every function raises ValueError with a message for people; the parser adds the place.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from vedette.language import limits
from vedette.language.hints import shortened
from vedette.language.networks import canonical_network
from vedette.language.syntax import Constant, Region
from vedette.language.time_units import MICROSECONDS
from vedette.schema import keys


class LiteralTooLarge(ValueError):
    """A constant over a limit."""


# ---------------------------------------------------------------- numbers


def read_number(text: str) -> int | float:
    """An int of any size (within the limit on its digits), or a float64."""
    if len(text) > limits.NUMBER_CHARACTERS:
        raise LiteralTooLarge(f"a number of {len(text):,} characters: the limit is {limits.NUMBER_CHARACTERS:,}")
    if text.isdigit():
        return int(text)
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{shortened(text)} is too large for a float; infinity is written as float 'inf'")
    return number


def read_float(text: str) -> float:
    """`float '…'`, for values that have no number literal, such as 'nan' and 'inf'."""
    if len(text) > limits.NUMBER_CHARACTERS:
        raise LiteralTooLarge(f"a number of {len(text):,} characters: the limit is {limits.NUMBER_CHARACTERS:,}")
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{shortened(text)}' is not a number, 'inf', '-inf' or 'nan'") from None
    return number if number == number else math.nan  # noqa: PLR0124 - one NaN, so that equal texts give equal nodes


# ---------------------------------------------------------------- times, addresses, regions


def read_timestamp(text: str) -> dt.datetime:
    """ISO 8601, in UTC unless it names a zone."""
    try:
        return keys.read_timestamp(text)
    except ValueError:
        raise ValueError(f"'{shortened(text)}' is not a time such as '2024-05-01T12:30:00Z'") from None


def read_network(text: str) -> str:
    """A network in canonical notation; bits set after the prefix are dropped."""
    try:
        if "%" not in text:  # no zones: a network has none
            return canonical_network(text.strip())
    except ValueError:
        pass
    raise ValueError(f"'{shortened(text)}' is not a network such as '10.0.0.0/8' or '2001:db8::/32'")


def read_region(text: str) -> Region:
    """Well-known text of a proper POLYGON or MULTIPOLYGON."""
    if not text.lstrip()[:12].upper().startswith(("POLYGON", "MULTIPOLYGON")) or "\0" in text:
        raise ValueError(f"'{shortened(text)}' is not a region such as 'POLYGON((0 0, 1 0, 1 1, 0 0))'")
    with np.errstate(all="ignore"):  # an overflowing coordinate makes GEOS set a floating-point flag
        keys.read_region(text)
    return Region(text)


def box(west: float, south: float, east: float, north: float) -> Region:
    """`box(x1, y1, x2, y2)`: the rectangle between two corners."""
    if not (west < east and south < north):
        raise ValueError("a box needs x1 < x2 and y1 < y2: box(west, south, east, north)")
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return Region("POLYGON ((" + ", ".join(f"{x!r} {y!r}" for x, y in corners) + "))")


def check_place(longitude: float, latitude: float) -> None:
    """ValueError if the centre of a great-circle distance is not on the sphere."""
    if -180 <= longitude <= 180 and -90 <= latitude <= 90:
        return
    swapped = "; the longitude comes first" if -90 <= longitude <= 90 and -180 <= latitude <= 180 else ""
    raise ValueError(f"point({longitude:g}, {latitude:g}) is no longitude and latitude in degrees{swapped}")


TYPED: Final[Mapping[str, Callable[[str], Constant]]] = {
    "timestamp": read_timestamp,
    "date": keys.read_date,
    "ip": keys.read_ip,
    "region": read_region,
    "float": read_float,
    "double": read_float,
}

# ---------------------------------------------------------------- units

METRES: Final[Mapping[str, float]] = {"m": 1.0, "km": 1_000.0, "mi": 1_609.344}

_LONGEST: Final = 2**63 - 1


def duration(number: float, unit: str) -> int:
    """A length of time in microseconds, to the nearest one."""
    if abs(number) > _LONGEST:
        raise LiteralTooLarge("a length of time over 292,000 years")
    microseconds = round(number * MICROSECONDS[unit])
    if abs(microseconds) > _LONGEST:
        raise LiteralTooLarge("a length of time over 292,000 years")
    return microseconds


def microseconds_since_epoch(moment: dt.datetime) -> int:
    """A timestamp in microseconds since the epoch, as time conditions store it."""
    return keys.timestamp_key(moment)


# ---------------------------------------------------------------- patterns of text


def event_pattern_fields(pattern: str) -> int:
    """The number of fields of an event pattern with its alternatives expanded; ValueError if it is invalid."""
    from vedette.language.documents.json_reader import PatternError
    from vedette.language.documents.pattern_parser import parse

    try:
        return sum(len(alternative.fields) for alternative in parse(pattern).alternatives)
    except PatternError as problem:
        hint = "" if problem.hint is None else f"; {problem.hint}"
        raise ValueError(f"no event pattern: {problem.explained}{hint}") from None


def check_like(pattern: str, escape: str) -> None:
    """ValueError if the escape character of LIKE is followed by anything but `%`, `_` or itself, as in Spark."""
    if len(escape) != 1 or escape in "%_":
        raise ValueError("the escape is one character, and neither % nor _")
    at = pattern.find(escape)
    while at >= 0:
        following = pattern[at + 1 : at + 2]
        if following not in ("%", "_", escape):
            found = f"'{following}'" if following else "the end"
            raise ValueError(
                f"'{escape}' escapes %, _ and itself, but {found} follows; write '{escape * 2}' for itself"
            )
        at = pattern.find(escape, at + 2)


@functools.lru_cache(maxsize=4096)
def regex_instructions(pattern: str, ignore_case: bool) -> int:
    """The size of a regular expression's RE2 program; ValueError if the expression is invalid."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = limits.REGEX_MEMORY
    options.case_sensitive = not ignore_case
    try:
        return int(re2.compile(pattern, options).programsize)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if "too large" in said or "repetition size" in said or "too deeply" in said:
        raise LiteralTooLarge(f"the regular expression is too large: {said}")
    raise ValueError(f"not a regular expression: {said}")
