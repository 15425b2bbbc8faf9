"""Alternatives, patterns and joins, put together by hand, against the oracle: all joint substitutions, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from tests.operators.generate import SCHEMA, Made, Writer, events, for_oracle, operators
from tests.operators.oracle import Found, Oracle
from tests.seeds import some
from vedette.language.ast import Call
from vedette.language.check import check
from vedette.language.evaluate import truth, value_of
from vedette.language.parser import parse
from vedette.operators.bindings import BindingTable, OutputPattern, joined
from vedette.operators.predicate_numbering import Alternative, alternatives
from vedette.operators.values import key
from vedette.operators.variable_constraints import evaluated


class Event:
    """One event, and what the operators find in it."""

    def __init__(self, made: list[Made], event: Mapping[str, Any]) -> None:
        self._made = {each.name: each for each in made}
        self._event = event

    def value(self, path: str) -> Any:
        return value_of(path, None, self._event, SCHEMA)

    def substitutions(self, alternative: Alternative) -> Iterator[dict[str, Any]]:
        if truth(alternative.plain, self._event, SCHEMA) is not True:
            return
        parts = [(self._part(call.node, call.positive)) for call in alternative.calls]
        if None not in parts:
            yield from joined([part for part in parts if part is not None], alternative.constraints, self.value)

    def _part(self, call: Call, positive: bool) -> BindingTable | None:
        operator = self._made[call.name]
        inputs = [evaluated(each, {}, self.value) for each in call.arguments[: operator.inputs]]
        rows = operator.rows(self._event, *inputs)
        if rows is None:
            return None
        pattern = OutputPattern(call.arguments[operator.inputs :])
        return BindingTable(pattern.names, pattern.select(rows, self.value), positive)


def comparable(bindings: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset((name, key(value)) for name, value in bindings.items())


@pytest.mark.parametrize("seed", some(40))
def test_every_joint_substitution_and_no_other(seed: int) -> None:
    random = Random(seed)
    made = operators(random, 6)
    writer, batch = Writer(random, made), events(random, 8)
    for text in [writer.filter() for _ in range(20)]:
        oracle = Oracle(text, for_oracle(made), SCHEMA)
        apart = alternatives(check(parse(text), SCHEMA, text))
        for event in batch:
            found = [each for one in apart for each in Event(made, event).substitutions(one)]
            assert all(oracle.accepts(event, each) for each in found), text
            wanted = [comparable(each) for each in oracle.substitutions(event)]
            shown = [comparable(each) for each in found]
            # One side of an `or` may leave unbound what the oracle, which knows no sides, tries all values of.
            assert all(any(one <= each for one in shown) for each in wanted), text
            assert bool(found) is bool(wanted)


# ---------------------------------------------------------------- the oracle itself, by hand

OPERATORS = {
    "yes": Found(0, lambda event: [()]),
    "no": Found(0, lambda event: []),
    "fails": Found(0, lambda event: None),
    "p": Found(1, lambda event: [(1,), (2,), (3,)]),
    "q": Found(1, lambda event: [(2.0,), (3,)]),
    "none": Found(1, lambda event: []),
    "broken": Found(1, lambda event: None),
    "pairs": Found(2, lambda event: [(1, 1), (1, 2), (2, 3)]),
    "twice": Found(1, lambda event, of: [] if of is None else [(2 * of,)]),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes()", [{}]),
        ("no()", []),
        ("fails()", []),
        ("not no()", [{}]),
        ("not fails()", []),
        ("fails() or yes()", [{}]),
        ("no() and fails()", []),
        ("not (no() and fails())", [{}]),
        ("p(?x)", [{"x": 1}, {"x": 2}, {"x": 3}]),
        ("p(?x) and q(?x)", [{"x": 2}, {"x": 3}]),
        ("p(?x) and not q(?x)", [{"x": 1}]),
        ("p(?x) and not broken(?x)", []),
        ("p(?x) and not none(?x)", [{"x": 1}, {"x": 2}, {"x": 3}]),
        ("p(?x) and ?x > 2", [{"x": 3}]),
        ("p(?x) and not ?x > 2", [{"x": 1}, {"x": 2}]),
        ("p(?x) and ?x = 'a'", []),
        ("pairs(?x, ?x)", [{"x": 1}]),
        ("pairs(?x, ?y) and ?y > ?x", [{"x": 1, "y": 2}, {"x": 2, "y": 3}]),
        ("pairs(?x, 2)", [{"x": 1}]),
        ("pairs(?x, n)", [{"x": 2}]),
        ("pairs(?x, m)", []),
        (
            "pairs(?x, ?y) and pairs(?y, ?z)",
            [{"x": 1, "y": 1, "z": 1}, {"x": 1, "y": 1, "z": 2}, {"x": 1, "y": 2, "z": 3}],
        ),
        ("twice(n, ?x)", [{"x": 6}]),
        ("twice(m, ?x)", []),
        ("n = 3 and p(?x) and ?x = n", [{"x": 3}]),
        ("n = 4 and p(?x)", []),
        ("p(4)", []),
        ("not p(4)", [{}]),
    ],
)
def test_the_oracle(text: str, expected: list[dict[str, Any]]) -> None:
    oracle = Oracle(text, OPERATORS, SCHEMA)
    assert oracle.safe
    found = list(oracle.substitutions({"n": 3}))
    assert {comparable(each) for each in found} == {comparable(each) for each in expected}
    assert all(oracle.accepts({"n": 3}, each) for each in found)
    assert oracle.matches({"n": 3}) is bool(expected)


def test_one_side_of_an_or_needs_no_values() -> None:
    oracle = Oracle("(none(?x) and ?x > 1) or n = 3", OPERATORS, SCHEMA)
    assert oracle.matches({"n": 3})
    assert oracle.accepts({"n": 3}, {})
    assert not oracle.accepts({"n": 4}, {})
    assert not oracle.accepts({"n": 4}, {"x": 2})
    assert not oracle.accepts({"n": 3}, {"y": 2})


@pytest.mark.parametrize(
    "text",
    ["not p(?x)", "(p(?x) or n = 1) and ?x > 1", "not (p(?x) and q(?x))", "yes() and (not p(?x) or q(?x))"],
)
def test_variables_that_nothing_binds(text: str) -> None:
    assert not Oracle(text, OPERATORS, SCHEMA).safe
