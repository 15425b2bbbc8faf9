"""Forms: ANDs and ORs of tests before they become a normal form; their size, and distributing them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vedette.language.likes import escaped
from vedette.language.normalform import Conjunction, Probe, TextProbe
from vedette.language.truth_sets import merged_tests
from vedette.language.value_bounds import after_prefix
from vedette.language.valuesets import PRESENT, Interval, ValueSet, intersection, union_all
from vedette.schema.columns import Column
from vedette.schema.types import STRING

Values: TypeAlias = ValueSet[Any]

_FEW = 128  # number of texts from which equalities become tests of a probe


@dataclass(slots=True)
class AndForm:
    """An AND: at most one set per column, probes, and ORs. Never changed after it is made."""

    values: dict[Column, Values] = field(default_factory=dict)
    probes: list[tuple[Column, Probe]] = field(default_factory=list)
    anys: list[list[AndForm]] = field(default_factory=list)


# An OR is a list of alternatives; without any it is never true.
Form: TypeAlias = AndForm | list[AndForm]


def size(form: Form) -> tuple[int, int]:
    """The most conjunctions that a form can become, and the total number of their tests."""
    if isinstance(form, list):
        sizes = [size(each) for each in form]
        return sum(count for count, _ in sizes), sum(tests for _, tests in sizes)
    count, tests = 1, len(form.values) + len(form.probes)
    for each in form.anys:
        more, their_tests = size(each)
        count, tests = count * more, tests * more + their_tests * count
    return count, tests


# ---------------------------------------------------------------- this or that


def disjoined(forms: Iterable[Form]) -> Form:
    """The OR of forms; alternatives over one column become one: sets by union, probes by joining their tests."""
    sets: dict[Column, list[Values]] = {}
    tests: dict[Column, list[Probe]] = {}
    made: list[AndForm] = []
    for form in forms:
        for one in form if isinstance(form, list) else [form]:
            if one.anys or len(one.values) + len(one.probes) > 1:
                made.append(one)
            elif one.values:
                ((column, values),) = one.values.items()
                sets.setdefault(column, []).append(values)
            elif not one.probes:
                return one  # always true
            elif one.probes[0][1].positive:
                tests.setdefault(one.probes[0][0], []).append(one.probes[0][1])
            else:
                made.append(one)
    for column, probes in tests.items():
        if column in sets:
            sets[column] = _texts_to_tests(column, sets[column], probes)
        together = frozenset().union(*(probe.tests for probe in probes)) if len(probes) > 1 else probes[0].tests
        made.append(AndForm({}, [(column, Probe(merged_tests(together)))]))
    for column, several in sets.items():
        if several:
            values = union_all(several)
            if values.is_everything:
                return AndForm()
            made.append(AndForm({column: values}))
    return made[0] if len(made) == 1 else made


def _texts_to_tests(column: Column, sets: list[Values], probes: list[Probe]) -> list[Values]:
    """Move equalities and prefixes from sets to a probe; returns the sets that are something else."""
    if column.type != STRING:
        return sets
    left: list[Values] = []
    for values in sets:
        found = _as_tests(values)
        if found is None:
            left.append(values)
        else:
            probes.append(Probe(found))
    return left


def _as_tests(values: Values) -> frozenset[TextProbe] | None:
    if values.null or len(values.intervals) > _FEW:
        return None
    found: set[TextProbe] = set()
    for interval in values.intervals:
        low, high = interval.low, interval.high
        if low is None or high is None:
            # Only the empty text is below the first one.
            if interval == _EMPTY_TEXT:
                found.add(TextProbe("like", ""))
                continue
            return None
        try:
            text = low.decode()
        except UnicodeDecodeError:
            return None
        if high == low + b"\0":
            found.add(TextProbe("like", escaped(text)))
        elif high == after_prefix(low):
            found.add(TextProbe("startswith", text))
        else:
            return None
    return frozenset(found)


_EMPTY_TEXT: Interval[bytes] = Interval(None, b"\0")

# ---------------------------------------------------------------- flat


def distributed(alternatives: list[AndForm]) -> list[Conjunction]:
    """ANDs distributed over ORs, without conjunctions that cannot be true."""
    flat = [each for alternative in alternatives for each in _flat(alternative)]
    return [made for each in flat if (made := tidied(each)) is not None]


def _flat(form: AndForm) -> list[AndForm]:
    """The conjunctions of a form, each without ORs."""
    made = [form]
    for alternatives in form.anys:
        flat = [each for alternative in alternatives for each in _flat(alternative)]
        made = [joined for one in made for other in flat if (joined := _joined(one, other)) is not None]
    return made


def _joined(one: AndForm, other: AndForm) -> AndForm | None:
    values = dict(one.values)
    for column, more in other.values.items():
        before = values.get(column)
        if before is not None:
            more = intersection(before, more)
            if more.is_empty:
                return None
        values[column] = more
    return AndForm(values, one.probes + other.probes)


def tidied(form: AndForm) -> Conjunction | None:
    """An AND without ORs, in a fixed order and without tests that are always true; None if it cannot be true."""
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
            # A probe requires a value, so null is excluded.
            present = intersection(present, PRESENT) if present.null else present
            if present.is_empty:
                return None
            values[column] = present
            if present.is_all_values:
                del values[column]
    ordered = sorted(values.items(), key=_by_column) if len(values) > 1 else values.items()
    return Conjunction(tuple(ordered), tuple(probes))


def _by_column(entry: tuple[Column, Any]) -> tuple[str, str, str, str]:
    return entry[0].order


def _tidied_probes(probes: Sequence[tuple[Column, Probe]]) -> list[tuple[Column, Probe]] | None:
    if len(probes) == 1:
        return list(probes)
    negative: dict[Column, list[Probe]] = {}
    for column, probe in probes:
        if not probe.positive:
            negative.setdefault(column, []).append(probe)
    refused = {column: frozenset().union(*(each.tests for each in several)) for column, several in negative.items()}
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


@functools.lru_cache(maxsize=4096)  # a conjunction that is distributed over ORs occurs many times
def _by_probe(entry: tuple[Column, Probe]) -> tuple[Any, ...]:
    return *_by_column(entry), entry[1].positive, sorted(map(repr, entry[1].tests))
