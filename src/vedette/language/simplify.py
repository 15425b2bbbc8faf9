"""Simplifies the conjunctions of a normal form by an ordered tuple of rules, without changing its meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from vedette.language.normalform import Conjunction
from vedette.language.valuesets import ValueSet, is_subset, union_all
from vedette.schema.columns import Column

Values: TypeAlias = ValueSet[Any]

_FEW = 128  # conjunctions that are compared with each other
_WORK = 100_000  # sets that are examined, all columns together: more of them would take seconds


def simplified(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """The conjunctions after all rules."""
    for rule in _RULES:
        if len(conjunctions) < 2:
            break
        conjunctions = rule(conjunctions)
    return conjunctions


def not_refused(conjunctions: list[Conjunction], vetoes: list[Conjunction]) -> list[Conjunction]:
    """The conjunctions without those that hold only where a veto does."""
    if len(conjunctions) * len(vetoes) > _FEW * _FEW:
        return conjunctions
    return [one for one in conjunctions if not any(map(_Implications(one).implies, vetoes))]


def _distinct(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Each conjunction once; if one is always true, only that one."""
    if any(not one.values and not one.probes for one in conjunctions):
        return [Conjunction()]
    return list(dict.fromkeys(conjunctions))


def _joined(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Merge conjunctions that differ only in the set of one column: `x = 1 and y = 2 or x = 3 and y = 2`."""
    if len(conjunctions) > _FEW:
        return conjunctions
    columns = dict.fromkeys(column for one in conjunctions for column, _ in one.values)
    if len(columns) * sum(len(one.values) for one in conjunctions) > _WORK:
        return conjunctions
    numbers = _Numbers()  # columns and sets are expensive to compare, and are compared once for every column
    numbered = [numbers.of(one) for one in conjunctions]
    for column in columns:
        without = numbers.of_column(column)
        alike: dict[Any, list[int]] = {}
        for place, entries in enumerate(numbered):
            rest = tuple([entry for entry in entries if entry[0] != without])
            apart = len(rest) == len(entries)
            alike.setdefault((rest, conjunctions[place].probes, apart), []).append(place)
        if len(alike) < len(conjunctions):
            united = [[conjunctions[place] for place in several] for several in alike.values()]
            conjunctions = [several[0] if len(several) == 1 else _united(column, several) for several in united]
            numbered = [numbers.of(one) for one in conjunctions]
    return conjunctions


class _Numbers:
    """Assigns small numbers to columns and to their sets of values."""

    def __init__(self) -> None:
        self._columns: dict[Column, int] = {}
        self._sets: dict[Values, int] = {}

    def of_column(self, column: Column) -> int:
        """The number of a column."""
        return self._columns.setdefault(column, len(self._columns))

    def of(self, one: Conjunction) -> list[tuple[int, int]]:
        """A conjunction as pairs of numbers: column, and set of values."""
        return [
            (self.of_column(column), self._sets.setdefault(values, len(self._sets))) for column, values in one.values
        ]


def _united(column: Column, several: list[Conjunction]) -> Conjunction:
    theirs: list[Values] = [values for one in several for each, values in one.values if each == column]
    values = union_all(theirs)
    entries = tuple((each, values if each == column else same) for each, same in several[0].values)
    if values.is_everything:
        entries = tuple(entry for entry in entries if entry[0] != column)
    return Conjunction(entries, several[0].probes)


def _absorbed(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """The conjunctions without those that imply another one."""
    if len(conjunctions) > _FEW:
        return conjunctions
    kept: list[Conjunction] = []
    for place, one in enumerate(conjunctions):
        others = kept + conjunctions[place + 1 :]
        if not any(map(_Implications(one).implies, others)):
            kept.append(one)
    return kept


class _Implications:
    """The facts that a conjunction implies."""

    def __init__(self, one: Conjunction) -> None:
        self._values: dict[Column, Values] = dict(one.values)
        self._probes = set(one.probes)

    def implies(self, other: Conjunction) -> bool:
        """Whether another conjunction holds wherever this one does."""
        if len(other.values) > len(self._values) or len(other.probes) > len(self._probes):
            return False
        for column, values in other.values:
            found = self._values.get(column)
            if found is None or not is_subset(found, values):
                return False
        return self._probes.issuperset(other.probes)


_RULES: tuple[Callable[[list[Conjunction]], list[Conjunction]], ...] = (_distinct, _joined, _distinct, _absorbed)
