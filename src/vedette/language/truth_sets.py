"""Computes the set of values for which one test is true, or for which it is false.

In three-valued logic the two are not complements: null is mostly in neither, and `x in (1, null)` is never false.
A test whose values are not intervals becomes a probe. A list can be tested in two ways: that some element is in a
set of values, or that every element is; `all(x) > 5` is "no element is outside of `> 5`", so that tests of every
element merge as those of some do.
"""

from __future__ import annotations

from vedette.language.checked_tree import Atom
from vedette.language.normalform import Elementary, ElementProbe, Probe
from vedette.language.value_bounds import Values
from vedette.language.valuesets import NOTHING, NULL, PRESENT, ValueSet, complement, union, union_all


def truth_set(atom: Atom, positive: bool) -> Values | Probe:
    """The values of the atom's column that make it true (`positive`) or false."""
    test = atom.test
    values = test.values(atom.column.type.kind, positive)
    if not isinstance(values, ValueSet):
        whole = values if atom.quantifier is None else ElementProbe(atom.quantifier, values)
        return Probe(frozenset((whole,)), positive)
    if atom.quantifier is None:
        return values
    if test.OTHER_LEAVES is False and not positive and atom.of_leaves:
        values = union(values, NULL)
    return _some(values) if (atom.quantifier == "any") == positive else _every(values)


def _some(values: Values) -> Values | Probe:
    """The test that some element is one of the values."""
    return NOTHING if values.is_empty else Probe(frozenset((ElementProbe("any", values),)))


def _every(values: Values) -> Values | Probe:
    """The test that every element is one of the values."""
    if values.null or values.is_all_values:
        return PRESENT if values.is_everything else Probe(frozenset((ElementProbe("all", values),)))
    return Probe(frozenset((ElementProbe("any", complement(values)),)), positive=False)


def merged_tests(tests: frozenset[Elementary]) -> frozenset[Elementary]:
    """The same alternatives, with the value sets of all `any` tests merged into one."""
    several: list[tuple[Elementary, Values]] = [
        (test, test.test)
        for test in tests
        if isinstance(test, ElementProbe) and test.quantifier == "any" and isinstance(test.test, ValueSet)
    ]
    if len(several) < 2:
        return tests
    values = union_all(values for _, values in several)
    return (tests - {test for test, _ in several}) | {ElementProbe("any", values)}
