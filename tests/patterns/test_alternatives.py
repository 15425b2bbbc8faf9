"""Steps with join variables, taken apart: the same truth as with the variables' values written in their place."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.random_filters import ADDRESSES, ATOMS, FLOATS, INTS, SCHEMA, TEXTS, TIMES, random_event
from tests.seeds import EXAMPLES
from vedette.errors import FilterError, LimitError, NotSupported
from vedette.language.ast import (
    And,
    Attribute,
    Comparator,
    Comparison,
    Composite,
    Filter,
    JoinVariable,
    Literal,
    Not,
    Or,
    Range,
    Step,
    TruthLiteral,
)
from vedette.language.check import check
from vedette.language.evaluate import evaluate, value_of
from vedette.language.join_variables import join_variables
from vedette.language.parser import parse
from vedette.language.three_valued import compared
from vedette.patterns.step_alternatives import StepAlternative, VariableTest, alternatives, shared_variable
from vedette.schema.schema import Schema

NUMBERS, NAMES, HOSTS, MOMENTS = "n", "s", "a", "t"  # variables, by what they stand for
PATHS = {NUMBERS: ["i", "j", "f", "order.total"], NAMES: ["s", "r"], HOSTS: ["a"], MOMENTS: ["t", "d"]}
VALUES: dict[str, list[Any]] = {NUMBERS: [*INTS, *FLOATS], NAMES: TEXTS, HOSTS: ADDRESSES, MOMENTS: TIMES}


@st.composite
def uses(draw: st.DrawFn) -> Filter:
    variable = draw(st.sampled_from(list(PATHS)))
    path = Attribute(draw(st.sampled_from(PATHS[variable])))
    here: Any = JoinVariable(variable)
    if draw(st.integers(0, 5)) == 0:
        there = Literal(draw(st.sampled_from(VALUES[variable])))
        low, high = draw(st.permutations([here, there]))
        return Range(path, low, high, draw(st.booleans()), draw(st.booleans()))
    op = draw(st.sampled_from(list(Comparator)))
    return Comparison(here, op, path) if draw(st.booleans()) else Comparison(path, op, here)


def _compound(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, parts))


STEPS = st.recursive(st.one_of(uses(), ATOMS), _compound, max_leaves=6)


def written_in(node: Any, values: dict[str, Any]) -> Any:
    """The filter with constants for its join variables."""
    if isinstance(node, And | Or):
        return replace(node, parts=tuple(written_in(part, values) for part in node.parts))
    if isinstance(node, Not):
        return Not(written_in(node.part, values))
    if isinstance(node, JoinVariable):
        return Literal(values[node.name])
    if isinstance(node, Comparison):
        return Comparison(written_in(node.left, values), node.op, written_in(node.right, values))
    if isinstance(node, Range):
        return replace(node, low=written_in(node.low, values), high=written_in(node.high, values))
    return node


def holds(alternative: StepAlternative, event: dict[str, Any], values: dict[str, Any]) -> bool:
    tested = (
        compared(value_of(test.path, None, event, SCHEMA), test.op, values[test.variable]) for test in alternative.tests
    )
    return evaluate(check(alternative.filter, SCHEMA), event) is True and all(one is True for one in tested)


@given(STEPS, st.integers(0, 2**32))
@settings(max_examples=2 * EXAMPLES)
def test_the_same_truth_as_with_values_written_in(node: Filter, seed: int) -> None:
    random = Random(seed)
    found = alternatives(Step(node), "")
    assert not any(list(join_variables(each.filter)) for each in found)
    for _ in range(5):
        event = random_event(random)
        values = {variable: random.choice(VALUES[variable]) for variable in VALUES}
        for variable, paths in PATHS.items():  # a random value is hardly ever equal
            seen = value_of(random.choice(paths), None, event, SCHEMA)
            if seen is not None and random.random() < 0.5:
                values[variable] = seen
        expected = evaluate(check(written_in(node, values), SCHEMA), event) is True
        assert any(holds(each, event, values) for each in found) == expected


def only(text: str) -> tuple[StepAlternative, ...]:
    composite = parse(text)
    assert isinstance(composite, Composite)
    assert isinstance(composite.pattern, Step)
    return alternatives(composite.pattern, text)


EQ, NE, LT, GT = Comparator.EQ, Comparator.NE, Comparator.LT, Comparator.GT


def test_a_condition_that_and_joins_binds() -> None:
    (found,) = only("[status = 'denied' and (port = 22 and ip = $x)]")
    assert found.filter == parse("status = 'denied' and port = 22")
    assert found.tests == (VariableTest("x", EQ, "ip", True),)
    assert only("[$x = ip]") == (StepAlternative(TruthLiteral(True), (VariableTest("x", EQ, "ip", True),)),)


def test_every_other_use_tests() -> None:
    assert only("[$x > price]")[0].tests == (VariableTest("x", LT, "price", False),)
    assert only("[ip <=> $x]")[0].tests == (VariableTest("x", EQ, "ip", False),)
    assert only("[not not ip = $x]")[0].tests == (VariableTest("x", EQ, "ip", False),)
    assert only("[not (ip = $x or price > $y)]")[0].tests == (
        VariableTest("x", NE, "ip", False),
        VariableTest("y", Comparator.LE, "price", False),
    )


def test_what_has_no_variable_stays_whole() -> None:
    whole = parse("not (a = 1 or b = 2) and (c = 3 or d = 4)")
    assert only("[not (a = 1 or b = 2) and (c = 3 or d = 4)]") == (StepAlternative(whole, ()),)  # type: ignore[arg-type]
    found = only("[a = 1 or b = 2 or ip = $x]")
    assert found == (
        StepAlternative(parse("a = 1 or b = 2"), ()),  # type: ignore[arg-type]
        StepAlternative(TruthLiteral(True), (VariableTest("x", EQ, "ip", False),)),
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[ip = $x and a = 1] ; not [$x = ip] ; [ip = $x]{2,3}", "ip"),
        ("[ip = $x and user = $y] ; [user = $y] within 1 h", "user"),
        ("([ip = $x] and [ip = $x]) , ([ip = $x] or [ip = $x])", "ip"),
        ("[ip = $x] ; [ip = $x] by user", None),
        ("[ip = $x] ; [source = $x]", None),
        ("[ip = $x] ; [ip = $y]", None),
        ("[ip = $x] ; not [a = 1] ; [ip = $x]", None),
        ("[ip = $x] ; [ip = $x or a = 1]", None),
        ("[a = 1] ; [b = 1]", None),
    ],
)
def test_the_attribute_that_every_step_binds(text: str, path: str | None) -> None:
    composite = parse(text)
    assert isinstance(composite, Composite)
    assert shared_variable(composite) == path


# ---------------------------------------------------------------- what makes sense

TYPES = Schema.of(
    {"ip": "ip", "name": "string", "user": "string", "n": "int", "m": "float", "tags": "list of string", "p": "point"}
)


@pytest.mark.parametrize(
    "text",
    [
        "[user = $x] ; [name = $x and n = 1] ; [user != $x]",
        "[n = $x] ; not [m > $x] ; [m < $x or not n = $x]",
        "([n = $x] and [n = $x]) ; [m > $x]",
        "([n = $x and name = $y] or [m = $x]) ; [m > $x and user = $y]",
        "[n = $x]{2,3} ; [n between 1 and $x]",
        "[ip = $x] ; [ip != $x]",
        "[n = $x] ; [not n <=> $x]",
    ],
)
def test_patterns_that_make_sense(text: str) -> None:
    check(parse(text), TYPES, text)
    check(parse(text), None, text)


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("[n = 1] ; [n != $x]", "n != $x", "no step before it surely gives"),
        ("[n = $x and m > $x]", "m > $x", "no step before it surely gives"),
        ("[n = $x or m = 1] ; [n > $x]", "n = $x", "no step before it surely gives"),
        ("[n = 1] ; not [n = $x] ; [n = $x]", "n = $x", "must not happen only tests"),
        ("[n = $x] and [m > $x]", "m > $x", "no step before"),
        ("([n = $x] or [m = 1]) ; [m > $x]", "m > $x", "no step before"),
        ("[n <=> $x]", "n <=> $x", "no step before"),
        ("[n = $x] ; [name = $x]", "name = $x", "stands for an int (n) and for a string (name)"),
        ("[ip = $x] ; [name = $x]", "name = $x", "stands for an ip (ip) and for a string (name)"),
        ("[p = $x]", "p = $x", "a single value that can be compared"),
        ("[tags = $x]", "tags = $x", "a single value that can be compared"),
    ],
)
def test_patterns_that_make_none(text: str, at: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        check(parse(text), TYPES, text)
    assert message in str(caught.value)
    assert text[caught.value.start : caught.value.end] == at


@pytest.mark.parametrize(
    "text",
    [
        "[name = $x] ; [user < $x]",
        "[ip = $x] ; [ip >= $x]",
        "[n = $x] ; [n = $x + 1]",
        "[n = $x] ; [n > 2 * $x]",
        "[n = $x] ; [$x > 5]",
        "[n = $x] ; [n = $y and $x = $y]",
        "[name = $x] ; [any(tags) = $x]",
        "[name = $x] ; [$x like 'a%']",
        "[n = $x] ; [$x is null]",
        "[n = $x] ; [$x in (1, 2)]",
        "[n = $x] ; [near(n, $x)]",
    ],
)
def test_what_the_engine_cannot_do_is_said_with_its_place(text: str) -> None:
    with pytest.raises(NotSupported, match=r"(?s)line 1, column .*Hint: write") as caught:
        check(parse(text), TYPES, text)
    assert "^" in str(caught.value)


def test_strings_are_known_from_constants_too() -> None:
    text = "[name = $x] ; [name like 'a%' and name > $x]"
    with pytest.raises(NotSupported, match="= and != only"):
        check(parse(text), None, text)


def test_steps_with_too_many_alternatives_are_refused() -> None:
    binding = "[n = $x]"
    some = " and ".join(f"(n > $x or m = {number})" for number in range(6))
    text = f"{binding} ; [{some}]"
    composite = parse(text)
    check(composite, TYPES, text)
    second = composite.pattern.parts[1]  # type: ignore[union-attr]
    assert len(alternatives(second, text)) == 64  # type: ignore[arg-type]
    more = f"{binding} ; [{some} and not n <=> $x]"
    with pytest.raises(LimitError, match="more than 64 ways"):
        check(parse(more), TYPES, more)


@given(STEPS)
def test_the_limit_counts_what_there_is(node: Filter) -> None:
    from vedette.language.join_variables import _alternatives

    assert _alternatives(node, True) == len(alternatives(Step(node), ""))
