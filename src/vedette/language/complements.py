"""Complements of ANDs and ORs of tests: where they do not hold, i.e. are false or unknown.

A form says where a filter is true, so its complement is that of a set. Not every test of a list's elements has one:
"none is true although some are unknown" can be expressed only for sets of values, which may include null, or if no
element is ever null.
"""

from __future__ import annotations

from collections.abc import Iterable

from vedette.language.forms import AndForm, Form, Values, disjoined
from vedette.language.normalform import Elementary, ElementProbe, Probe
from vedette.language.valuesets import NULL, PRESENT, ValueSet, complement, intersection, is_subset, union
from vedette.schema.columns import Column
from vedette.schema.readings import TYPES

_ROUNDS = 16  # of shortening ORs by the facts that others imply


def complement_of(form: Form) -> Form | None:
    """The complement of a form; None if it cannot be expressed."""
    if isinstance(form, list):
        parts = [complement_of(each) for each in form]
        return None if None in parts else conjoined(part for part in parts if part is not None)
    made: list[Form] = []
    for column, values in form.values.items():
        outside = _outside(values)
        if not outside.is_empty:
            made.append(AndForm({column: outside}))
    for column, probe in form.probes:
        found = _without(column, probe)
        if found is None:
            return None
        made.append(found)
    for alternatives in form.anys:
        none = complement_of(alternatives)
        if none is None:
            return None
        made.append(none)
    return disjoined(made)


def _outside(values: Values) -> Values:
    """The complement of a set; it includes null if the set does not."""
    return ValueSet(complement(values).intervals, not values.null)


def _without(column: Column, probe: Probe) -> list[AndForm] | None:
    """The complement of a probe, as alternatives; None if it cannot be expressed."""
    if not column.type.is_list or _has_no_null_elements(column):
        return [AndForm({column: NULL}), AndForm({}, [(column, Probe(probe.tests, not probe.positive))])]
    if probe.positive:
        none = [_untrue(test) for test in probe.tests]
        told = [(column, each) for each in none if each is not None]
        return [AndForm({column: NULL}), AndForm({}, told)] if len(told) == len(none) else None
    some = [_unfalse(test) for test in probe.tests]
    alternatives = [AndForm({}, [(column, each)]) for each in some if each is not None]
    return [AndForm({column: NULL}), *alternatives] if len(alternatives) == len(some) else None


def _has_no_null_elements(column: Column) -> bool:
    """Whether a list column has no null elements: only views that convert leaves to another type have none."""
    return column.reading is not None and TYPES.get(column.reading) == column.type


def _untrue(test: Elementary) -> Probe | None:
    """The probe for: the test of a list's elements is false or unknown, and the list is present."""
    if not isinstance(test, ElementProbe) or not isinstance(test.test, ValueSet):
        return None
    outside = _outside(test.test)
    if test.quantifier == "all":
        return Probe(frozenset((ElementProbe("any", outside),)))
    if outside.null:
        return Probe(frozenset((ElementProbe("all", outside),)))
    return Probe(frozenset((ElementProbe("any", complement(outside)),)), positive=False)


def _unfalse(test: Elementary) -> Probe | None:
    """The probe for: the test of a list's elements is true or unknown."""
    if not isinstance(test, ElementProbe) or not isinstance(test.test, ValueSet):
        return None
    return Probe(frozenset((ElementProbe(test.quantifier, union(test.test, NULL)),)))


# ---------------------------------------------------------------- both this and that


def conjoined(forms: Iterable[Form]) -> Form:
    """The AND of forms."""
    made = AndForm()
    for form in forms:
        if isinstance(form, list):
            if not form:
                return []
            if len(form) > 1:
                made.anys.append(form)
                continue
            (form,) = form
        for column, values in form.values.items():
            before = made.values.get(column)
            made.values[column] = values if before is None else intersection(before, values)
            if made.values[column].is_empty:
                return []
        made.probes.extend(form.probes)
        made.anys.extend(form.anys)
    return made


def reduced(form: Form) -> Form:
    """An AND without the alternatives that the rest of it excludes, and without the ORs that it implies."""
    for _ in range(_ROUNDS):
        if isinstance(form, list) or not form.anys:
            break
        known = _ConjunctionFacts(form)
        rest = [
            [each for each in alternatives if not known.excludes(each)]
            for alternatives in form.anys
            if not any(map(known.implies, alternatives))
        ]
        if not all(rest):
            return []
        form = conjoined([AndForm(form.values, form.probes), *rest])
        if isinstance(form, AndForm) and all(len(alternatives) > 1 for alternatives in rest):
            break
    return form


class _ConjunctionFacts:
    """The facts that an AND implies beside its ORs."""

    def __init__(self, form: AndForm) -> None:
        self._values = dict(form.values)
        self._probes = set(form.probes)
        for column, _ in form.probes:
            self._values[column] = intersection(self._values.get(column, PRESENT), PRESENT)

    def excludes(self, form: AndForm) -> bool:
        """Whether a form cannot hold together with these facts."""
        for column, values in form.values.items():
            known = self._values.get(column)
            if known is not None and intersection(known, values).is_empty:
                return True
        return any(not self._values.get(column, PRESENT).intervals for column, _ in form.probes)

    def implies(self, form: AndForm) -> bool:
        """Whether these facts imply a form."""
        return (
            not form.anys
            and self._probes.issuperset(form.probes)
            and all(
                column in self._values and is_subset(self._values[column], values)
                for column, values in form.values.items()
            )
        )
