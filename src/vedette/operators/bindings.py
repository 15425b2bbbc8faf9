"""Joins of the bindings of several operators into substitutions.

Each operator gives rows of values. A pattern describes an operator's output positions and turns its rows into rows of
variables; a join finds values on which all predicates and value constraints of an alternative agree.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.errors import FilterError
from vedette.language.ast import Comparator, Comparison, Operand, Variable
from vedette.language.render import render
from vedette.language.variables import inside
from vedette.operators.values import key
from vedette.operators.variable_constraints import Value, VariableConstraint, constraint

Row: TypeAlias = tuple[Any, ...]

LIMIT: Final = 100_000


class TooManyBindings(Exception):
    """A join that would visit too many rows."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the bindings of its operators combine in more than {limit:,} ways")


# ---------------------------------------------------------------- one operator


class OutputPattern:
    """The output positions of a call: variables, and values that an output has to equal."""

    def __init__(self, outputs: Sequence[Operand], text: str = "") -> None:
        self.outputs = tuple(outputs)
        places: dict[str, list[int]] = {}
        for place, operand in enumerate(self.outputs):
            if isinstance(operand, Variable):
                places.setdefault(operand.name, []).append(place)
        self.names = tuple(places)
        self._places = tuple(each[0] for each in places.values())
        self._repeated = [(each[0], again) for each in places.values() for again in each[1:]]
        self._tests = [
            (f"#{place}", place, _equals(f"#{place}", operand, self.names, text))
            for place, operand in enumerate(self.outputs)
            if not isinstance(operand, Variable)
        ]
        self.paths = frozenset(path for *_, test in self._tests for path in test.paths)
        self._as_they_are = self._places == tuple(range(len(self.outputs)))

    def select(self, rows: Iterable[Row], value: Value) -> list[Row]:
        """The rows of the variables' values, in order of first occurrence; each combination once."""
        chosen: dict[Hashable, Row] = {}
        for row in rows:
            if self._as_they_are or self._fits(row, value):
                made = row if self._as_they_are else tuple([row[place] for place in self._places])
                chosen.setdefault(_distinct(made), made)
        return list(chosen.values())

    def _fits(self, row: Row, value: Value) -> bool:
        for first, again in self._repeated:
            one = key(row[first])
            if one is None or one != key(row[again]):
                return False
        if not self._tests:
            return True
        bindings = dict(zip(self.names, [row[place] for place in self._places], strict=True))
        for name, place, test in self._tests:
            bindings[name] = row[place]
            if test.holds(bindings, value) is not True:
                return False
        return True


def _equals(name: str, operand: Operand, names: Sequence[str], text: str) -> VariableConstraint:
    """The constraint that an output equals the operand at its position."""
    for each in inside(operand):
        if isinstance(each, Variable) and each.name not in names:
            hint = f"let the operator bind a variable of its own, and compare: ?other = {render(operand)}"
            span = each.span
            raise FilterError(f"nothing binds ?{each.name} here", text=text, start=span.start, end=span.end, hint=hint)
    return constraint(Comparison(Variable(name), Comparator.EQ, operand), True, text)


def _distinct(row: Row) -> Hashable:
    """A key that is equal for rows of equal values only; nulls are equal."""
    if len(row) == 1 and type(row[0]) is str:
        return row[0]
    # What cannot be hashed is like itself only.
    return tuple([("row", id(each)) if (made := key(each)) is None and each is not None else made for each in row])


# ---------------------------------------------------------------- several


class BindingTable(NamedTuple):
    """The contribution of one predicate: rows of values for its variables; a negative one excludes them."""

    names: tuple[str, ...]
    rows: Sequence[Row]
    positive: bool = True


def joined(
    parts: Sequence[BindingTable], constraints: Iterable[VariableConstraint], value: Value, limit: int = LIMIT
) -> Iterator[dict[str, Any]]:
    """All substitutions, in the order of the rows of the first part, then of the second, …"""
    join = Join([(part.names, part.positive) for part in parts], constraints)
    return join.substitutions([part.rows for part in parts], value, limit)


@dataclass
class _JoinStep:
    """One positive part, and what can be decided once its variables are bound."""

    part: int
    names: tuple[str, ...] = ()  # of the part
    shared: tuple[int, ...] = ()  # which of them were bound before
    fresh: tuple[tuple[str, int], ...] = ()
    constraints: list[VariableConstraint] = field(default_factory=list)
    forbidden: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)  # negative parts and their variables

    def bind(self, bound: Collection[str]) -> None:
        """Tell its variables apart: those that were bound before, and the others."""
        self.shared = tuple(place for place, name in enumerate(self.names) if name in bound)
        self.fresh = tuple((name, place) for place, name in enumerate(self.names) if name not in bound)


class Join:
    """A join planned once and run for many events: which variables are shared, and what is decided when."""

    def __init__(
        self, shapes: Sequence[tuple[tuple[str, ...], bool]], constraints: Iterable[VariableConstraint]
    ) -> None:
        waiting = list(constraints)
        negative = [(part, names) for part, (names, positive) in enumerate(shapes) if not positive]
        bound: set[str] = set()
        self._steps = [_JoinStep(-1)]  # what needs no variables
        self._steps += [_JoinStep(part, names) for part, (names, positive) in enumerate(shapes) if positive]
        for step in self._steps:
            step.bind(bound)
            bound.update(step.names)
            step.constraints = [each for each in waiting if each.variables <= bound]
            step.forbidden = [each for each in negative if bound.issuperset(each[1])]
            waiting = [each for each in waiting if not each.variables <= bound]
            negative = [each for each in negative if not bound.issuperset(each[1])]
        unbound = {name for each in waiting for name in each.variables - bound}
        unbound.update(name for _, names in negative for name in names if name not in bound)
        if unbound:
            raise ValueError(f"nothing binds {', '.join('?' + name for name in sorted(unbound))}")

    def substitutions(
        self, rows: Sequence[Sequence[Row]], value: Value, limit: int = LIMIT
    ) -> Iterator[dict[str, Any]]:
        """Search depth first, so that the first substitution is found without computing the others."""
        made = _Tables(rows)
        bindings: dict[str, Any] = {}
        if not _passes(self._steps[0], bindings, made, value):
            return
        steps = self._steps[1:]
        if not steps:
            yield {}
            return
        seen = 0
        stack = [iter(made.candidates(steps[0], bindings))]
        while stack:
            step = steps[len(stack) - 1]
            row = next(stack[-1], None)
            if row is None:
                stack.pop()
                continue
            seen += 1
            if seen > limit:
                raise TooManyBindings(limit)
            for name, place in step.fresh:
                bindings[name] = row[place]
            if not _passes(step, bindings, made, value):
                continue
            if len(stack) == len(steps):
                yield dict(bindings)
            else:
                stack.append(iter(made.candidates(steps[len(stack)], bindings)))


class _Tables:
    """The rows of every part, indexed by the columns that the join compares."""

    def __init__(self, rows: Sequence[Sequence[Row]]) -> None:
        self._rows = rows
        self._tables: dict[int, dict[Hashable, list[Row]]] = {}

    def candidates(self, step: _JoinStep, bindings: dict[str, Any]) -> Sequence[Row]:
        """The rows of a part that agree with the variables bound so far."""
        if not step.shared:
            return self._rows[step.part]
        asked = _joining([bindings[step.names[place]] for place in step.shared])
        return () if asked is None else self._table(step.part, step.shared).get(asked, ())

    def has(self, part: int, values: Sequence[Any]) -> bool:
        """Whether a part has this row."""
        rows = self._rows[part]
        if not values or not rows:
            return len(rows) > 0
        asked = _joining(values)
        return asked is not None and asked in self._table(part, range(len(values)))

    def _table(self, part: int, places: Sequence[int]) -> dict[Hashable, list[Row]]:
        table = self._tables.get(part)
        if table is None:
            table = self._tables[part] = {}
            for row in self._rows[part]:
                found = _joining([row[place] for place in places])
                if found is not None:
                    table.setdefault(found, []).append(row)
        return table


def _joining(values: Sequence[Any]) -> Hashable | None:
    """The key of joined values; None if one of them equals nothing."""
    keys = tuple([key(each) for each in values])
    return None if None in keys else keys


def _passes(step: _JoinStep, bindings: dict[str, Any], made: _Tables, value: Value) -> bool:
    for each in step.constraints:
        if each.holds(bindings, value) is not True:
            return False
    return not any(made.has(part, [bindings[name] for name in names]) for part, names in step.forbidden)
