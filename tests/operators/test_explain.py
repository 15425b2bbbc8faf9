"""Why filters with operators match or not: every kind of part, the plan, what was not evaluated and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import UnknownSubscription
from vedette.operators.explain import OperatorExplanation, explain_operators
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import Operator, operator
from vedette.operators.registry import Operators


def _finds(name: str, outputs: int = 1) -> Operator:
    """Finds what stands under its name; fails where that is a text."""

    def function(event: Mapping[str, Any]) -> Any:
        found = event.get(name, [])
        if isinstance(found, str):
            raise ValueError(found)
        return found

    return operator(name, outputs=outputs, time_limit=None)(function)


@operator(time_limit=None)
def flag(event: Mapping[str, Any], name: str) -> bool | None:
    found = event.get(name)
    return found if found is None else bool(found)


OPERATORS = Operators(_finds("p"), _finds("q"), _finds("pair", 2), flag)


def matcher(*texts: str, **options: Any) -> OperatorMatcher:
    subs = Subscriptions()
    for number, text in enumerate(texts):
        subs.add(f"s{number}", text)
    return OperatorMatcher(subs, OPERATORS, **options)


def explained(text: str, event: dict[str, Any]) -> OperatorExplanation:
    return explain_operators(matcher(text), event, "s0")


def parts(text: str, event: dict[str, Any]) -> list[str]:
    """The lines about the filter, without those about the plan."""
    said = str(explained(text, event)).splitlines()
    return said[: next(number for number, line in enumerate(said) if line.startswith("Plan"))]


@pytest.mark.parametrize(
    ("text", "event", "said"),
    [
        ("flag('a')", {"a": 1}, ["The event matches.", "✓ flag('a')   true (evaluation 1 of 1)"]),
        (
            "flag('a')",
            {"a": 0},
            ["The event does not match.", "✗ flag('a')   false (evaluation 1 of 1)", "Ruled out by flag('a')."],
        ),
        (
            "not flag('a')",
            {},
            [
                "The event does not match.",
                "? not flag('a')",
                "└─ ? flag('a')   unknown: it failed, or does not know (evaluation 1 of 1)",
                "Ruled out by not flag('a').",
            ],
        ),
        (
            "n > 2 and flag('a')",
            {"n": 1},
            [
                "The event does not match.",
                "✗ n > 2 and flag('a')",
                "├─ ✗ n > 2   n was 1.0, needed > 2: missed by 1.0",
                "└─ ? flag('a')   not evaluated: the tests of attributes settle it",
                "No single test would have been enough: 2 failed.",
            ],
        ),
        (
            "q(?found) and ?found > 5",
            {"q": [1, 7, 9]},
            [
                "The event matches.",
                "✓ q(?found) and ?found > 5",
                "├─ ✓ q(?found)   found 1; 7; 9 (evaluation 1 of 1)",
                "└─ ✓ ?found > 5   ?found = 7",
                "Bindings: ?found = 7",
            ],
        ),
        (
            "q(?found) and ?found > 5",
            {"q": [1, 2]},
            [
                "The event does not match.",
                "✗ q(?found) and ?found > 5",
                "├─ ✓ q(?found)   found 1; 2 (evaluation 1 of 1)",
                "└─ ✗ ?found > 5   ?found = 1; ?found = 2",
                "Ruled out by q(?found) and ?found > 5.",
            ],
        ),
        (
            "q(?x) and ?x > n",
            {"q": [1]},
            [
                "The event does not match.",
                "? q(?x) and ?x > n",
                "├─ ✓ q(?x)   found 1 (evaluation 1 of 1)",
                "└─ ? ?x > n   ?x = 1",
                "Ruled out by q(?x) and ?x > n.",
            ],
        ),
        (
            "q(?x) and ?x > 3",
            {"q": []},
            [
                "The event does not match.",
                "✗ q(?x) and ?x > 3",
                "├─ ✗ q(?x)   found nothing (evaluation 1 of 1)",
                "└─ ? ?x > 3   nothing was found",
                "Ruled out by q(?x) and ?x > 3.",
            ],
        ),
        (
            "q('?0') and n = 1",
            {"q": ["a"], "n": 1},
            [
                "The event does not match.",
                "✗ q('?0') and n = 1",
                "├─ ✗ q('?0')   found 'a' (evaluation 1 of 1)",
                "└─ ✓ n = 1   n was 1.0",
                "Ruled out by q('?0').",
            ],
        ),
        (
            "pair(?a, ?a)",
            {"pair": [(1, 2), (3, 3.0)]},
            ["The event matches.", "✓ pair(?a, ?a)   found 1, 2; 3, 3.0 (evaluation 1 of 1)", "Bindings: ?a = 3"],
        ),
        (
            "(q(?x) and ?x > 5) or (n = 1)",
            {"q": [1], "n": 1},
            [
                "The event matches.",
                "✓ (q(?x) and ?x > 5) or (n = 1)",
                "├─ ? q(?x) and ?x > 5",
                "│  ├─ ? q(?x)   not evaluated: it matches without it",
                "│  └─ ? ?x > 5   ?x is not known",
                "└─ ✓ n = 1   n was 1.0",
            ],
        ),
    ],
)
def test_every_kind_of_part(text: str, event: dict[str, Any], said: list[str]) -> None:
    assert parts(text, event) == said


@pytest.mark.parametrize(
    ("q", "p", "matches", "mark"),
    [
        ([1, 2], [1], True, "✓"),
        ([1, 2], [2, 1, 3], False, "✗"),
        ([1], [1.0], False, "✗"),
        ([1], [], True, "✓"),
        ([], [1], False, "?"),
    ],
)
def test_under_not_a_call_is_judged_by_the_values_that_others_bind(
    q: list[Any], p: list[Any], matches: bool, mark: str
) -> None:
    found = explained("q(?x) and not p(?x)", {"q": q, "p": p})
    assert found.matched is matches
    line = next(line for line in str(found).splitlines() if line.startswith("└─"))
    assert line == f"└─ {mark} not p(?x)"


def test_each_part_can_be_true_and_yet_nothing_fits_together() -> None:
    found = explained("q(?x) and p(?x)", {"q": [1], "p": [2]})
    assert not found.matched
    assert found.parts.matched
    assert found.ruled_out_by is None
    assert "Each part can be true, but no values of the variables make all of them true at once." in str(found)


def test_many_values_are_shortened() -> None:
    said = str(explained("q(?x) and ?x < 0", {"q": list(range(50))}))
    assert "found 0; 1; 2; 3; 4 and 45 more" in said
    assert "?x = 4 (and 45 more)" in said


def test_bindings_that_combine_in_too_many_ways_are_explained_all_the_same() -> None:
    many = list(range(2_000))
    found = explained("q(?x) and p(?y) and ?x + ?y < 0", {"q": many, "p": many})
    assert not found.matched
    assert "✗ ?x + ?y < 0" in str(found)


# ---------------------------------------------------------------- the plan


def test_the_plan_is_that_of_all_subscriptions() -> None:
    texts = ["flag('a') and flag('b')", "flag('a') and flag('c')", "n = 1 or flag('d')", "q(?x) and ?x > 1", "m = 1"]
    found = explain_operators(matcher(*texts, planner="sequential"), {"a": 0, "n": 1, "q": [5]}, "s0")
    assert {step.text for step in found.steps} == {"flag('a')", "q()"}
    by_text = {step.text: step for step in found.steps}
    assert by_text["flag('a')"].settled == ("s0", "s1")
    assert by_text["q()"].settled == ()
    assert dict(found.skipped) == {
        "flag('b')": "flag('a') settles s0",
        "flag('c')": "flag('a') settles s1",
        "flag('d')": "s2 matches without it",  # and nobody asks for it after the index
    }
    assert (found.asked, found.saved) == (4, 2)
    said = str(found)
    assert "Plan (sequential): 2 evaluations of 4 that were asked for, 2 saved." in said
    assert "rules out s0, s1" in said
    assert "–  flag('b')  not evaluated: flag('a') settles s0" in said


def test_who_matches_is_not_ruled_out_by_what_another_alternative_lacks() -> None:
    found = explain_operators(
        matcher("flag('a') or flag('b')", "flag('a') or flag('c')"), {"a": 0, "b": 1, "c": 0}, "s0"
    )
    by_text = {step.text: step.settled for step in found.steps}
    assert found.matched
    assert "s0" not in {owner for settled in by_text.values() for owner in settled}
    last = [step for step in found.steps if step.text in ("flag('a')", "flag('c')")][-1]
    assert last.settled == ("s1",)


def test_what_was_not_needed_is_not_evaluated_for_the_explanation() -> None:
    calls: list[str] = []

    @operator(time_limit=None)
    def noted(event: Mapping[str, Any], name: str) -> bool:
        calls.append(name)
        return False

    subs = Subscriptions()
    subs.add("s", "noted('a') and noted('b')")
    found = explain_operators(OperatorMatcher(subs, Operators(noted)), {}, "s")
    assert len(calls) == len(found.steps) == 1
    assert [text for text, _ in found.skipped] == [f"noted('{'b' if calls == ['a'] else 'a'}')"]


def test_nothing_is_learned_or_counted_by_explaining() -> None:
    one = matcher("flag('a') and q(?x)")
    one.match({"a": 1, "q": [1]})
    counts, known = str(one.counts), one.statistics.plain()
    for _ in range(5):
        explain_operators(one, {"a": 1, "q": [2]}, "s0")
    assert str(one.counts) == counts
    assert one.statistics.plain() == known


def test_a_long_plan_is_shortened() -> None:
    texts = [f"flag('a{number}')" for number in range(30)] + [f"flag('a0') and flag('b{n}')" for n in range(20)]
    said = str(explain_operators(matcher(*texts), {"a0": 0}, "s0"))
    assert "… and 18 more\n" in said or "… and 19 more\n" in said
    assert "more were not evaluated" in said
    many = [f"flag('a') and n = {number % 2}" for number in range(20)]
    assert "rules out s0, s2, s4, s6 and 6 more" in str(explain_operators(matcher(*many), {"a": 0, "n": 0}, "s0"))


def test_a_filter_without_operators_is_explained_with_the_plan_of_the_others() -> None:
    one = matcher("n = 1", "flag('a')")
    assert str(explain_operators(one, {"n": 1, "a": 1}, "s0")).splitlines() == [
        "The event matches.",
        "✓ n = 1   n was 1.0",
        "Plan (adaptive): 1 evaluation of 1 that were asked for, 0 saved.",
        "   1. flag('a')  true",
    ]
    with pytest.raises(UnknownSubscription, match="there is no subscription 's7'"):
        explain_operators(one, {}, "s7")


def test_html_says_the_same_and_escapes_what_events_say() -> None:
    found = explained("q(?x) and ?x != '<s>' and flag('<u>')", {"q": ["<script>"], "<u>": 0})
    shown = found._repr_html_()
    assert shown.startswith("<div><p>The event <b>does not match</b>.</p>")
    assert "<pre>Plan (adaptive): " in shown
    for wrong in ("<script>", "<s>", "<u>"):
        assert wrong not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;u&gt;" in shown
    bound = explained("q(?x)", {"q": ["<b>&"]})._repr_html_()
    assert "<p>Bindings: ?x = &#x27;&lt;b&gt;&amp;&#x27;</p>" in bound
