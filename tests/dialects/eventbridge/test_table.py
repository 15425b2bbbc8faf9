"""The table of cases, one operator after the other: by the evaluator, by the translated filter, by the engine."""

from __future__ import annotations

import json

import pytest

import vedette as vd
from tests.dialects.eventbridge import table
from tests.dialects.eventbridge.naive import naive_fits
from vedette.dialects.eventbridge import translate
from vedette.errors import DialectError
from vedette.language.check import check
from vedette.language.documents import EventPatternMatcher, fits, parse, text_of
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse as parse_text
from vedette.language.render import render


@pytest.fixture(params=table.FILES)
def cases(request: pytest.FixtureRequest) -> list[table.Case]:
    return list(table.cases(request.param))


def test_the_table_is_long_enough() -> None:
    assert sum(len(list(table.cases(name))) for name in table.FILES) > 600
    assert len(list(table.refused())) > 120


def test_what_the_evaluator_says(cases: list[table.Case]) -> None:
    wrong = [case.place for case in cases if fits(case.pattern, json.loads(case.event)) != case.fits]
    assert wrong == []


def test_what_the_filter_says(cases: list[table.Case]) -> None:
    wrong = []
    for case in cases:
        made = translate(case.pattern)
        assert parse_text(render(made)) == made, case.place
        if (evaluate(check(made), json.loads(case.event)) is True) != case.fits:
            wrong.append(case.place)
    assert wrong == []


def test_what_the_engine_says_of_all_patterns_at_once(cases: list[table.Case]) -> None:
    patterns = list(dict.fromkeys(case.pattern for case in cases))
    subscriptions = vd.Subscriptions()
    for pattern in patterns:
        subscriptions.add(pattern, pattern, dialect="eventbridge")
    matcher = subscriptions.compile()
    wrong = [case.place for case in cases if (case.pattern in matcher.match(json.loads(case.event))) != case.fits]
    assert wrong == []


def test_what_many_at_once_say(cases: list[table.Case]) -> None:
    patterns = list(dict.fromkeys(case.pattern for case in cases))
    prepared = EventPatternMatcher(patterns)
    wrong = [
        case.place for case in cases if (patterns.index(case.pattern) in prepared.fitting_text(case.event)) != case.fits
    ]
    assert wrong == []


def test_what_trying_everything_says(cases: list[table.Case]) -> None:
    """The other oracle reads patterns as Python does, so not those with a key twice, nor `$or` as a name."""
    for case in cases:
        plain = all(word not in case.place for word in ("names", "strings")) and parse(
            json.loads(case.pattern)
        ) == parse(case.pattern)
        if plain and not _or_is_a_name(case.pattern):
            assert naive_fits(json.loads(case.pattern), json.loads(case.event)) == case.fits, case.place


def _or_is_a_name(pattern: str) -> bool:
    return any("$or" in field.path for each in parse(pattern).alternatives for field in each.fields)


def test_patterns_are_written_as_they_are_read(cases: list[table.Case]) -> None:
    for case in cases:
        pattern = parse(case.pattern)
        assert parse(text_of(pattern)) == pattern


@pytest.mark.parametrize("case", list(table.refused()), ids=lambda case: case.place)
def test_what_is_refused(case: table.Refused) -> None:
    with pytest.raises(DialectError) as refusal:
        translate(case.pattern)
    assert str(refusal.value) == case.said
