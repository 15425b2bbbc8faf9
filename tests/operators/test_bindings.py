"""Patterns of outputs, and joins of what operators find, held against trying everything."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import FilterError
from vedette.language.ast import Call, Comparison, Operand
from vedette.language.parser import parse
from vedette.operators.bindings import BindingTable, Join, OutputPattern, TooManyBindings, joined
from vedette.operators.values import key
from vedette.operators.variable_constraints import VariableConstraint, constraint


def outputs(text: str) -> tuple[Operand, ...]:
    call = parse(text)
    assert isinstance(call, Call)
    return call.arguments


def asks(*texts: str) -> list[VariableConstraint]:
    nodes = [parse(text) for text in texts]
    return [constraint(node) for node in nodes if isinstance(node, Comparison)]


def nothing(path: str) -> Any:
    raise AssertionError(f"no attribute is asked for, but {path}")


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("text", "names", "rows", "expected"),
    [
        ("p(?x, ?y)", ("x", "y"), [(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        ("p(?x, ?y)", ("x", "y"), [(1, 2), (1.0, 2), (True, 2)], [(1, 2), (True, 2)]),
        ("p(?x, ?x)", ("x",), [(1, 1.0), (1, 2), (None, None), (math.nan, math.nan)], [(1,), (math.nan,)]),
        ("p(?x, 2)", ("x",), [(1, 2), (3, 4), (5, 2.0), (6, True), (7, None)], [(1,), (5,)]),
        ("p(2, ?x)", ("x",), [(2, 1), (2, 1), (3, 1)], [(1,)]),
        ("p(2, 3)", (), [(2, 3), (2, 3)], [()]),
        ("p(2, 3)", (), [(2, 4)], []),
        ("p(?x)", ("x",), [("a",), ("a",), (None,), (None,)], [("a",), (None,)]),
        ("p(?x)", ("x",), [({1},), ({2},), ([1],), ([1.0],)], [({1},), ({2},), ([1],)]),
        ("p(?x, ?y, ?x)", ("x", "y"), [(1, 2, 1), (1, 2, 3)], [(1, 2)]),
        ("p(?x, ?x + 1)", ("x",), [(1, 2), (1, 3)], [(1,)]),
        ("p(?x, '2024-05-01')", ("x",), [(1, "2024-05-01"), (2, "2024-05-02")], [(1,)]),
        ("p(?x, null)", ("x",), [(1, None), (1, 1)], []),
    ],
)
def test_what_stands_at_outputs(text: str, names: tuple[str, ...], rows: list[Any], expected: list[Any]) -> None:
    pattern = OutputPattern(outputs(text))
    assert pattern.names == names
    assert repr(pattern.select(rows, nothing)) == repr(expected)  # NaN is not equal to itself


def test_an_attribute_at_an_output_is_compared() -> None:
    pattern = OutputPattern(outputs("p(?x, order.total, any(tags))"))
    event = {"order.total": 5, "tags": ["a", "b"]}
    assert pattern.paths == set(event)
    assert pattern.select([(1, 5, "b"), (2, 6, "b"), (3, 5, "c")], event.get) == [(1,)]
    assert pattern.select([(1, 5, "b")], dict[str, Any]().get) == []


def test_arithmetic_over_a_variable_of_another_operator_is_refused_at_its_place() -> None:
    text = "p(?x, ?y + 1)"
    with pytest.raises(FilterError, match="column 7: nothing binds \\?y here"):
        OutputPattern(outputs(text), text)


# ---------------------------------------------------------------- joins


def found(parts: list[BindingTable], *constraints: str) -> list[dict[str, Any]]:
    return list(joined(parts, asks(*constraints), nothing))


def test_values_that_agree() -> None:
    p, q = (
        BindingTable(("x", "y"), [(1, "a"), (2, "b"), (2, "c")]),
        BindingTable(("y", "z"), [("b", 7), ("c", 8), ("b", 9)]),
    )
    assert found([p, q]) == [{"x": 2, "y": "b", "z": 7}, {"x": 2, "y": "b", "z": 9}, {"x": 2, "y": "c", "z": 8}]
    assert found([p, q], "?z > ?x + 6") == [{"x": 2, "y": "b", "z": 9}]
    assert found([q, p], "?z > ?x + 5")[0] == {"y": "c", "z": 8, "x": 2}


def test_parts_without_common_variables_are_all_combined_in_the_order_written() -> None:
    parts = [BindingTable(("x",), [(1,), (2,)]), BindingTable((), [()]), BindingTable(("y",), [(3,), (4,)])]
    assert [tuple(each.values()) for each in found(parts)] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert found([*parts, BindingTable((), [])]) == []


def test_what_is_forbidden() -> None:
    q, p = BindingTable(("x",), [(1,), (2,), (None,)]), BindingTable(("x",), [(1.0,), (None,)], positive=False)
    assert found([p, q]) == [{"x": 2}, {"x": None}]  # null joins nothing, so nothing forbids it
    assert found([q, p]) == found([p, q])
    assert found([BindingTable((), [()], positive=False)]) == []
    assert found([BindingTable((), [], positive=False)]) == [{}]
    pair = BindingTable(("y", "x"), [(1, 2)], positive=False)
    assert found([q, pair, BindingTable(("y",), [(1,)])]) == [{"x": 1, "y": 1}, {"x": None, "y": 1}]


def test_nothing_at_all_is_one_empty_substitution() -> None:
    assert found([]) == [{}]


def test_equality_is_that_of_filters() -> None:
    rows: list[tuple[Any, ...]] = [(1,), (True,), ("1",), (None,), (math.nan,)]
    parts = [BindingTable(("x",), rows), BindingTable(("x",), [(1.0,), (math.nan,), (None,)])]
    assert repr(found(parts)) == repr([{"x": 1}, {"x": math.nan}])


def test_variables_that_nothing_binds_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing binds \\?x, \\?y"):
        Join([(("x",), False)], asks("?y > 1"))


def test_too_many_ways_are_given_up() -> None:
    rows = [(each,) for each in range(100)]
    parts = [BindingTable(("x",), rows), BindingTable(("y",), rows), BindingTable((), [])]
    with pytest.raises(TooManyBindings, match="more than 1,000 ways"):
        list(joined(parts, (), nothing, limit=1000))
    assert list(joined(parts, (), nothing)) == []
    assert next(joined(parts[:2], (), nothing, limit=2)) == {"x": 0, "y": 0}


def test_many_parts_are_no_matter_of_depth() -> None:
    parts = [BindingTable((f"v{each}",), [(each,)]) for each in range(3000)]
    assert len(found(parts)[0]) == 3000


NAMES = ("x", "y", "z")
SMALL = st.sampled_from([0, 1, 1.0, True, "a", None])


@st.composite
def some_parts(draw: st.DrawFn) -> list[BindingTable]:
    made = []
    for _ in range(draw(st.integers(1, 4))):
        names = tuple(draw(st.permutations(NAMES))[: draw(st.integers(0, 2))])
        rows = draw(st.lists(st.tuples(*[SMALL] * len(names)), max_size=4))
        made.append(BindingTable(names, rows, draw(st.booleans())))
    return made


@given(some_parts(), st.booleans())
def test_joins_against_trying_every_combination_of_rows(parts: list[BindingTable], constrained: bool) -> None:
    bound = {name for part in parts if part.positive for name in part.names}
    parts = [part for part in parts if part.positive or bound.issuperset(part.names)]
    constraints = asks("?x >= ?y") if constrained and {"x", "y"} <= bound else []
    expected = []
    for rows in itertools.product(*[part.rows for part in parts if part.positive]):
        bindings: dict[str, Any] = {}
        agree = True
        for part, row in zip([part for part in parts if part.positive], rows, strict=True):
            for name, value in zip(part.names, row, strict=True):
                if name in bindings and (key(value) is None or key(value) != key(bindings[name])):
                    agree = False
                bindings.setdefault(name, value)
        for part in parts:
            asked = [key(bindings[name]) for name in part.names] if agree else []
            if not part.positive and None not in asked and asked in [[key(each) for each in row] for row in part.rows]:
                agree = False
        if agree and all(each.holds(bindings, nothing) is True for each in constraints):
            expected.append(bindings)
    assert repr(list(joined(parts, constraints, nothing))) == repr(expected)
