"""Rules of other dialects in Python: added, matched, kept in snapshots, explained, with where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vedette as vd
from vedette.errors import DialectError, InputError, NotSupported
from vedette.filters.explain import FilterExplanation
from vedette.filters.origins import FACTS_BYTES, Origin

RULE = {"a": 1, "about": {"title": "One", "level": "high"}}
SCHEMA = {"a": "int", "b": "string"}


@pytest.fixture
def subscriptions(standin: str) -> vd.Subscriptions:
    found = vd.Subscriptions(SCHEMA)
    found.add("rule", RULE, dialect=standin)
    found.add("plain", "a > 0")
    found.add("told", "a = 1", origin={"title": "By hand"})
    return found


def test_a_rule_is_matched_as_its_translation_is(subscriptions: vd.Subscriptions) -> None:
    assert subscriptions.text("rule") == "a = 1"
    assert subscriptions.compile().match({"a": 1}) == ["rule", "plain", "told"]


def test_where_it_comes_from_is_kept(subscriptions: vd.Subscriptions, tmp_path: Path) -> None:
    engine = subscriptions.compile()
    engine.save(tmp_path / "snapshot")
    covering = subscriptions.compile(covering="auto")
    covering.save(tmp_path / "covering")
    told: Any
    for told in (
        subscriptions,
        engine,
        vd.open(tmp_path / "snapshot"),
        vd.open(tmp_path / "covering"),
        subscriptions.live(),
        covering.live(),
        vd.StreamMatcher(subscriptions),
    ):
        assert told.origin("rule") == {"title": "One", "level": "high"}
        assert told.origin("plain") == {}
        assert told.origin("told") == {"title": "By hand"}
        with pytest.raises(vd.UnknownSubscription):
            told.origin("nobody")
        if not isinstance(told, vd.StreamMatcher):
            assert told.origin_of("rule").dialect == "standin"
            assert told.origin_of("rule").rule == '{"a":1,"about":{"title":"One","level":"high"}}'
            assert told.told() == {"rule": '{"title":"One","level":"high"}', "told": '{"title":"By hand"}'}


def test_without_origins_nothing_is_different(subscriptions: vd.Subscriptions, tmp_path: Path) -> None:
    plain = vd.Subscriptions(SCHEMA)
    plain.add("plain", "a > 0")
    version = plain.compile().version
    plain.compile().save(tmp_path / "plain")
    subscriptions.remove("rule")
    assert subscriptions.compile().version != version
    subscriptions.remove("told")
    assert subscriptions.compile().version == version
    assert subscriptions.told() == {}
    assert vd.open(tmp_path / "plain").segment.records.table.schema.names == ["id", "when", "subscriber"]


def test_another_title_is_another_version(subscriptions: vd.Subscriptions) -> None:
    version = subscriptions.compile().version
    subscriptions.replace("told", "a = 1", origin={"title": "By another hand"})
    assert subscriptions.compile().version != version


def test_origins_of_those_that_are_left(standin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.filters.subscription_set._TIDY", 2)
    found = vd.Subscriptions(SCHEMA)
    for number in range(6):
        found.add(f"s{number}", "a = 1", origin={"n": number})
    for number in (0, 1, 2, 3):
        found.remove(f"s{number}")  # swept out on the way
    found.replace("s4", "a = 2", origin={"n": "new"})
    found.add("s0", {"a": 3}, dialect=standin)
    expected = {"s5": '{"n":5}', "s4": '{"n":"new"}'}
    assert found.told() == expected
    assert found.compile().told() == expected
    assert [found.origin(id_) for id_ in ("s0", "s4", "s5")] == [{}, {"n": "new"}, {"n": 5}]


def test_patterns_and_filters_with_operators_have_one_too(standin: str, tmp_path: Path) -> None:
    subscriptions = vd.Subscriptions(SCHEMA)
    subscriptions.add("pattern", "[a = 1] ; [a = 2] within 1 h", origin={"title": "Rising"})
    assert subscriptions.origin("pattern") == {"title": "Rising"}
    stream = vd.StreamMatcher(subscriptions)
    assert stream.origin("pattern") == {"title": "Rising"}
    again = vd.StreamMatcher.from_bytes(stream.to_bytes(), subscriptions)
    assert again.origin("pattern") == {"title": "Rising"}

    @vd.operator()
    def large(event: Any) -> bool:
        return bool(event["a"] > 9)

    called = vd.Subscriptions(SCHEMA)
    called.add("calls", "large()", origin={"title": "Large"})
    called.add("filter", RULE, dialect=standin)
    assert called.told() == {"calls": '{"title":"Large"}', "filter": '{"title":"One","level":"high"}'}
    with called.compile(operators=vd.Operators(large)) as engine:
        engine.save(tmp_path / "operators")
        for each in (engine, vd.open(tmp_path / "operators", operators=vd.Operators(large))):
            assert [each.origin(id_) for id_ in called] == [{"title": "Large"}, {"title": "One", "level": "high"}]


def test_a_pattern_goes_on_under_a_new_title() -> None:
    subscriptions = vd.Subscriptions(SCHEMA)
    subscriptions.add("pattern", "[a = 1] ; [a = 2]", origin={"title": "Rising"})
    stream = vd.StreamMatcher(subscriptions)
    stream.process([{"a": 1}])
    subscriptions.replace("pattern", "[a = 1] ; [a = 2]", origin={"title": "Going up"})
    stream.update(subscriptions)
    assert stream.origin("pattern") == {"title": "Going up"}
    assert stream.process([{"a": 2}]).num_rows == 1


def test_records_name_their_dialect(standin: str) -> None:
    records: list[dict[str, Any]] = [
        {"id": "r1", "when": RULE, "dialect": standin, "title": "Own", "tags": ["x"], "origin": {"team": "blue"}},
        {"id": "r2", "when": '{"b": "x"}', "dialect": standin},
        {"id": "r3", "when": "a = 1", "dialect": "vedette", "title": "not told", "origin": {"team": "red"}},
    ]
    for found in (vd.Subscriptions(SCHEMA), vd.Subscriptions(SCHEMA).live()):
        assert found.add_many(records) == 3
        assert found.origin("r1") == {"title": "Own", "level": "high", "tags": ["x"], "team": "blue"}
        assert found.origin("r2") == {}
        assert found.origin("r3") == {"team": "red"}
        assert found.text("r2") == "b = 'x'"


@pytest.mark.parametrize(
    ("record", "error", "words"),
    [
        ({"when": {}, "dialect": "standin"}, DialectError, "record 0, subscription 'r':\nthe rule is empty"),
        ({"when": {"kind": "odd"}, "dialect": "standin"}, NotSupported, "record 0, subscription 'r': `odd` cannot"),
        ({"when": "a = 1", "dialect": "standing"}, NotSupported, "did you mean 'standin'"),
        ({"when": {"a": 1}}, InputError, "an object needs a dialect"),
        ({"when": ["a"], "dialect": "standin"}, InputError, "'when' must be a text"),
        ({"when": "a = 1", "origin": "me"}, InputError, "`origin` is 'me', not an object"),
        ({"when": "a = 1", "origin": {"x": object()}}, InputError, "no plain object"),
        ({"when": "a = 1", "origin": {"x": "y" * FACTS_BYTES}}, InputError, "more than 65,536"),
    ],
)
def test_bad_records_say_why(standin: str, record: dict[str, Any], error: type[Exception], words: str) -> None:
    for found in (vd.Subscriptions(SCHEMA), vd.Subscriptions(SCHEMA).live()):
        with pytest.raises(error) as raised:
            found.add_many([{"id": "r", **record}])
        assert words in str(raised.value)
        assert len(found) == 0


def test_changes_while_matching(standin: str) -> None:
    with vd.Subscriptions(SCHEMA).live() as live:
        live.add("r", {"a": 1}, dialect=standin)
        live.replace("r", {"a": 2}, dialect=standin, origin={"title": "Two"})
        assert live.match({"a": 2}) == ["r"]
        assert live.origin("r") == {"title": "Two"}
        live.merge()
        assert live.origin("r") == {"title": "Two"}
        assert live.frozen().origin_of("r") == Origin('{"title":"Two"}', "standin", '{"a":2}')


def test_explanations_name_the_rule(subscriptions: vd.Subscriptions) -> None:
    explanation = subscriptions.compile().explain({"a": 2}, "rule")
    assert str(explanation).splitlines()[:2] == ["The event does not match.", "Rule: One (level high, standin)"]
    assert isinstance(explanation, FilterExplanation)
    assert "<p>Rule: <b>One (level high, standin)</b></p>" in explanation._repr_html_()
    assert "Rule" not in str(subscriptions.compile().explain({"a": 2}, "plain"))
