"""Which parts of a pattern may be forecast apart."""

from __future__ import annotations

import pytest

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.patterns import forecast_parts
from vedette.patterns.forecast_parts import SplitLeaf, SplitTree, part_number, split
from vedette.patterns.matcher import PatternMatcher


@pytest.fixture
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns are split however few states they have."""
    monkeypatch.setattr(forecast_parts, "_FEW", 1)


def composite(text: str) -> Composite:
    parsed = parse(text)
    assert isinstance(parsed, Composite)
    return parsed


def shown(tree: SplitTree | None) -> str | None:
    """`(0 and 1)`, with the numbers of parts."""
    if tree is None or isinstance(tree, SplitLeaf):
        return None if tree is None else str(tree.number)
    return f"({f' {tree.how} '.join(str(shown(part)) for part in tree.parts)})"


@pytest.mark.usefixtures("_all_are_large")
@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("[a = 1] ; [a = 2]", None),
        ("[a = 1] and [a = 2]", "(0 and 1)"),
        ("[a = 1] or [a = 2]", None),  # as one step
        ("([a = 1] ; [a = 2]) or [a = 3]", "(0 or 1)"),
        ("[a = 1] ; ([a = 2] or [a = 3]) ; [a = 4]", None),
        ("[a = 1] , [a = 2] ; ([b = 1] and [c = 1]) ; [a = 3]", "(0 then (1 and 2) then 3)"),
        ("([a = 1] and ([b = 1] or ([c = 1] ; [c = 2]))) ; [d = 1]", "((0 and (1 or 2)) then 3)"),
        ("[a = 1] , ([b = 1] and [c = 1])", None),  # the very next event begins it
        ("[a = 1] ; not [n = 1] ; ([b = 1] and [c = 1])", None),
        ("([a = 1] and [b = 1]){2}", None),
        ("(x:[a = 1] and y:[b = 1]) @ (t(y) - t(x) < 5 min)", None),
        ("(x:[a = 1] ; y:[a = 2]) @ (t(y) - t(x) < 5 min) and [b = 1]", "(0 and 1)"),
        ("x:[a = 1] and (y:[a = 2] ; z:[a = 3]) @ (t(y) - t(x) < 5 min)", None),  # of another part
        ("[a = 1 and k = $k] and [b = 1 and k = $k]", "(0 and 1)"),  # every value is a stream of its own
        ("[a = 1 and k = $k] and [b = 1 and j = $k]", None),
        ("([a = 1 and k = $k] ; [a = 2 and j = $k]) and [b = 1]", "(0 and 1)"),
    ],
)
def test_parts_that_know_nothing_of_each_other_are_apart(text: str, tree: str | None) -> None:
    assert shown(split(composite(text))) == tree


def test_a_pattern_with_few_states_stays_whole() -> None:
    steps = [f"[a = {number}]" for number in range(12)]
    assert split(composite(" and ".join(steps[:9]))) is None  # 2^9 sets of what has happened
    assert split(composite(" and ".join(steps))) is not None
    assert split(composite("([a = 1] ; [a = 2] ; [a = 3]) and ([b = 1] ; [b = 2] ; [b = 3])")) is None
    assert split(composite("[a = 1]{6} and [b = 1]{6}")) is not None


@pytest.mark.usefixtures("_all_are_large")
def test_parts_are_observed_and_their_matches_are_told_to_nobody() -> None:
    text = "([a = 1] ; [a = 2]) and [b = 1] by k within 1 h"
    events = [{"k": 1, "time": n, **event} for n, event in enumerate([{"a": 1}, {"b": 1}, {"a": 2}, {"a": 2}, {}])]
    outcome = PatternMatcher([PatternRecord("p", text, None, Predict(3))]).process(events)
    assert outcome.matches.event.tolist() == [2, 3]
    assert set(outcome.matches.pattern.tolist()) == {0}
    seen = outcome.observations
    hits = {number: seen.event[(seen.pattern == number) & seen.hit].tolist() for number in set(seen.pattern.tolist())}
    assert hits == {0: [2, 3], part_number(0, 0): [2, 3], part_number(0, 1): [1]}
    first = seen.pattern == part_number(0, 0)
    assert seen.span[first].tolist() == [-1, -1, 2_000_000, 3_000_000, -1]
    assert seen.begun[first].tolist() == [-1, -1, 0, 0, -1]
    assert seen.time[first].tolist() == [n * 1_000_000 for n in range(5)]
    unforecast = PatternMatcher([PatternRecord("p", text)]).process(events)
    assert unforecast.matches.event.tolist() == [2, 3]
    assert not unforecast.observations.event.size


def test_a_part_is_written_as_it_stood() -> None:
    tree = split(composite("[x = 1]{12} and ([y = 1] ; not [y = 9] ; [y = 2] , [y = 3])"))
    assert tree is not None
    assert [render(Composite(leaf.pattern)) for leaf in forecast_parts.leaves(tree)] == [
        "[x = 1]{12}",
        "[y = 1] ; not [y = 9] ; [y = 2] , [y = 3]",
    ]
