"""A test of the language that only this module knows: whatever walks trees takes it without being changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from vedette.dialects.sigma.truth import none
from vedette.filters.explain import explain
from vedette.language.ast import (
    And,
    Attribute,
    Evidence,
    Filter,
    JoinVariable,
    Not,
    Operand,
    QuantifiedAttribute,
    Span,
    Step,
    ValueTest,
    Variable,
    leaves_of,
    parts_of,
    with_operands,
)
from vedette.language.check import check
from vedette.language.checked_tree import Atom, Part
from vedette.language.evaluate import evaluate
from vedette.language.infer import inferred
from vedette.language.join_variables import join_variables
from vedette.language.lint import lint
from vedette.language.normalise import normalise
from vedette.language.render import render
from vedette.language.syntax import span_field
from vedette.language.value_bounds import Values, equal
from vedette.language.valuesets import complement, union_all
from vedette.operators.variable_constraints import constraint
from vedette.schema.schema import Schema
from vedette.schema.types import INT, Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker

SCHEMA = Schema.of({"x": "int", "y": "int", "xs": "list of int"})


@dataclass(frozen=True, slots=True)
class Beside(ValueTest):
    """`x beside 3`: a whole number that is one more or one less."""

    NAME = "neighbour test"
    READ_AS = (Kind.INT,)

    operand: Operand
    number: int
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        return render(self.operand), self.phrase()

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(self.operand, None, Kind.INT)

    def check(self, checker: FilterChecker) -> Part:
        if not isinstance(self.operand, Attribute | QuantifiedAttribute):
            return checker.residual(self, self.operand)
        subject = checker.subject(self.operand)
        return Atom(self, self, subject.elements(Kind.INT), subject.quantifier)

    def holds(self, value: Any) -> bool | None:
        return None if value is None else abs(value - self.number) == 1

    def values(self, kind: Kind, positive: bool) -> Values:
        found = union_all([equal(kind, self.number - 1), equal(kind, self.number + 1)])
        return found if positive else complement(found)

    def phrase(self) -> str:
        return f"beside {self.number}"


def _nothing(path: str) -> None:
    """An event without attributes."""


X, Y, ANY = Attribute("x"), Attribute("y"), QuantifiedAttribute("any", Attribute("xs"))
EVENTS: list[dict[str, Any]] = [
    {},
    *({"x": x, "y": y, "xs": xs} for x in (2, 3, None) for y in (4, 5) for xs in ([], [1, 9], [3, None])),
]


@pytest.mark.parametrize(
    "node",
    [
        Beside(X, 3),
        Not(Beside(X, 3)),
        Beside(ANY, 8),
        Not(Beside(QuantifiedAttribute("all", Attribute("xs")), 8)),
        And((Beside(X, 3), Not(Beside(Y, 5)))),
    ],
    ids=render,
)
def test_meaning(node: Filter) -> None:
    checked = check(node, SCHEMA)
    form = normalise(checked)
    for event in EVENTS:
        wanted = evaluate(checked, event)
        assert explain(checked, event).matched is (wanted is True)
        if all(not conjunction.probes for conjunction in form.conjunctions):
            held = any(
                all(values.contains(event.get(column.path)) for column, values in conjunction.values)
                for conjunction in form.conjunctions
            )
            assert held is (wanted is True)


def test_texts() -> None:
    assert render(Not(Beside(X, 3))) == "x not beside 3"
    assert render(Not(Beside(ANY, 3))) == "not (any(xs) beside 3)"
    assert "x was 7, needed beside 3" in str(explain(check(Beside(X, 3), SCHEMA), {"x": 7}))
    (found,) = lint(check(And((Beside(X, 3), Beside(X, 9))), SCHEMA))
    assert found.message.endswith("x beside 3 and x beside 9 can never both be true")
    assert render(none(Beside(X, 3))) == "x is null or x not beside 3"


def test_types() -> None:
    assert inferred(Beside(X, 3), "") == {"x": INT}
    assert check(Beside(X, 3)).columns() == check(Beside(X, 3), SCHEMA).columns()


def test_walks() -> None:
    whole = And((Not(Beside(X, 3)), Beside(JoinVariable("v"), 4)))
    assert list(leaves_of(whole)) == [Beside(X, 3), Beside(JoinVariable("v"), 4)]
    assert parts_of(Step(whole)) == (whole,)
    assert [each.name for each in join_variables(whole)] == ["v"]
    other = with_operands(whole, lambda operand: Y if isinstance(operand, JoinVariable) else operand)
    assert other == And((Not(Beside(X, 3)), Beside(Y, 4)))


def test_of_variables() -> None:
    found = constraint(Beside(Variable("v"), 3))
    assert found.text == "?v beside 3"
    assert [found.holds({"v": value}, _nothing) for value in (2, 3, "text", None)] == [True, False, None, None]
    again = found.renamed({"v": "w"})
    assert again.variables == {"w"}
    assert again.holds({"w": 4}, _nothing) is True
