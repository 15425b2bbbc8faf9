"""ANDs and ORs of tests on their way to a normal form: how large they would become, and flat."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vedette.language.asked import merged_tests
from vedette.language.normalform import Conjunction, Probe
from vedette.language.valuesets import PRESENT, ValueSet, intersection
from vedette.schema.columns import Column

Values: TypeAlias = ValueSet[Any]


@dataclass(slots=True)
class All:
    """An AND: at most one set per column, probes, and ORs. Not changed once it is made."""

    values: dict[Column, Values] = field(default_factory=dict)
    probes: list[tuple[Column, Probe]] = field(default_factory=list)
    anys: list[list[All]] = field(default_factory=list)


# An OR is a list of alternatives; without any it is never true.
Form: TypeAlias = All | list[All]


def size(form: Form) -> tuple[int, int]:
    """How many conjunctions there will be at most, and how many tests they have together."""
    if isinstance(form, list):
        sizes = [size(each) for each in form]
        return sum(count for count, _ in sizes), sum(tests for _, tests in sizes)
    count, tests = 1, len(form.values) + len(form.probes)
    for each in form.anys:
        more, their_tests = size(each)
        count, tests = count * more, tests * more + their_tests * count
    return count, tests


def distributed(form: Form) -> list[Conjunction]:
    """ANDs distributed over ORs, without conjunctions that cannot be true."""
    flat = [each for alternative in (form if isinstance(form, list) else [form]) for each in _flat(alternative)]
    return [made for each in flat if (made := tidied(each)) is not None]


def _flat(form: All) -> list[All]:
    """Its conjunctions, each without ORs."""
    made = [form]
    for alternatives in form.anys:
        flat = [each for alternative in alternatives for each in _flat(alternative)]
        made = [joined for one in made for other in flat if (joined := _joined(one, other)) is not None]
    return made


def _joined(one: All, other: All) -> All | None:
    values = dict(one.values)
    for column, more in other.values.items():
        before = values.get(column)
        if before is not None:
            more = intersection(before, more)
            if more.is_empty:
                return None
        values[column] = more
    return All(values, one.probes + other.probes)


def tidied(form: All) -> Conjunction | None:
    """An AND without ORs in a fixed order, without what says nothing; None if it cannot be true."""
    values: dict[Column, Values] = form.values
    probes: Sequence[tuple[Column, Probe]] = form.probes
    if probes:
        found = _tidied_probes(probes)
        if found is None:
            return None
        probes = found
        values = dict(values)
        for column, _ in probes:
            present = values.get(column)
            if present is None:
                continue
            # A probe is of a value, so null is out of question.
            present = intersection(present, PRESENT) if present.null else present
            if present.is_empty:
                return None
            values[column] = present
            if present.is_all_values:
                del values[column]
    ordered = sorted(values.items(), key=_by_column) if len(values) > 1 else values.items()
    return Conjunction(tuple(ordered), tuple(probes))


def _by_column(entry: tuple[Column, Any]) -> tuple[str, str, str]:
    column = entry[0]
    return column.path, column.other or "", str(column.type)


def _tidied_probes(probes: Sequence[tuple[Column, Probe]]) -> list[tuple[Column, Probe]] | None:
    if len(probes) == 1:
        return list(probes)
    refused: dict[Column, frozenset[Any]] = {}
    for column, probe in probes:
        if not probe.positive:
            refused[column] = refused.get(column, frozenset()) | probe.tests
    made: dict[tuple[Column, Probe], None] = {}
    for entry in probes:
        column, probe = entry
        if not probe.positive:
            continue
        if column in refused:
            # A test that must fail cannot be the one that holds.
            tests = probe.tests - refused[column]
            if not tests:
                return None
            entry = (column, Probe(tests))
        made[entry] = None
    for column, tests in refused.items():
        made[column, Probe(merged_tests(tests), positive=False)] = None
    return sorted(made, key=_by_probe)


@functools.lru_cache(maxsize=4096)  # a conjunction that is distributed over ORs comes back many times
def _by_probe(entry: tuple[Column, Probe]) -> tuple[Any, ...]:
    return *_by_column(entry), entry[1].positive, sorted(map(repr, entry[1].tests))
