"""Filters of the CloudEvents Subscriptions API: what each means, what is refused, and all of it against an oracle."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import vedette as vd
from tests.dialects.cesql.random_expressions import event, expression
from vedette.dialects.cesql import evaluate
from vedette.dialects.cloudevents import translate
from vedette.errors import DialectError, LimitError
from vedette.language.render import render
from vedette.schema.readings import text_of


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({"exact": {"type": "a"}}, "text(type) = 'a'"),
        ({"exact": {"type": "a", "subject": "b"}}, "text(type) = 'a' and text(subject) = 'b'"),
        ({"prefix": {"type": "com.%"}}, "text(type) startswith 'com.%'"),
        ({"suffix": {"type": ".created"}}, "text(type) endswith '.created'"),
        ({"all": [{"exact": {"type": "a"}}, {"suffix": {"id": "x"}}]}, "text(type) = 'a' and text(id) endswith 'x'"),
        ({"any": [{"exact": {"type": "a"}}, {"exact": {"type": "b"}}]}, "text(type) in ('a', 'b')"),
        # A filter is never unknown: what is not there is not the same.
        ({"not": {"exact": {"x": "a"}}}, "text(x) is null or text(x) != 'a'"),
        ({"not": {"not": {"exact": {"x": "a"}}}}, "text(x) = 'a'"),
        (
            {"not": {"all": [{"not": {"exact": {"x": "a"}}}]}},
            "text(x) = 'a'",
        ),
        ({"not": {"any": [{"exact": {"x": "a"}}]}}, "text(x) is null or text(x) != 'a'"),
        ({"not": {"sql": "EXISTS x"}}, "text(x) is null"),
        ({"not": {"sql": "x = y"}}, "text(x) is null or text(y) is null or not cesql('x = y')"),
        ({"sql": "type = 'a' AND subject LIKE 'b%'"}, "text(type) = 'a' and text(subject) like 'b%'"),
        ({"sql": "5"}, "false"),
        # All of no attributes.
        ({"exact": {}}, "true"),
        ({"not": {"exact": {}}}, "false"),
        # Whole subscriptions: absence of filters, or none, is true.
        ("[]", "true"),
        ('[{"exact": {"type": "a"}}]', "text(type) = 'a'"),
        ({"filters": []}, "true"),
        ({"id": "s1", "sink": "https://example.com", "protocol": "HTTP"}, "true"),
        (
            {"source": "/s", "types": ["a", "b"], "filters": [{"prefix": {"subject": "x"}}]},
            "text(source) = '/s' and text(type) in ('a', 'b') and text(subject) startswith 'x'",
        ),
    ],
)
def test_what_becomes_of_a_filter(said: Any, made: str) -> None:
    assert render(translate(said)) == made
    if not isinstance(said, str):
        assert render(translate(json.dumps(said))) == made


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "a filter without a dialect"),
        ({"exact": {"type": "a"}, "prefix": {"type": "b"}}, "a filter has one dialect, and this one has 2"),
        ({"exakt": {"type": "a"}}, "the filter dialect 'exakt' is not known\nHint: did you mean 'exact'?"),
        ({"basic": {}}, "is not known\nHint: there are 'exact', 'prefix'"),
        ({"exact": "a"}, "exact: attributes and texts are expected, not a text"),
        ({"exact": {"": "a"}}, "exact: the name of an attribute is empty"),
        ({"exact": {"type": ""}}, "exact.type: the text is empty"),
        ({"exact": {"n": 5}}, "exact.n: a text is expected, not the number 5"),
        ({"exact": {"n": None}}, "exact.n: a text is expected, not null"),
        ({"exact": {"myExt": "a"}}, "exact: 'myExt' cannot be the name of an attribute\nHint: .*'myext'"),
        ({"exact": {"data": "a"}}, "exact: 'data' is no attribute"),
        ({"all": []}, "all: there has to be at least one filter"),
        ({"any": []}, "any: there has to be at least one filter"),
        ({"all": {"exact": {"type": "a"}}}, "all: a list of filters is expected, not an object"),
        ({"any": [{"exact": {"type": "a"}}, {"not": {"prefix": {"x": 1}}}]}, "any\\[1\\].not.prefix.x: a text is"),
        ({"any": ["a"]}, "any\\[0\\]: a filter is an object, not a text"),
        ({"not": [{"exact": {"type": "a"}}]}, "not: a filter is an object, not a list"),
        ({"sql": 5}, "sql: an expression of CloudEvents SQL is expected, not the number 5"),
        ({"all": [{"sql": "a = = b"}]}, "line 1, column 5: all\\[0\\].sql: expected an attribute"),
        ({"filters": {}}, "filters: a list of filters is expected, not an object"),
        ({"filters": [{"exact": {"type": 1}}]}, "filters\\[0\\].exact.type: a text is expected"),
        ({"filters": [], "exact": {}}, "a subscription has no 'exact'\nHint: filters stand in the list 'filters'"),
        ({"types": []}, "types: there has to be at least one type"),
        ({"types": ["a", ""]}, "types\\[1\\]: the text is empty"),
        ({"source": ""}, "source: the text is empty"),
        ('{"exact": ', "line 1, column 11: not JSON: Expecting value"),
        ('{"exact": {"type": "a", "type": "b"}}', "'type' stands twice in one object"),
        ("5", "a filter is an object, not the number 5"),
    ],
)
def test_what_is_refused(said: Any, message: str) -> None:
    with pytest.raises(DialectError, match=message):
        translate(said)


def test_what_is_too_deep_is_refused() -> None:
    said: dict[str, Any] = {"exact": {"type": "a"}}
    for _ in range(65):
        said = {"not": said}
    with pytest.raises(LimitError):
        translate(said)
    with pytest.raises(LimitError):
        translate('{"not":' * 100_000 + "1" + "}" * 100_000)


def _random_filter(random: Random, depth: int) -> dict[str, Any]:
    names, texts = ("type", "id", "subject", "a", "b"), ("a", "b", "5", "true", "ab", "A", "3.5", "[1]")
    kind = random.choice(["exact", "prefix", "suffix", "sql", *(["all", "any", "not"] * 2 if depth else [])])
    match kind:
        case "sql":
            return {"sql": expression(random, random.choice([1, 2, 3]))}
        case "not":
            return {"not": _random_filter(random, depth - 1)}
        case "all" | "any":
            return {kind: [_random_filter(random, depth - 1) for _ in range(random.randint(1, 3))]}
    return {kind: {name: random.choice(texts) for name in random.sample(names, random.randint(0, 2))}}


def _passes(said: dict[str, Any], one: dict[str, Any]) -> bool:
    """The specification, word by word."""
    ((kind, given),) = said.items()
    match kind:
        case "sql":
            return evaluate(given, one).holds
        case "not":
            return not _passes(given, one)
        case "all":
            return all(_passes(each, one) for each in given)
        case "any":
            return any(_passes(each, one) for each in given)
    values = {name: text_of(one.get(name)) for name in given}
    if None in values.values():
        return False
    tests: dict[str, Callable[[str, str], bool]] = {
        "exact": str.__eq__,
        "prefix": str.startswith,
        "suffix": str.endswith,
    }
    return all(tests[kind](value or "", given[name]) for name, value in values.items())


@pytest.mark.parametrize("seed", range(2))
def test_the_engine_finds_what_the_specification_says(seed: int) -> None:
    random = Random(seed)
    filters = [_random_filter(random, random.choice([0, 1, 2, 3])) for _ in range(200)]
    events = [event(random) for _ in range(100)]
    subscriptions = vd.Subscriptions()
    for number, said in enumerate(filters):
        subscriptions.add(str(number), said, dialect="cloudevents")
    wanted = {
        (place, str(number))
        for number, said in enumerate(filters)
        for place, one in enumerate(events)
        if _passes(said, one)
    }
    assert len(wanted) > 1_000
    with subscriptions.compile() as engine:
        found = {(row["event"], row["subscription"]) for row in engine.match_batch(events).to_pylist()}
    wrong = [(filters[int(name)], events[place]) for place, name in sorted(found ^ wanted)[:3]]
    assert wrong == []
