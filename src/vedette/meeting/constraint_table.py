"""Many constraints of one side as arrays: disjuncts, their terms, and the spans of allowed values.

Numbers, times and booleans are spans of keys. Texts and addresses are spans of slots: the bounds in the listed
side cut the line of all texts into slots, none of which is empty. The values of the other side touch some of
them, and they overlap those of the listed side exactly if the two have a slot in common. So texts need no numbers
of their own, and a probe needs no new slots.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import FilterError
from vedette.language.valuesets import ValueSet, has_fractions
from vedette.meeting.allowed_values import AllowedValues, Elements, PlaceTerm, Values, meets
from vedette.meeting.constraint_parser import Constraint, Disjunct, Term
from vedette.meeting.kernels.meet_rows import (
    ALL,
    ANY,
    EMPTY_BIT,
    NULL_BIT,
    PLACE,
    SET,
    SEVERAL_BIT,
    SORT_SHIFT,
    TermRows,
)
from vedette.schema.columns import Column
from vedette.schema.keys import INT_MAX, INT_MIN
from vedette.schema.types import Kind

# Attribute -> the bounds of texts or addresses that its slots begin with, ascending.
AttributeSlots: TypeAlias = Mapping[int, Sequence[bytes]]
_READ_AS = ["string", "ip", "timestamp"]  # what a text may be read as
_SORTS = {"any": ANY, "all": ALL}


class AttributeSpace:
    """The attributes used by any constraint, numbered as they came, each of one type."""

    def __init__(self) -> None:
        self.attributes: list[str] = []
        self.columns: list[Column] = []
        self._numbers: dict[Column, int] = {}
        self._paths: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.attributes)

    def copy(self) -> AttributeSpace:
        """An independent copy."""
        made = AttributeSpace()
        made.attributes, made.columns = list(self.attributes), list(self.columns)
        made._numbers, made._paths = dict(self._numbers), dict(self._paths)
        return made

    def number(self, column: Column) -> int:
        """The number of an attribute, which is added if it is new; FilterError if it has another type already."""
        found = self._numbers.get(column)
        if found is None:
            found = self._added(column)
            self._numbers[column] = found
        return found

    def _added(self, column: Column) -> int:
        known = self._paths.get(column.path)
        if known is None:
            self._paths[column.path] = len(self.attributes)
            self.attributes.append(column.path)
            self.columns.append(column)
            return len(self.attributes) - 1
        if self.columns[known].other is not None:  # of which only the presence was asked so far
            self.columns[known] = column
        else:
            _check_type(column, self.columns[known])
        return known

    def check(self, constraint: Constraint, beside: dict[str, Column]) -> None:
        """FilterError if an attribute has another type already, or in the constraints `beside` added with it."""
        found: dict[str, Column] = {}
        for term in _terms((constraint,)):
            path, known = term.attribute, self._paths.get(term.attribute)
            before = beside.get(path) or (None if known is None else self.columns[known])
            if before is not None and before.other is None:
                _check_type(term.column, before)
            elif term.column.other is None:
                found[path] = term.column
        beside |= found

    def take(self, constraint: Constraint) -> None:
        """Number a constraint's attributes; FilterError, changing nothing, if one has another type already."""
        found: dict[str, Column] = {}
        self.check(constraint, found)
        for column in found.values():
            self.number(column)

    def slots(self, constraints: Iterable[Constraint]) -> AttributeSlots:
        """The bounds of all texts and addresses in these constraints."""
        bounds: dict[int, set[bytes]] = {}
        for term in _terms(constraints):
            if not term.column.type.kind.textual:
                continue
            values = term.allowed.values if isinstance(term.allowed, Elements) else term.allowed
            if isinstance(values, ValueSet):
                known = bounds.setdefault(self.number(term.column), set())
                known.update(end for one in values.intervals for end in (one.low, one.high) if end is not None)
        return {attribute: sorted(found) for attribute, found in bounds.items()}


def _check_type(column: Column, before: Column) -> None:
    if column.other is None and column.type != before.type:
        raise FilterError(
            f"{column.path} is {column.type} here and {before.type} in another constraint",
            hint=f"let the schema say `{column.path}: {max(str(column.type), str(before.type), key=_READ_AS.index)}`"
            if {str(column.type), str(before.type)} <= set(_READ_AS)
            else f"say which it is: a schema with {column.path}",
        )


def _terms(constraints: Iterable[Constraint]) -> Iterator[Term]:
    for constraint in constraints:
        for disjunct in constraint.disjuncts:
            yield from disjunct.terms


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    """Constraints and their arrays: `owner` is the constraint of each disjunct."""

    constraints: Sequence[Constraint]
    space: AttributeSpace
    slots: AttributeSlots
    owner: NDArray[np.int32]
    term_start: NDArray[np.int64]
    attribute: NDArray[np.int32]
    sort: NDArray[np.uint8]  # SET, ANY, ALL, PLACE
    null: NDArray[np.bool_]
    span_start: NDArray[np.int64]
    low: NDArray[np.int64]
    last: NDArray[np.int64]
    place: NDArray[np.int32]  # -1, or which of `places`
    places: Sequence[PlaceTerm]
    between: frozenset[int] = frozenset()  # disjuncts with a bound between two floats: their spans are a little wider

    @classmethod
    def of(
        cls, constraints: Sequence[Constraint], space: AttributeSpace, slots: AttributeSlots | None = None
    ) -> ConstraintTable:
        """Build the arrays of constraints; with the slots of another table if they are to be compared with that one."""
        slots = space.slots(constraints) if slots is None else slots
        owner: list[int] = []
        starts: list[int] = [0]
        attributes: list[int] = []
        sorts: list[int] = []
        nulls: list[bool] = []
        spans: list[int] = [0]
        lows: list[int] = []
        lasts: list[int] = []
        places: list[PlaceTerm] = []
        place: list[int] = []
        between: list[int] = []
        number = space.number
        for ordinal, constraint in enumerate(constraints):
            for disjunct in constraint.disjuncts:
                owner.append(ordinal)
                for term in disjunct.terms:
                    attribute, allowed = number(term.column), term.allowed
                    attributes.append(attribute)
                    values, sort = _split(allowed)
                    sorts.append(sort)
                    if values is None:
                        place.append(len(places))
                        places.append(allowed)  # type: ignore[arg-type]
                        nulls.append(False)
                    else:
                        place.append(-1)
                        nulls.append(values.null)
                        for low, last in _spans(values, slots.get(attribute, ())):
                            lows.append(low)
                            lasts.append(last)
                        if term.column.type.kind is Kind.FLOAT and has_fractions(values):
                            between.append(len(owner) - 1)
                    spans.append(len(lows))
                starts.append(len(attributes))
        return cls(
            constraints,
            space,
            slots,
            np.array(owner, np.int32),
            np.array(starts, np.int64),
            np.array(attributes, np.int32),
            np.array(sorts, np.uint8),
            np.array(nulls, np.bool_),
            np.array(spans, np.int64),
            np.array(lows, np.int64),
            np.array(lasts, np.int64),
            np.array(place, np.int32),
            places,
            frozenset(between),
        )

    def terms(self, levels: tuple[NDArray[np.int64], NDArray[np.int64]]) -> TermRows:
        """The rows that kernels read, with the lowest and the highest level of each."""
        count = len(self.attribute)
        rows = np.zeros((count + 1, 4), np.int64)
        sizes = np.diff(self.span_start)
        rows[:count, 0] = self.attribute.astype(np.int64)
        rows[:count, 0] |= self.sort.astype(np.int64) << SORT_SHIFT
        rows[:count, 0] |= np.where(self.null, NULL_BIT, 0)
        rows[:count, 0] |= np.where(sizes > 1, SEVERAL_BIT, 0)
        rows[:count, 0] |= np.where(sizes == 0, EMPTY_BIT, 0)
        some = sizes > 0
        rows[:count, 1][some] = self.low[self.span_start[:-1][some]]
        rows[:count, 2][some] = self.last[self.span_start[1:][some] - 1]
        rows[:, 3] = self.span_start
        return TermRows(self.term_start, rows, self.low, self.last, *levels)

    def said(self, disjunct: int) -> Disjunct:
        """A disjunct as it was parsed."""
        owner = self.owner[disjunct]
        return self.constraints[int(owner)].disjuncts[disjunct - int(np.searchsorted(self.owner, owner))]

    @property
    def disjunct(self) -> NDArray[np.int32]:
        """The disjunct of every term."""
        return np.repeat(np.arange(len(self.owner), dtype=np.int32), np.diff(self.term_start))


def meet_between(one: ConstraintTable, mine: int, other: ConstraintTable, theirs: int) -> bool:
    """Whether two disjuncts whose spans meet also do if both have bounds between two floats."""
    if mine not in one.between or theirs not in other.between:
        return True
    allowed = {term.attribute: term.allowed for term in one.said(mine).terms}
    return all(
        meets(allowed[term.attribute], term.allowed)
        for term in other.said(theirs).terms
        if term.attribute in allowed and term.column.type.kind is Kind.FLOAT
    )


def _split(allowed: AllowedValues) -> tuple[Values | None, int]:
    if isinstance(allowed, ValueSet):
        return allowed, SET
    return (allowed.values, _SORTS[allowed.quantifier]) if isinstance(allowed, Elements) else (None, PLACE)


def _spans(values: Values, bounds: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Closed spans: of keys, or of slots, where sets of texts of the other side may reach the same slot twice.

    A bound between two floats is replaced by the key that widens the span (see `ConstraintTable.between`).
    """
    before: int | None = None
    for one in values.intervals:
        low, high = one.low, one.high
        if isinstance(low, bytes) or isinstance(high, bytes):
            first = 0 if low is None else bisect_right(bounds, low)
            last = len(bounds) if high is None else bisect_left(bounds, high)
        elif bounds:
            first, last = 0, len(bounds)
        else:
            first = INT_MIN if low is None else math.floor(low)
            last = INT_MAX if high is None else math.ceil(high) - 1
        if before is not None and first <= before:
            first = before + 1
        if first <= last:
            yield first, last
            before = last
