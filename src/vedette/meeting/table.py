"""Many constraints of one side as arrays: disjuncts, their terms, and the spans of values that these allow.

Numbers, times and truth values are spans of keys. Texts and addresses are spans of slots: the bounds that the listed
side has cut the line of all texts into slots, none of which is empty. Whatever the other side allows touches some of
them, and it overlaps what the listed side allows just where the two have a slot in common. So texts need no numbers
of their own, and a probe needs no new slots.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import FilterError
from vedette.kernels.meet_rows import ALL, ANY, EMPTY_BIT, NULL_BIT, PLACE, SET, SEVERAL_BIT, SORT_SHIFT, Terms
from vedette.language.valuesets import ValueSet
from vedette.meeting.allowed import Allowed, Elements, Place, Values
from vedette.meeting.reading import Constraint, Term
from vedette.schema.columns import Column
from vedette.schema.keys import INT_MAX, INT_MIN

# Attribute -> the bounds of texts or addresses that its slots begin with, ascending.
Slots: TypeAlias = Mapping[int, Sequence[bytes]]
_READ_AS = ["string", "ip", "timestamp"]  # what a text may be read as
_SORTS = {"any": ANY, "all": ALL}


class Space:
    """The attributes that any constraint has spoken of, numbered as they came, each of one type."""

    def __init__(self) -> None:
        self.attributes: list[str] = []
        self.columns: list[Column] = []
        self._numbers: dict[Column, int] = {}
        self._paths: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.attributes)

    def number(self, column: Column) -> int:
        """The number of an attribute, a new one where it has none; FilterError if it has another type by now."""
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
        """FilterError if an attribute has another type here than elsewhere, or than those `beside`, which it joins."""
        found: dict[str, Column] = {}
        for term in _terms((constraint,)):
            path, known = term.attribute, self._paths.get(term.attribute)
            before = beside.get(path) or (None if known is None else self.columns[known])
            if before is not None and before.other is None:
                _check_type(term.column, before)
            elif term.column.other is None:
                found[path] = term.column
        beside |= found

    def slots(self, constraints: Iterable[Constraint]) -> Slots:
        """The bounds of all texts and addresses that these constraints speak of."""
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
class Table:
    """Constraints and the arrays that say the same: `owner` is the constraint of each disjunct."""

    constraints: Sequence[Constraint]
    space: Space
    slots: Slots
    owner: NDArray[np.int32]
    term_start: NDArray[np.int64]
    attribute: NDArray[np.int32]
    sort: NDArray[np.uint8]  # SET, ANY, ALL, PLACE
    null: NDArray[np.bool_]
    span_start: NDArray[np.int64]
    low: NDArray[np.int64]
    last: NDArray[np.int64]
    place: NDArray[np.int32]  # -1, or which of `places`
    places: Sequence[Place]

    @classmethod
    def of(cls, constraints: Sequence[Constraint], space: Space, slots: Slots | None = None) -> Table:
        """The arrays of constraints; with the slots of another table if they are to be held against that one."""
        slots = space.slots(constraints) if slots is None else slots
        owner: list[int] = []
        starts: list[int] = [0]
        attributes: list[int] = []
        sorts: list[int] = []
        nulls: list[bool] = []
        spans: list[int] = [0]
        lows: list[int] = []
        lasts: list[int] = []
        places: list[Place] = []
        place: list[int] = []
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
        )

    def terms(self, levels: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Terms:
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
        return Terms(self.term_start, rows, self.low, self.last, *levels)

    @property
    def disjunct(self) -> NDArray[np.int32]:
        """The disjunct of every term."""
        return np.repeat(np.arange(len(self.owner), dtype=np.int32), np.diff(self.term_start))


def _split(allowed: Allowed) -> tuple[Values | None, int]:
    if isinstance(allowed, ValueSet):
        return allowed, SET
    return (allowed.values, _SORTS[allowed.quantifier]) if isinstance(allowed, Elements) else (None, PLACE)


def _spans(values: Values, bounds: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Closed spans: of keys, or of slots, where the sets of texts of the other side may leave the same slot twice."""
    before = -1
    for one in values.intervals:
        low, high = one.low, one.high
        if isinstance(low, bytes) or isinstance(high, bytes):
            first = 0 if low is None else bisect_right(bounds, low)
            last = len(bounds) if high is None else bisect_left(bounds, high)
            first = max(first, before + 1)
            if first <= last:
                yield first, last
                before = last
        elif bounds:
            yield 0, len(bounds)
        else:
            yield (INT_MIN if low is None else low), (INT_MAX if high is None else high - 1)
