"""Views and covering: what is called covered is, and a witness is one."""

from __future__ import annotations

import random

import pytest

from tests.random_json import random_event
from tests.random_views import random_filter
from tests.seeds import some
from vedette.covering.cover_set import CoveringSet
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse

EVENTS = [random_event(random.Random(seed)) for seed in range(200)]


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("text(a) = 'x'", "text(a) in ('x', 'y')"),
        ("text(a) = 'x' and any(strings(*)) = 'y'", "any(strings(*)) = 'y'"),
        ("any(numbers(a.b)) > 5 and b = 1", "any(numbers(a.b)) > 5"),
        ("nested(a) fits '{\"b\": [1]}'", "nested(a) is not null"),
    ],
)
def test_one_covers_another(narrow: str, wide: str) -> None:
    known = CoveringSet()
    known.add("wide", wide)
    assert known.add("narrow", narrow).by == ("wide",)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("text(a) = 'x'", "a = 'x'"), ("any(strings(a)) = 'x'", "any(strings(*)) = 'x'"), ("a = 5", "text(a) = '5'")],
)
def test_what_only_hangs_together_is_not_called_covered_nor_certain(narrow: str, wide: str) -> None:
    known = CoveringSet()
    known.add("wide", wide)
    answer = known.add("narrow", narrow)
    assert not answer.covered
    assert not answer.certain


@pytest.mark.parametrize("seed", some(6, usual=2))
def test_what_is_covered_brings_its_covers(seed: int) -> None:
    chance = random.Random(seed)
    texts = {f"s{n}": random_filter(chance, 1) for n in range(60)}
    known = CoveringSet()
    for id_, text in texts.items():
        known.add(id_, text)
    checked = {id_: check(parse(text), None, text) for id_, text in texts.items()}
    holds = [{id_ for id_, each in checked.items() if evaluate(each, event) is True} for event in EVENTS]
    for id_, answer in known.covered.items():
        for event, found in zip(EVENTS, holds, strict=True):
            assert id_ not in found or answer.method == "never" or found & set(answer.by), (texts[id_], event)


def test_matching_with_covering_gives_the_same() -> None:
    chance = random.Random(3)
    subscriptions = Subscriptions()
    for number in range(60):
        subscriptions.add(f"s{number}", random_filter(chance, 1))
    plain, covering = subscriptions.compile(), CoveringMatcher.compile(subscriptions)
    for event in EVENTS:
        assert sorted(covering.match(event)) == sorted(plain.match(event))
    assert covering.match_batch(EVENTS).sort_by("event").num_rows == plain.match_batch(EVENTS).num_rows
