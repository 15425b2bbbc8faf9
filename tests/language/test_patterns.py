"""Patterns over several events: what their texts mean, and what is refused."""

from __future__ import annotations

import pytest

from tests.language.cases import pairs
from vedette.errors import FilterError
from vedette.language import ast
from vedette.language.ast import Absence, Attribute, Comparator, Comparison, Composite, Literal, Sequence, Step
from vedette.language.parser import parse
from vedette.language.render import render


@pytest.mark.parametrize(("text", "canonical"), pairs("patterns.txt"))
def test_patterns(text: str, canonical: str) -> None:
    found = parse(text)
    assert isinstance(found, Composite)
    assert render(found) == canonical
    assert parse(canonical) == found


def step(name: str, label: str | None = None) -> Step:
    return Step(Comparison(Attribute(name), Comparator.EQ, Literal(True)), label)


def test_a_sequence_keeps_its_links() -> None:
    assert parse("[a] , [b] ; [c]") == Composite(Sequence((step("a"), step("b"), step("c")), (",", ";")))


def test_sequences_bind_more_tightly_than_and_and_and_than_or() -> None:
    a, b, c, d = (step(name) for name in "abcd")
    assert parse("[a] ; [b] and [c] or [d]") == Composite(
        ast.PatternOr((ast.PatternAnd((Sequence((a, b), (";",)), c)), d)),
    )


def test_repetition_and_conditions_belong_to_what_stands_before_them() -> None:
    condition = ast.TimeCondition("b", "a", Comparator.LT, 300_000_000)
    assert parse("a:[a] ; b:[b] @ (t(b) - t(a) < 5 min)") == Composite(
        Sequence((step("a", "a"), ast.TimedPattern(step("b", "b"), (condition,))), (";",))
    )
    assert parse("(a:[a] ; b:[b]) @ (t(b) - t(a) < 5 min)") == Composite(
        ast.TimedPattern(Sequence((step("a", "a"), step("b", "b")), (";",)), (condition,))
    )
    assert parse("[a] , [b]{2,3}") == Composite(Sequence((step("a"), ast.Repeat(step("b"), 2, 3)), (",",)))


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("7 us", 7),
        ("2 ms", 2_000),
        ("1 s", 1_000_000),
        ("1 sec", 1_000_000),
        ("0.5 seconds", 500_000),
        ("5 min", 300_000_000),
        ("1h", 3_600_000_000),
        ("2 hours", 7_200_000_000),
        ("1 d", 86_400_000_000),
        ("1 day", 86_400_000_000),
        ("0.1 us", 0),
        ("-3 s", -3_000_000),
    ],
)
def test_lengths_of_time(text: str, microseconds: int) -> None:
    found = parse(f"a:[a] ; b:[b] @ (t(b) - t(a) >= {text})")
    assert isinstance(found, Composite)
    assert isinstance(found.pattern, Sequence)
    conditioned = found.pattern.parts[1]
    assert isinstance(conditioned, ast.TimedPattern)
    assert conditioned.conditions == (ast.TimeCondition("b", "a", Comparator.GE, microseconds),)


def test_absolute_times_count_from_1970() -> None:
    found = parse("a:[a] @ (t(a) < timestamp '1970-01-01T00:00:01Z')")
    assert found == Composite(
        ast.TimedPattern(step("a", "a"), (ast.TimeCondition("a", None, Comparator.LT, 1_000_000),))
    )


def test_absence_stands_between_two_steps() -> None:
    assert parse("[a] ; not [b] ; [c]") == Composite(
        Sequence((step("a"), Absence(step("b")), step("c")), (";", ";")),
    )


def test_partition_and_window_in_either_order() -> None:
    expected = Composite(step("a"), ("user", "host.name"), 600_000_000)
    assert parse("[a] by user, host.name within 10 min") == expected
    assert parse("[a] within 10 min by user, host.name") == expected


def test_a_range_in_brackets_makes_no_pattern() -> None:
    assert isinstance(parse("x in [1 .. 5]"), ast.Range)
    assert isinstance(parse("(x in [1 .. 5])"), ast.Range)


def test_a_label_may_be_used_before_its_step() -> None:
    assert isinstance(parse("a:[a] @ (t(b) - t(a) < 1 s) ; b:[b]"), Composite)


def test_join_variables_live_in_steps() -> None:
    found = parse("[ip = $x]")
    assert found == Composite(Step(Comparison(Attribute("ip"), Comparator.EQ, ast.JoinVariable("x"))))
    with pytest.raises(FilterError, match="step"):
        parse("ip = $x")
