"""Interval arithmetic: the bounds of an expression over the values that both sides allow, for many pairs.

It is exact (but for rounding) if every attribute occurs once and no divisor is composed of several parts: an
attribute that occurs twice is treated as two values, and a composed divisor that can be 0 as coming arbitrarily
near to 0. Division by 0 itself has no value, and if there is no value at all the bounds are NaN.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.language import ast
from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.overlap import floats, tidied
from vedette.meeting.rank_expressions import RankExpression
from vedette.meeting.spans import Pieces, Places, common, own, spans_of, term_of
from vedette.schema.keys import INT_MAX, INT_MIN, date_key, timestamp_key
from vedette.schema.types import Kind

Floats = NDArray[np.float64]
KeyArray = NDArray[np.int64]

_MICROSECONDS, _DAY = 1e6, 86_400.0  # in a second; in seconds


class ValueBounds(NamedTuple):
    """The bounds of a value, and its bounds next to 0 on both sides; NaN if there is no value."""

    low: Floats
    high: Floats
    below: Floats  # the greatest that is less than 0
    above: Floats  # the least that is more than 0


class Reckoner:
    """Evaluates an expression for pairs of disjuncts of two tables."""

    def __init__(
        self, expression: RankExpression, publications: ConstraintTable, subscriptions: ConstraintTable
    ) -> None:
        self._expression = expression
        self._tables = publications, subscriptions
        numbers = {path: number for number, path in enumerate(publications.space.attributes)}
        self._terms: dict[str, tuple[Kind, Places, Places]] = {}
        for node in expression.attributes():
            number = numbers.get(node.path)
            if number is not None and node.path not in self._terms:
                type_ = publications.space.columns[number].type
                expression.check_type(node, type_)
                found = type_.kind, term_of(publications, number), term_of(subscriptions, number)
                self._terms[node.path] = found

    def of(self, mine: Places, theirs: Places, overlap: Floats | None) -> Floats:
        """The least value (if descending, the greatest); `overlap` is only needed if the expression uses it."""
        with np.errstate(all="ignore"):
            found = self._value(self._expression.root, mine, theirs, overlap)
        return found.high if self._expression.descending else found.low

    def _value(self, node: ast.Operand | ast.Call, mine: Places, theirs: Places, overlap: Floats | None) -> ValueBounds:
        if isinstance(node, ast.Arithmetic):
            left = self._value(node.left, mine, theirs, overlap)
            right = self._value(node.right, mine, theirs, overlap)
            return _OPERATIONS[node.op](left, right)
        if isinstance(node, ast.Literal):
            number = np.full(len(mine), _number(node.value))
            return _composed(number, number)
        if isinstance(node, ast.Call):
            (argument,) = node.arguments
            found = self._value(argument, mine, theirs, overlap)
            end = found.low if node.name == "low" else found.high
            return _composed(end, end)
        if overlap is not None and self._expression.is_overlap(node):
            return _composed(overlap, overlap)
        if isinstance(node, ast.Attribute):
            return self._attribute(node.path, mine, theirs)
        raise TypeError(f"not to be reckoned with: {node}")

    def _attribute(self, path: str, mine: Places, theirs: Places) -> ValueBounds:
        """The values that both allow, or those of the only one that tests it; NaN if there are none, or no numbers."""
        if path not in self._terms:
            return ValueBounds(*np.full((4, len(mine)), np.nan))
        kind, of_mine, of_theirs = self._terms[path]
        one, other = (spans_of(table) for table in self._tables)
        my_term, their_term = of_mine[mine], of_theirs[theirs]
        found = ValueBounds(*np.full((4, len(mine)), np.nan))
        both = np.flatnonzero((my_term >= 0) & (their_term >= 0))
        _fill(found, kind, both, common(one, other, my_term[both], their_term[both]))
        for spans, term, without in ((one, my_term, their_term), (other, their_term, my_term)):
            alone = np.flatnonzero((term >= 0) & (without < 0))
            _fill(found, kind, alone, own(spans, term[alone]))
        return found


# ---------------------------------------------------------------- from keys to numbers


def _fill(found: ValueBounds, kind: Kind, rows: Places, pieces: Pieces) -> None:
    """Write the ends of pieces, and those next to 0, into their rows."""
    low, last = tidied(kind, pieces.low, pieces.last)
    row = rows[pieces.row]
    first, final = _firsts(row), _finals(row)
    above, below = (1, -2) if kind is Kind.FLOAT else (1, -1)  # keys next to that of 0
    single = low == last
    found.low[row[first]] = _numbers(kind, low, single)[first]
    found.high[row[final]] = _numbers(kind, last, single)[final]
    positive, negative = np.flatnonzero(last > 0), np.flatnonzero(low < 0)
    positive, negative = positive[_firsts(row[positive])], negative[_finals(row[negative])]
    found.above[row[positive]] = _numbers(kind, np.maximum(low, above), single)[positive]
    found.below[row[negative]] = _numbers(kind, np.minimum(last, below), single)[negative]


def _firsts(rows: Places) -> Places:
    """Where each row first occurs."""
    return np.flatnonzero(np.diff(rows, prepend=-1))


def _finals(rows: Places) -> Places:
    """Where each row last occurs."""
    return np.flatnonzero(np.diff(rows, append=-1))


def _numbers(kind: Kind, keys: KeyArray, single: NDArray[np.bool_]) -> Floats:
    """Numbers, or seconds since 1970; infinite for the key of an unbounded end."""
    if kind is Kind.FLOAT:
        return floats(keys)
    numbers = keys.astype(np.float64)
    if kind is Kind.TIMESTAMP:
        numbers = numbers / _MICROSECONDS
    elif kind is Kind.DATE:
        numbers = numbers * _DAY
    numbers[(keys == INT_MIN) & ~single] = -np.inf
    numbers[(keys == INT_MAX) & ~single] = np.inf
    return numbers


def _number(value: ast.Constant) -> float:
    if isinstance(value, dt.datetime):
        return timestamp_key(value) / _MICROSECONDS
    if isinstance(value, dt.date):
        return date_key(value) * _DAY
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"not a number: {value!r}")


# ---------------------------------------------------------------- arithmetic


def _composed(low: Floats, high: Floats) -> ValueBounds:
    """Bounds of a value that can be anything between them."""
    above = np.where(high > 0, np.where(low > 0, low, 0.0), np.nan)
    below = np.where(low < 0, np.where(high < 0, high, -0.0), np.nan)
    return ValueBounds(low, high, below, above)


def _sum(left: ValueBounds, right: ValueBounds) -> ValueBounds:
    return _composed(left.low + right.low, left.high + right.high)


def _difference(left: ValueBounds, right: ValueBounds) -> ValueBounds:
    return _composed(left.low - right.high, left.high - right.low)


def _product(left: ValueBounds, right: ValueBounds) -> ValueBounds:
    ends = [_times(one, other) for one in (left.low, left.high) for other in (right.low, right.high)]
    return _composed(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _times(one: Floats, other: Floats) -> Floats:
    """0 times an unbounded end is 0: that end is never reached."""
    found: Floats = one * other
    zero = ((one == 0) | (other == 0)) & ~np.isnan(one) & ~np.isnan(other)
    found[zero] = 0.0
    return found


def _quotient(left: ValueBounds, right: ValueBounds) -> ValueBounds:
    divisors = (right.low, right.below), (right.above, right.high)
    ends: list[Floats] = []
    for (first, last), there in zip(divisors, (~np.isnan(right.below), ~np.isnan(right.above)), strict=True):
        ends += [np.where(there, one / other, np.nan) for one in (left.low, left.high) for other in (first, last)]
    # 0 / 0 and inf / inf are no ends: the others are beyond what comes near to them.
    low, high = np.fmin.reduce(ends), np.fmax.reduce(ends)
    nothing = np.isnan(left.low) | np.isnan(right.low)
    return _composed(np.where(nothing, np.nan, low), np.where(nothing, np.nan, high))


_OPERATIONS: Mapping[str, Callable[[ValueBounds, ValueBounds], ValueBounds]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
}
