"""Translates tests of one attribute, whose type is known only for each event, into Vedette's language.

The text of an attribute is nearly enough: an Integer's is the number as it is written, a Boolean's `true` or
`false`. Where a String with the same text has another meaning, the leaves found there distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from vedette.dialects.cesql.conditions import (
    FALSE,
    TRUE,
    TruthConditions,
    all_of,
    among,
    any_of,
    different,
    equal,
    integer,
    is_text,
    none_of,
    present,
    some,
    text,
    untrue,
)
from vedette.dialects.cesql.nodes import Value
from vedette.dialects.cesql.parser import INTEGERS
from vedette.dialects.cesql.values import STRINGS, CesqlType, cast, to_string
from vedette.language import ast
from vedette.language.ast import Filter
from vedette.language.likes import escaped

IntegerInterval: TypeAlias = tuple[int, int]  # both ends are included
IntegerIntervals: TypeAlias = tuple[IntegerInterval, ...]  # ascending, without one that touches the next

ALL: Final[IntegerIntervals] = ((INTEGERS[0], INTEGERS[-1]),)
CANONICAL: Final = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")  # the text of a number


def united(intervals: Iterable[IntegerInterval]) -> IntegerIntervals:
    """The union of intervals, in order, without Integers beyond 32 bits."""
    found: list[IntegerInterval] = []
    clipped = ((max(low, INTEGERS[0]), min(high, INTEGERS[-1])) for low, high in intervals)
    for low, high in sorted(each for each in clipped if each[0] <= each[1]):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def others(intervals: IntegerIntervals) -> IntegerIntervals:
    """The complement: all other Integers."""
    begins = (INTEGERS[0], *(high + 1 for _, high in intervals))
    ends = (*(low - 1 for low, _ in intervals), INTEGERS[-1])
    return united(zip(begins, ends, strict=True))


def moved(intervals: IntegerIntervals, by: int) -> IntegerIntervals:
    """Each Integer plus a number, if that is an Integer."""
    return united((low + by, high + by) for low, high in intervals)


def mirrored(intervals: IntegerIntervals, minuend: int = 0) -> IntegerIntervals:
    """A number minus each Integer, if that is an Integer."""
    return united((minuend - high, minuend - low) for low, high in intervals)


def has(intervals: IntegerIntervals, number: int) -> bool:
    """Whether an Integer is in one of the intervals."""
    return any(low <= number <= high for low, high in intervals)


LONGEST: Final = 200  # characters that a pattern counts
_TRUE: Final = "^[Tt][Rr][Uu][Ee]$"
_FALSE: Final = "^[Ff][Aa][Ll][Ss][Ee]$"
_EITHER: Final = "^(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"
_TRUTHS: Final = ("true", "false")


def equals(name: str, value: str) -> TruthConditions:
    """As a String, the attribute equals this one."""
    return TruthConditions(equal(text(name), value), different(text(name), value), present(name))


def tested(test: Filter, name: str) -> TruthConditions:
    """As a String, the attribute passes a test of its text."""
    return TruthConditions(test, ast.Not(test), present(name))


def same_text(name: str, other: str) -> TruthConditions:
    """As Strings, two attributes are equal."""
    return TruthConditions(
        ast.Comparison(text(name), ast.Comparator.EQ, text(other)),
        ast.Comparison(text(name), ast.Comparator.NE, text(other)),
        all_of(present(name), present(other)),
    )


def in_lower_case(name: str, value: str) -> TruthConditions:
    """As a String in lower case, the attribute equals this one, which is in lower case."""
    return tested(is_text("like", name, escaped(value), ignore_case=True), name)


def at_edge(name: str, value: str, count: int, *, left: bool) -> TruthConditions:
    """LEFT or RIGHT: the attribute's first, or last, `count` characters are these; all of them if it is shorter."""
    if len(value) > count:
        return TruthConditions(FALSE, present(name), present(name))
    if len(value) < count:
        return equals(name, value)
    if not value:
        return TruthConditions(present(name), FALSE, present(name))
    return tested(is_text("startswith" if left else "endswith", name, value), name)


def length(name: str, yes: IntegerIntervals, no: IntegerIntervals) -> TruthConditions | None:
    """As a String, the attribute has that many characters; None if they are too many to be counted by a pattern."""
    counts = [(max(low, 0), high) for low, high in (*yes, *no) if high >= 0]
    if any(LONGEST < edge < INTEGERS[-1] for count in counts for edge in count):
        return None
    holds, fails = any_of(*_lengths(name, yes)), any_of(*_lengths(name, no))
    whole = united(counts) == ((0, INTEGERS[-1]),)
    return TruthConditions(holds, fails, present(name) if whole else any_of(holds, fails))


def _lengths(name: str, intervals: IntegerIntervals) -> Iterator[Filter]:
    for low, high in intervals:
        if high >= 0:
            longer = FALSE if high == INTEGERS[-1] else is_text("like", name, "_" * (high + 1) + "%")
            least = present(name) if low <= 0 else is_text("like", name, "_" * low + "%")
            yield all_of(least, TRUE if longer == FALSE else ast.Not(longer))


def as_integer(name: str, yes: IntegerIntervals, no: IntegerIntervals, *, as_string: bool = False) -> TruthConditions:
    """As an Integer, the attribute is in `yes` or in `no`; else it is an error. `as_string`: it was cast to String."""
    truths = () if as_string or name in STRINGS else _TRUTHS

    def where(numbers: IntegerIntervals) -> Filter:
        meant = [each for each in truths if has(numbers, each == "true")]
        return any_of(_integer_in(name, numbers), _boolean(name, meant))

    return TruthConditions(lambda: where(yes), lambda: where(no), lambda: where(united((*yes, *no))))


def boolean(name: str, *, as_string: bool = False) -> TruthConditions:
    """As a Boolean, the attribute is true."""
    holds, fails = is_text("matches", name, _TRUE), is_text("matches", name, _FALSE)
    fine = is_text("matches", name, _EITHER)
    if as_string or name in STRINGS:
        return TruthConditions(holds, fails, fine)
    nonzero = all_of(_is_integer(name), different(integer(name), 0))
    zero = all_of(equal(integer(name), 0), equal(some("numbers", name), 0))
    return TruthConditions(any_of(holds, nonzero), any_of(fails, zero), any_of(fine, _is_integer(name)))


def truth_text(name: str) -> TruthConditions:
    """As a Boolean the attribute is true, where an Integer is not a Boolean (under NOT)."""
    return boolean(name, as_string=True)


def is_true(name: str) -> Filter:
    """The attribute is the Boolean true, and not only cast to it."""
    return FALSE if name in STRINGS else _boolean(name, ["true"])


def looks_integral(name: str) -> TruthConditions:
    """IS_INT: the attribute is an Integer, or a String that can be cast to one."""
    whole = _between(integer(name), ALL[0])
    return TruthConditions(
        whole, all_of(present(name), any_of(ast.IsNull(integer(name)), ast.Not(whole))), present(name)
    )


def looks_boolean(name: str) -> TruthConditions:
    """IS_BOOL: the attribute is a Boolean, or a String that can be cast to one."""
    return tested(is_text("matches", name, _EITHER), name)


def one_of(name: str, constants: Sequence[Value]) -> TruthConditions:
    """The attribute equals one of the constants, each cast to its type: `x IN (…)`, and `constant = x`."""
    wanted = {kind: _texts(constants, kind) for kind in _kinds(name)}
    plain: list[str] = []
    apart: list[Filter] = []
    for value in dict.fromkeys(value for values in wanted.values() for value in values or ()):
        can_be = [kind for kind in wanted if kind is CesqlType.STRING or kind is _written_kind(value)]
        meant = [kind for kind in can_be if value in (wanted[kind] or ())]
        if meant == can_be:
            plain.append(value)
        else:
            apart += [_of_kind(name, value, kind) for kind in meant]
    fails, fine = [], []
    for kind, values in wanted.items():
        if values is not None:
            is_kind = _is_kind(name, kind)
            fails.append(all_of(is_kind, none_of(among(text(name), values))))
            fine.append(is_kind)
    if all(values is not None for values in wanted.values()):
        fine = [present(name)]
    return TruthConditions(any_of(among(text(name), plain), *apart), any_of(*fails), any_of(*fine))


# ---------------------------------------------------------------- what a text can be


def _kinds(name: str) -> tuple[CesqlType, ...]:
    return (CesqlType.STRING,) if name in STRINGS else tuple(CesqlType)


def _texts(constants: Iterable[Value], kind: CesqlType) -> Mapping[str, None] | None:
    """The constants as texts of a type, each once, or None if one cannot be cast to it."""
    made = [cast(constant, kind) for constant in constants]
    if any(each.wrong is not None for each in made):
        return None
    return dict.fromkeys(to_string(each.value) for each in made)


def _written_kind(value: str) -> CesqlType:
    """The type, other than String, that has this text; String if there is none."""
    if value in _TRUTHS:
        return CesqlType.BOOLEAN
    if CANONICAL.match(value) and len(value) <= 11 and int(value) in INTEGERS:
        return CesqlType.INTEGER
    return CesqlType.STRING


def _of_kind(name: str, value: str, kind: CesqlType) -> Filter:
    """The attribute's text is this one, and it is of this type."""
    if kind is CesqlType.INTEGER:
        return all_of(equal(text(name), value), equal(some("numbers", name), int(value)))
    if kind is CesqlType.BOOLEAN:
        return _boolean(name, [value])
    return all_of(equal(text(name), value), equal(some("strings", name), value))


def _is_kind(name: str, kind: CesqlType) -> Filter:
    if kind is CesqlType.INTEGER:
        return _is_integer(name)
    if kind is CesqlType.BOOLEAN:
        return _boolean(name, _TRUTHS)
    if name in STRINGS:
        return present(name)
    return all_of(present(name), untrue(_is_integer(name)), untrue(_boolean(name, _TRUTHS)))


def _is_integer(name: str) -> Filter:
    """The attribute is an Integer, not a String that can be cast to one."""
    return all_of(_between(integer(name), ALL[0]), _between(some("numbers", name), ALL[0]))


def _boolean(name: str, values: Sequence[str]) -> Filter:
    if not values:
        return FALSE
    return all_of(among(text(name), values), among(some("leaves", name), values))


def _integer_in(name: str, intervals: IntegerIntervals) -> Filter:
    """The attribute can be cast to one of the Integers, from a number or from a text."""
    rest = others(intervals)
    if _is_one(rest):
        return all_of(_between(integer(name), ALL[0]), different(integer(name), rest[0][0]))
    single = [low for low, high in intervals if low == high]
    ranges = [_between(integer(name), interval) for interval in intervals if interval[0] < interval[1]]
    return any_of(among(integer(name), single), *ranges)


def _between(operand: ast.Operand, interval: IntegerInterval) -> Filter:
    low, high = interval
    return ast.Range(operand, ast.Literal(low), ast.Literal(high))


def _is_one(intervals: IntegerIntervals) -> bool:
    return len(intervals) == 1 and intervals[0][0] == intervals[0][1]
