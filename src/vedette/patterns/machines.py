"""Machines of patterns: their filters numbered, their variables and partitions found.

Numbers of filters, of columns and of partitionings are never reused, so that events which were encoded before a
pattern was added or removed keep their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from vedette.errors import InputError, LimitError, NotSupported
from vedette.filters.subscription_records import PatternRecord
from vedette.language.ast import Composite, Filter, Step
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.patterns.forecast_parts import leaves, part_number, split
from vedette.patterns.graph import OPERATORS, Graph, Machine, NumberedAlternative, NumberedVariableTest, PartitionGroup
from vedette.patterns.shape import Shape
from vedette.patterns.step_alternatives import StepAlternative, alternatives, shared_variable
from vedette.schema.schema import Schema

_MOST_VARIABLES = 60  # they are bits of an integer
_MOST_REGISTERS = 256
_MOST_SYMBOLS = 62
_AGES = 1 << 60  # microseconds: a window that never ends, with which the newest partial match counts, not the oldest

GroupKey = tuple[int, int]  # of a group: the number of its keys, and the one pattern it is for (-1: for all that fit)


@dataclass(slots=True)
class PatternNumbering:
    """The meaning of the numbers in a batch of events: filters, columns, partitionings."""

    primitives: dict[Filter, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)  # paths that variables are compared with
    keys: dict[tuple[str, ...], int] = field(default_factory=dict)  # paths that streams are partitioned by

    @classmethod
    def of(cls, primitives: Iterable[str], columns: Iterable[str], keys: Iterable[Iterable[str]]) -> PatternNumbering:
        """A numbering in which these have the same numbers again."""
        made = cls()
        for text in primitives:
            made.primitives[_filter(text)] = len(made.primitives)
        for path in columns:
            made.columns[path] = len(made.columns)
        for paths in keys:
            made.keys[tuple(paths)] = len(made.keys)
        return made

    def copy(self) -> PatternNumbering:
        """An independent copy."""
        return PatternNumbering(dict(self.primitives), dict(self.columns), dict(self.keys))

    def texts(self) -> list[str]:
        """The texts of the filters."""
        return [render(each) for each in self.primitives]


@dataclass(frozen=True, slots=True)
class MachineDraft:
    """A checked pattern that has no group yet."""

    uid: int
    record: PatternRecord
    composite: Composite
    shape: Shape
    keys: int
    steps: tuple[tuple[NumberedAlternative, ...], ...]
    absent: tuple[tuple[NumberedAlternative, ...], ...]
    variables: tuple[str, ...]
    symbols: tuple[int, ...]  # the filters whose truth its forecast looks at
    parts: tuple[
        MachineDraft, ...
    ] = ()  # that are observed apart, in case the whole has too many states to be forecast

    @property
    def speaks_of_time(self) -> bool:
        """Whether there is a window or a time condition."""
        return self.composite.within is not None or bool(self.shape.conditions)


def draft(record: PatternRecord, uid: int, schema: Schema, numbers: PatternNumbering) -> MachineDraft:
    """Parse and check a pattern; FilterError if it is invalid."""
    composite = parse(record.text)
    if not isinstance(composite, Composite):
        raise InputError(f"subscription {record.id!r} is a filter, not a pattern over several events")
    check(composite, schema, record.text)
    shape = Shape(composite)
    shared = None if composite.by else shared_variable(composite)
    keys = composite.by or (() if shared is None else (shared,))
    dropped = _implied(composite, shape, shared, record.text)
    whole = _drafted(record, uid, composite, shape, keys, dropped, numbers)
    tree = None if record.predict is None else split(composite)
    if tree is None:
        return whole
    within = _AGES if composite.within is None else composite.within
    parts = [Composite(leaf.pattern, keys, within) for leaf in leaves(tree)]
    drafts = (
        _drafted(record, part_number(uid, number), part, Shape(part), keys, dropped, numbers)
        for number, part in enumerate(parts)
    )
    return replace(whole, parts=tuple(drafts))


def _drafted(
    record: PatternRecord,
    uid: int,
    composite: Composite,
    shape: Shape,
    keys: tuple[str, ...],
    dropped: frozenset[str],
    numbers: PatternNumbering,
) -> MachineDraft:
    asked = _StepNumbering(record.text, numbers, dropped)
    steps = tuple(asked(position.step) for position in shape.positions)
    absent = tuple(asked(step) for step in shape.absent)
    if len(asked.variables) > _MOST_VARIABLES:
        raise LimitError(f"a pattern with more than {_MOST_VARIABLES} join variables", text=record.text, start=0, end=1)
    if max(shape.registers, default=0) >= _MOST_REGISTERS:
        raise LimitError(
            f"time conditions speak of more than {_MOST_REGISTERS} steps at once", text=record.text, start=0, end=1
        )
    symbols = dict.fromkeys(each.primitive for step in (*steps, *absent) for each in step)
    if record.predict is not None:
        for text in record.predict.features:
            symbols[numbers.primitives.setdefault(_filter(text), len(numbers.primitives))] = None
        if len(symbols) > _MOST_SYMBOLS:
            raise NotSupported(
                f"subscription {record.id!r} has {len(symbols)} different filters in steps and features, "
                f"and forecasts can tell {_MOST_SYMBOLS} apart\nHint: leave `predict` out, or write a shorter pattern"
            )
    number = numbers.keys.setdefault(keys, len(numbers.keys)) if keys else -1
    return MachineDraft(uid, record, composite, shape, number, steps, absent, tuple(asked.variables), tuple(symbols))


def _filter(text: str) -> Filter:
    expression = parse(text)
    assert not isinstance(expression, Composite)  # features are checked when they are subscribed to
    return expression


def _implied(composite: Composite, shape: Shape, shared: str | None, text: str) -> frozenset[str]:
    """The redundant variables: they are only compared with what is the same in all of a partition."""
    if shared is None:
        return frozenset()
    tests = [
        test
        for step in (*(position.step for position in shape.positions), *shape.absent)
        for way in alternatives(step, text)
        for test in way.tests
    ]
    others = {test.variable for test in tests if not test.binds or test.path != shared}
    return frozenset(test.variable for test in tests if test.variable not in others)


class _StepNumbering:
    """Turns steps into numbers of filters and tests of variables."""

    def __init__(self, text: str, numbers: PatternNumbering, dropped: frozenset[str]) -> None:
        self._text = text
        self._numbers = numbers
        self._dropped = dropped
        self.variables: dict[str, int] = {}

    def __call__(self, step: Step) -> tuple[NumberedAlternative, ...]:
        return tuple(self._asked(way) for way in alternatives(step, self._text))

    def _asked(self, way: StepAlternative) -> NumberedAlternative:
        primitives, columns = self._numbers.primitives, self._numbers.columns
        # Binding tests come first, so that another test of the same step may use the variable.
        tests = sorted(way.tests, key=lambda test: not test.binds)
        return NumberedAlternative(
            primitives.setdefault(way.filter, len(primitives)),
            tuple(
                NumberedVariableTest(
                    self.variables.setdefault(test.variable, len(self.variables)),
                    OPERATORS[test.op],
                    columns.setdefault(test.path, len(columns)),
                    test.binds,
                )
                for test in tests
                if test.variable not in self._dropped
            ),
        )


def graph_of(drafts: Iterable[MachineDraft], numbers: PatternNumbering, *, merge: bool) -> tuple[Graph, list[GroupKey]]:
    """The machines of some patterns as one graph, and the places of its groups."""
    groups: dict[GroupKey, PartitionGroup] = {}
    order: dict[GroupKey, int] = {}
    machines = []
    for each in (one for whole in drafts for one in (whole, *whole.parts)):
        observed = each.record.predict is not None
        place = (each.keys, each.uid if observed or not merge else -1)
        if place not in groups:
            order[place] = len(groups)
            groups[place] = PartitionGroup(each.keys, each.uid if observed else -1, each.symbols if observed else ())
        machines.append(
            Machine(
                each.uid,
                each.shape,
                -1 if each.composite.within is None else each.composite.within,
                order[place],
                each.steps,
                each.absent,
            )
        )
    return Graph(machines, list(groups.values()), len(numbers.primitives)), list(groups)
