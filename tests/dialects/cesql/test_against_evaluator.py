"""Translated filters, through the engine, against the evaluator: random expressions over random events."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import vedette as vd
from tests.dialects.cesql.random_expressions import event, expression
from vedette.dialects.cesql import evaluate, translate
from vedette.dialects.cesql.conditions import untrue
from vedette.language import ast
from vedette.language.check import check
from vedette.language.evaluate import evaluate as truth_of


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_finds_what_the_evaluator_says(seed: int) -> None:
    random = Random(seed)
    expressions = [expression(random, random.choice([1, 1, 2, 2, 3, 4])) for _ in range(300)]
    events = [event(random) for _ in range(150)]
    subscriptions = vd.Subscriptions()
    for number, text in enumerate(expressions):
        subscriptions.add(str(number), text, dialect="cesql")
    wanted = {
        (place, str(number))
        for number, text in enumerate(expressions)
        for place, one in enumerate(events)
        if evaluate(text, one).holds
    }
    assert len(wanted) > 1_000
    with subscriptions.compile() as engine:
        found = {(row["event"], row["subscription"]) for row in engine.match_batch(events).to_pylist()}
        assert _shown(found ^ wanted, expressions, events) == []
        for place in range(0, len(events), 10):
            assert engine.match(events[place]) == [str(n) for n in range(300) if (place, str(n)) in wanted]


def test_typed_columns_give_what_plain_values_give() -> None:
    random = Random(7)
    expressions = [expression(random, random.choice([1, 2, 3])) for _ in range(200)]
    table = pa.table(
        {
            "id": [str(number) for number in range(60)],
            "type": random.choices(["a", "b", "5", "true", None], k=60),
            "a": random.choices([0, 1, 5, -3, 2**31, None], k=60),
            "b": random.choices([True, False, None], k=60),
            "c": random.choices(["a", "5", "05", "true", "abc", None], k=60),
            "n1": random.choices([1.0, 2.5, 5.0, None], k=60),
        }
    )
    subscriptions = vd.Subscriptions()
    for number, text in enumerate(expressions):
        subscriptions.add(str(number), text, dialect="cesql")
    rows = table.to_pylist()
    wanted = {
        (place, str(number))
        for number, text in enumerate(expressions)
        for place, row in enumerate(rows)
        if evaluate(text, row).holds
    }
    with subscriptions.compile() as engine:
        found = {(row["event"], row["subscription"]) for row in engine.match_batch(table).to_pylist()}
    assert _shown(found ^ wanted, expressions, rows) == []


@given(st.integers(0, 2**32), st.integers(1, 5))
@example(310_332, 1)  # not any(numbers(c)) = 0
@example(3_714, 1)  # c = id, without an id
def test_a_translation_and_its_complement_say_what_the_evaluator_says(seed: int, depth: int) -> None:
    random = Random(seed)
    text = expression(random, depth)
    made = translate(text)
    for one in [event(random) for _ in range(12)]:
        holds = evaluate(text, one).holds
        assert _truth(made, one) is True if holds else _truth(made, one) is not True
        assert _truth(untrue(made), one) is (not holds)


def _truth(made: ast.Filter, one: dict[str, object]) -> bool | None:
    return truth_of(check(_answered(made, one), None, ""), one)


def _answered(made: ast.Filter, one: dict[str, object]) -> ast.Filter:
    """Calls of the operator replaced by what it says."""
    match made:
        case ast.And(parts):
            return ast.And(tuple(_answered(part, one) for part in parts))
        case ast.Or(parts):
            return ast.Or(tuple(_answered(part, one) for part in parts))
        case ast.Not(part):
            return ast.Not(_answered(part, one))
        case ast.Call("cesql", (ast.Literal(str() as said),)):
            return ast.TruthLiteral(evaluate(said, one).holds)
    return made


def _shown(wrong: set[tuple[int, str]], expressions: list[str], events: list[dict[str, object]]) -> list[object]:
    return [(expressions[int(name)], events[place]) for place, name in sorted(wrong)[:3]]
