"""Names for people in a match of a pattern: the ids of the events in its witness, and the values of join variables.

The engine knows events by their numbers. Their names are kept here as long as a witness may use them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.filters.subscription_records import PatternRecord
from vedette.filters.subscription_view import Events
from vedette.language.ast import Composite
from vedette.language.check import check
from vedette.language.join_variables import variable_tests
from vedette.language.parser import parse
from vedette.patterns.shape import Shape
from vedette.schema.arrays import plain
from vedette.schema.columns import Column
from vedette.schema.paths import finder
from vedette.schema.python_values import python_values
from vedette.schema.schema import Schema

TIME = "time"


_MANY = 1 << 18  # events that are kept before it is worth forgetting some
_HANDFUL = 32  # events that are quicker found one by one
_FEW = 1 << 12  # events that came one by one before it is worth putting them with the others


class _RetainedEvents(NamedTuple):
    """Some events: their numbers, ascending, their ids, and the values of the paths that bind variables."""

    numbers: NDArray[np.int64]
    columns: tuple[NDArray[np.object_], ...]


class _PatternNames(NamedTuple):
    """The names of a pattern's positions, and the variables that each binds, with their paths."""

    names: list[str]
    binders: list[list[tuple[str, str]]]


def _said(text: str) -> _PatternNames:
    shape = Shape(_composite(text))
    binders = [
        [(test.variable, test.path) for test, _ in variable_tests(position.step, text) if test.binds]
        for position in shape.positions
    ]
    return _PatternNames(shape.names, binders)


class WitnessNames:
    """The steps of some patterns, and the events that may be named."""

    def __init__(self, patterns: Mapping[int, PatternRecord]) -> None:
        self._texts: dict[str, _PatternNames] = {}  # of patterns, which are not read twice
        self._paths: dict[str, int] = {}
        self._parts = [_RetainedEvents(np.zeros(0, np.int64), (np.zeros(0, object),))]
        self._alone: dict[int, tuple[Any, ...]] = {}  # those that came one by one, after all others
        self._size = 0
        self._crowded = _MANY
        self.follow(patterns)

    def again(self) -> WitnessNames:
        """The same patterns, not parsed again, and no events yet."""
        made = copy.copy(self)
        made._paths = dict(self._paths)
        made._parts = [
            _RetainedEvents(np.zeros(0, np.int64), tuple(np.zeros(0, object) for _ in range(1 + len(self._paths))))
        ]
        made._alone, made._size, made._crowded = {}, 0, _MANY
        return made

    def copy(self) -> WitnessNames:
        """An independent copy."""
        made = copy.copy(self)
        made._paths, made._parts, made._alone = dict(self._paths), list(self._parts), dict(self._alone)
        return made

    def follow(self, patterns: Mapping[int, PatternRecord]) -> None:
        """Switch to these patterns; names for others stay as long as they may be used."""
        self._texts = {record.text: self._texts.get(record.text) or _said(record.text) for record in patterns.values()}
        self._names = {number: self._texts[record.text].names for number, record in patterns.items()}
        self._binders = {number: self._texts[record.text].binders for number, record in patterns.items()}
        bound = {path for binders in self._binders.values() for each in binders for _, path in each}
        for path in sorted(bound - self._paths.keys()):
            kept = self._kept()
            self._paths[path] = len(self._paths)
            self._parts = [_RetainedEvents(kept.numbers, (*kept.columns, np.full(len(kept.numbers), None, object)))]
        self._finders = [finder(path) for path in self._paths]

    def keep(self, first: int, ids: Sequence[Any], events: Events) -> None:
        """Add events that may be named: they are numbered from `first`, above all before."""
        if len(ids) == 1 and isinstance(events, list):  # arrays would cost more than all else
            self._alone[first] = (ids[0], *(find(events[0]) for find in self._finders))
            self._size += 1
            if len(self._alone) > _FEW:
                self._kept()
            return
        self.keep_numbered(np.arange(first, first + len(ids)), ids, events)

    def keep_numbered(self, numbers: NDArray[np.int64], ids: Sequence[Any], events: Events) -> None:
        """Add events that may be named, with any numbers that are not in use."""
        self._settle()
        values = (_objects(values_at(events, path)) for path in self._paths)
        self._parts.append(_RetainedEvents(numbers, (_objects(ids), *values)))
        self._size += len(ids)

    def take_in(self, other: WitnessNames) -> None:
        """Add the names of another one for the same stream."""
        mine, theirs = self._kept(), other._kept()
        new = ~np.isin(theirs.numbers, mine.numbers, assume_unique=True)
        self._parts.append(_RetainedEvents(theirs.numbers[new], tuple(column[new] for column in theirs.columns)))
        self._size += int(new.sum())

    @property
    def paths(self) -> list[str]:
        """The attributes that bind variables."""
        return list(self._paths)

    @property
    def crowded(self) -> bool:
        """Whether so many events are kept that it is worth finding out which can still be named."""
        return self._size > self._crowded

    def forget(self, but: NDArray[np.int64]) -> None:
        """Keep only these events."""
        kept = self._kept()
        left = np.isin(kept.numbers, but, assume_unique=True)
        self._parts = [_RetainedEvents(kept.numbers[left], tuple(column[left] for column in kept.columns))]
        self._size = len(self._parts[0].numbers)
        self._crowded = max(_MANY, 2 * self._size)

    def id(self, number: int) -> str:
        """The name of an event, as a text."""
        return str(self.called(number))

    def called(self, number: int) -> Any:
        """The name of an event, in its given form."""
        return self._look(number, 0)

    def ids(self, numbers: NDArray[np.int64]) -> NDArray[np.object_]:
        """The names of events, in their given form."""
        if len(numbers) <= _HANDFUL:
            return _objects([self.called(number) for number in numbers.tolist()])
        kept = self._kept()
        return kept.columns[0][np.searchsorted(kept.numbers, numbers)]

    def names(self, pattern: int) -> list[str]:
        """The names of a pattern's positions."""
        return self._names[pattern]

    def joins(self, pattern: int) -> bool:
        """Whether the pattern has join variables."""
        return any(self._binders[pattern])

    def steps(self, pattern: int, witness: Iterable[tuple[int, int]]) -> dict[str, str]:
        """Name of a step -> id of the event that took it."""
        names = self._names[pattern]
        return {names[position]: self.id(number) for position, number in witness}

    def bindings(self, pattern: int, witness: Iterable[tuple[int, int]]) -> dict[str, Any]:
        """Variable -> its value, as it stands in the event that gave it first."""
        found: dict[str, Any] = {}
        for position, number in witness:
            for variable, path in self._binders[pattern][position]:
                if variable not in found:
                    found[variable] = self._look(number, 1 + self._paths[path])
        return found

    def plain(self) -> dict[str, Any]:
        """All names as plain JSON values; values of other types as texts."""
        kept = self._kept()
        columns = [[_sayable(value) for value in column] for column in kept.columns]
        return {"paths": list(self._paths), "numbers": kept.numbers.tolist(), "columns": columns}

    def table(self) -> pa.Table:
        """All names, in columns: those of events (""), values as texts, by path, then the numbers."""
        kept = self._kept()
        texts = [
            pa.array([value if value is None else str(value) for value in column], pa.string())
            for column in kept.columns
        ]
        # The last one has no name, but a place: any name may be that of a path.
        return pa.table([*texts, pa.array(kept.numbers)], names=["", *self._paths, ""])

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Restore what `plain` returned."""
        columns = dict(zip(["", *plain["paths"]], plain["columns"], strict=True))
        nothing = [None] * len(plain["numbers"])
        wanted = ["", *self._paths]
        kept = tuple(_objects(columns.get(path, nothing)) for path in wanted)
        self._alone = {}
        self._parts = [_RetainedEvents(np.array(plain["numbers"], np.int64), kept)]
        self._size = len(plain["numbers"])

    def _look(self, number: int, column: int) -> Any:
        alone = self._alone.get(number)
        if alone is not None:
            return alone[column]
        kept = self._in_one()
        return kept.columns[column][np.searchsorted(kept.numbers, number)]

    def _settle(self) -> None:
        """Merge events that were added one by one with the others."""
        if self._alone:
            columns = (_objects(column) for column in zip(*self._alone.values(), strict=True))
            self._parts.append(_RetainedEvents(np.fromiter(self._alone, np.int64, len(self._alone)), tuple(columns)))
            self._alone = {}

    def _kept(self) -> _RetainedEvents:
        """All names, in one piece."""
        self._settle()
        return self._in_one()

    def _in_one(self) -> _RetainedEvents:
        if len(self._parts) > 1:
            numbers = np.concatenate([part.numbers for part in self._parts])
            columns = [np.concatenate(column) for column in zip(*(part.columns for part in self._parts), strict=True)]
            if (numbers[1:] < numbers[:-1]).any():
                order = np.argsort(numbers)
                numbers, columns = numbers[order], [column[order] for column in columns]
            self._parts = [_RetainedEvents(numbers, tuple(columns))]
        return self._parts[0]


class PatternColumns(NamedTuple):
    """The columns of known types that patterns read of every event, and all attributes."""

    columns: tuple[Column, ...]
    paths: frozenset[str]


def asked_columns(records: Iterable[PatternRecord], schema: Schema) -> PatternColumns:
    """The columns for steps and features, partitions, variables, and the time."""
    columns: set[Column] = set()
    paths = {TIME}
    for record in records:
        composite = _composite(record.text)
        checked = check(composite, schema, record.text)
        columns |= checked.columns()
        paths |= set(composite.by)
        for step in checked.steps:
            paths |= {test.path for test, _ in variable_tests(step.step, record.text)}
        for feature in record.predict.features if record.predict is not None else ():
            columns |= check(parse(feature), schema, feature).columns()
    columns |= {Column(path, type_) for path in paths if (type_ := schema.type_of(path)) is not None}
    paths |= {path for column in columns for path in column.paths}
    return PatternColumns(tuple(sorted(columns, key=str)), frozenset(paths))


def bound_paths(records: Iterable[PatternRecord]) -> frozenset[str]:
    """The attributes that bind the join variables shown in outcomes."""
    telling = WitnessNames(dict(enumerate(records)))
    return frozenset(telling.paths)


def _composite(text: str) -> Composite:
    expression = parse(text)
    assert isinstance(expression, Composite)  # filters and patterns are distinguished by subscriptions
    return expression


def _sayable(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def values_at(events: Events, path: str) -> Sequence[Any]:
    """The value of every event at a path, in the form shown in outcomes."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        if path in events.schema.names:
            return python_values(plain(events.column(path)))
        rows: Iterable[Mapping[str, Any]] = events.to_pylist()
    else:
        rows = events
    find = finder(path)
    return [find(row) for row in rows]
