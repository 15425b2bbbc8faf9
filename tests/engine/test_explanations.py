"""Whatever a subscription is, an explanation is one tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import vedette as vd
from vedette.filters.explanation import Explanation, PartExplanation

TEXTS = {
    "filter": "n > 2 and (kind = 'a' or user is null)",
    "calls": "odd() and n > 0",
    "bound": "near(?v) and ?v > n",
    "pattern": "[n = 1] ; [n > 1 and kind = 'a'] by user within 10 s",
    "alone": "[n = 3]",
}


@vd.operator
def odd(event: Any) -> bool:
    return bool(event["n"] % 2)


@vd.operator(outputs=1)
def near(event: Any) -> list[int]:
    return [event["n"] - 1]


def engine() -> vd.Engine:
    subscriptions = vd.Subscriptions({"n": "int", "kind": "string", "user": "string", "time": "timestamp"})
    for id_, text in TEXTS.items():
        subscriptions.add(id_, text)
    return subscriptions.compile(operators=vd.Operators(odd, near))


def below(one: PartExplanation) -> Iterator[PartExplanation]:
    yield one
    for each in one.parts:
        yield from below(each)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("id_", TEXTS)
@pytest.mark.parametrize(
    "event",
    [
        {"n": 3, "kind": "a", "user": "ann", "time": 1_700_000_005},
        {"n": 2, "kind": "b", "user": "ann", "time": 1_700_000_005},
        {"n": 3, "kind": "a", "user": "ann", "time": 1_700_000_050},
        {"n": 1, "kind": None, "user": None, "time": 1_700_000_005},
    ],
)
def test_one_tree_whatever_is_explained(id_: str, event: dict[str, Any], live: bool) -> None:
    before = [{"n": 1, "kind": "b", "user": "ann", "time": 1_700_000_000}]
    made: Any = engine().live() if live else engine()
    found: Explanation = made.explain(event, id_, before=before, names=["first", "now"])
    tree = found.tree
    assert " ".join(tree.text.split()) == TEXTS[id_]
    assert found.matched is (tree.truth is True)
    if id_ != "pattern":
        assert found.matched is (id_ in made.match(event))
    assert all(isinstance(one, PartExplanation) and one.truth in (True, False, None) for one in below(tree))
    told = found.plain()
    assert json.loads(json.dumps(told)) == told
    assert told["asked"] == TEXTS[id_]
    assert told["held"] is tree.truth
    assert len(list(tree.lines())) == len(list(below(tree)))
    if not found.matched and tree.parts:  # it says what is to blame
        assert any(one.truth is not True for one in below(tree) if not one.parts)


def test_the_tree_of_a_pattern_says_what_was_taken_and_what_was_missing() -> None:
    before = [{"n": 1, "kind": "b", "user": "ann", "time": 1_700_000_000}]
    late = {"n": 3, "kind": "a", "user": "ann", "time": 1_700_000_050}
    found = engine().explain(late, "pattern", before=before, names=["first", "now"])
    assert list(found.tree.lines()) == [
        "✗ [n = 1] ; [n > 1 and kind = 'a'] by user within 10 s   The event does not complete the pattern, and takes "
        "no step of it.",
        "├─ ✓ [n = 1]   1 was first, 2023-11-14 22:13:20Z",
        "├─ ✓ n > 1 and kind = 'a'",
        "│  ├─ ✓ n > 1   n was 3",
        "│  └─ ✓ kind = 'a'   kind was 'a'",
        "└─ ✗ within 10 s   the first event was 50 s before",
    ]
    nobody = engine().explain({**late, "user": None}, "pattern", before=before)
    assert nobody.plain() == {
        "asked": TEXTS["pattern"],
        "held": None,
        "why": "The pattern does not see the event: its user is null, and the pattern goes by it.",
        "parts": [{"asked": "user", "held": None, "why": "null"}],
    }
    assert not nobody.matched
