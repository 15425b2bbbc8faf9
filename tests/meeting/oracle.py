"""Which constraints meet, by trying values: the slow, obvious way, which knows nothing of sets, keys and intervals.

A text is parsed, its negations are pushed down and its ANDs distributed over its ORs right here. Whether two disjuncts
have a value of an attribute in common is found by trying the values at and beside all constants (`tests.meeting.tried`)
with `vedette.language.evaluate`, which is itself held against DuckDB and Spark SQL. Every value that is tried is a
real one, so that more of them than are needed do no harm, and one of the needed is always there: a set of values that
comparisons with constants make begins at a constant, right behind one, or at the lowest value of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tests.meeting.tried import lists_of, tried
from vedette.language import ast
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse_filter
from vedette.schema.schema import Schema

Pairs: TypeAlias = set[tuple[str, str]]


class Test(NamedTuple):
    """A condition without and, or, not, which has to be true (`wanted`) or false."""

    node: ast.Filter
    wanted: bool

    @property
    def attribute(self) -> str | None:
        """The one attribute that it speaks of; None where it has constants only."""
        return next((one.path for one in _attributes(self.node)), None)


@dataclass(frozen=True)
class Written:
    """A constraint: its tests, by disjunct and attribute."""

    text: str
    disjuncts: tuple[dict[str, tuple[Test, ...]], ...]


def written(text: str, schema: Schema) -> Written:
    """A text as its disjuncts; those that are never true whatever the attributes are left out."""
    found = []
    for tests in _unfolded(parse_filter(text), True):
        by_attribute: dict[str, tuple[Test, ...]] = {}
        if all(_is_so(test, schema) for test in tests if test.attribute is None):
            for test in tests:
                if test.attribute is not None:
                    by_attribute[test.attribute] = (*by_attribute.get(test.attribute, ()), test)
            found.append(by_attribute)
    return Written(text, tuple(found))


def _unfolded(node: ast.Filter, wanted: bool) -> Iterator[tuple[Test, ...]]:
    if isinstance(node, ast.Not):
        yield from _unfolded(node.part, not wanted)
    elif isinstance(node, ast.And | ast.Or):
        parts = [list(_unfolded(part, wanted)) for part in node.parts]
        if isinstance(node, ast.And) is wanted:
            yield from (tuple(itertools.chain(*chosen)) for chosen in itertools.product(*parts))
        else:
            yield from itertools.chain(*parts)
    else:
        yield (Test(node, wanted),)


def _is_so(test: Test, schema: Schema) -> bool:
    return evaluate(check(test.node, schema), {}) is test.wanted


def _attributes(node: ast.Filter) -> Iterator[ast.Attribute]:
    for name in ("left", "right", "operand"):
        operand = getattr(node, name, None)
        if isinstance(operand, ast.QuantifiedAttribute):
            operand = operand.attribute
        if isinstance(operand, ast.Attribute):
            yield operand


class Oracle:
    """Some constraints of both sides; of every attribute the same values are tried with all of them."""

    def __init__(self, schema: Schema, texts: Iterable[str]) -> None:
        self.schema = schema
        self.written = {text: written(text, schema) for text in texts}
        tests: dict[str, dict[Test, None]] = {}
        for one in self.written.values():
            for disjunct in one.disjuncts:
                for attribute, several in disjunct.items():
                    tests.setdefault(attribute, {}).update(dict.fromkeys(several))
        self._passing: dict[Test, int] = {}  # which of the values pass a test, as bits
        for attribute, together in tests.items():
            asked = list(together)
            values = tried(schema[attribute], [test.node for test in asked])
            says = {test: check(test.node, schema) for test in asked}
            if schema[attribute].is_list:
                # Of elements of which all tests say the same, one will do.
                by_verdict = {tuple(evaluate(says[t], {attribute: [e]}) for t in asked): e for e in values}
                values = lists_of(by_verdict.values())
            for test in asked:
                passes = (evaluate(says[test], {attribute: value}) is test.wanted for value in values)
                self._passing[test] = sum(1 << number for number, passed in enumerate(passes) if passed)
        self._disjuncts = {
            text: [{attribute: self._all(tests) for attribute, tests in disjunct.items()} for disjunct in one.disjuncts]
            for text, one in self.written.items()
        }

    def _all(self, tests: Iterable[Test]) -> int:
        passing = -1
        for test in tests:
            passing &= self._passing[test]
        return passing

    def can_be(self, text: str) -> bool:
        """Whether there are disjuncts, and each of them can be true."""
        disjuncts = self._disjuncts[text]
        return bool(disjuncts) and all(all(disjunct.values()) for disjunct in disjuncts)

    def meet(self, publication: str, subscription: str, direction: str) -> bool:
        """Whether some disjuncts of the two meet."""
        return any(
            _meet(one, other, direction)
            for one in self._disjuncts[publication]
            for other in self._disjuncts[subscription]
        )

    def pairs(self, publications: Mapping[str, str], subscriptions: Mapping[str, str], direction: str) -> Pairs:
        """The ids of all that meet."""
        return {
            (one, other)
            for one, publication in publications.items()
            for other, subscription in subscriptions.items()
            if self.meet(publication, subscription, direction)
        }


def _meet(publication: dict[str, int], subscription: dict[str, int], direction: str) -> bool:
    if direction == "publication" and not publication.keys() <= subscription.keys():
        return False
    if direction == "subscription" and not subscription.keys() <= publication.keys():
        return False
    return all(publication[each] & subscription[each] for each in publication.keys() & subscription.keys())


def meet(publication: str, subscription: str, schema: Schema, direction: str = "publication") -> bool:
    """Whether two constraints meet."""
    return Oracle(schema, [publication, subscription]).meet(publication, subscription, direction)
