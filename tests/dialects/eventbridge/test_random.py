"""Random patterns and random events: evaluator, filter, engine and the oracle that tries everything say the same."""

from __future__ import annotations

import pytest

import vedette as vd
from tests.dialects.eventbridge.naive import naive_fits
from tests.dialects.eventbridge.random_cases import Cases
from tests.seeds import EXAMPLES, SEED
from vedette.dialects.eventbridge import translate
from vedette.language.check import check
from vedette.language.documents import EventPatternMatcher, PatternError, fits, parse, text_of
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse as parse_text
from vedette.language.render import render

MANY = 4 * EXAMPLES


@pytest.mark.parametrize("dots", [False, True])
def test_the_evaluator_against_trying_everything(dots: bool) -> None:
    cases = Cases(SEED + 1, dots=dots)
    found = 0
    for _ in range(MANY):
        event = cases.event()
        pattern = cases.pattern(event)
        for each in (event, cases.event()):
            expected = naive_fits(pattern, each)
            assert fits(pattern, each) == expected, (pattern, each)
            found += expected
    assert MANY / 8 < found < MANY * 2


def test_the_filter_against_the_evaluator() -> None:
    cases = Cases(SEED + 2)
    found = 0
    for _ in range(MANY):
        event = cases.event()
        pattern = cases.pattern(event)
        made = translate(pattern)
        assert parse_text(render(made)) == made
        checked = check(made)
        for each in (event, cases.event()):
            expected = fits(pattern, each)
            assert (evaluate(checked, each) is True) == expected, (pattern, each, render(made))
            found += expected
    assert MANY / 8 < found < MANY * 2


def test_the_engine_against_the_evaluator() -> None:
    cases = Cases(SEED + 3)
    events = [cases.event() for _ in range(60)]
    patterns = {f"s{number}": cases.pattern(event) for number, event in enumerate(events)}
    subscriptions = vd.Subscriptions()
    for id_, pattern in patterns.items():
        subscriptions.add(id_, pattern, dialect="eventbridge")
    matcher = subscriptions.compile()
    expected = [[id_ for id_, pattern in patterns.items() if fits(pattern, event)] for event in events]
    assert [matcher.match(event) for event in events] == expected
    pairs = matcher.match_batch(events)
    assert pairs.num_rows == sum(map(len, expected)) > len(events) / 2


def test_many_at_once_against_one_by_one() -> None:
    cases = Cases(SEED + 4, dots=True)
    events = [cases.event() for _ in range(80)]
    patterns = [parse(cases.pattern(event)) for event in events]
    prepared = EventPatternMatcher([text_of(pattern) for pattern in patterns])
    for event in events:
        expected = [number for number, pattern in enumerate(patterns) if fits(pattern, event)]
        assert prepared.fitting(event) == expected


def test_what_is_written_is_what_was_read() -> None:
    cases = Cases(SEED + 5, dots=True)
    for _ in range(MANY):
        try:
            pattern = parse(cases.pattern(cases.event()))
        except PatternError:
            continue
        assert parse(text_of(pattern)) == pattern
