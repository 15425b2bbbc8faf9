from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.random_filters import FILTERS, SCHEMA, random_events
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, SchemaError, UnknownSubscription
from vedette.filters import subscription_view as view_module
from vedette.filters.explain import FilterExplanation
from vedette.filters.index import names
from vedette.filters.matcher import Matcher
from vedette.filters.segment import Segment
from vedette.filters.subscription_table import SubscriptionTable
from vedette.language.ast import And, Filter, Not, Or, TextTest
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.render import render
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema

EVENTS = random_events(40)


def _rows(table: pa.Table) -> list[tuple[Any, str]]:
    return [(row["event"], row["subscription"]) for row in table.to_pylist()]


def _without_text(tree: Filter) -> bool:
    """Some part is a tree that no text stands for: a pattern that is null."""
    if isinstance(tree, And | Or):
        return any(_without_text(part) for part in tree.parts)
    if isinstance(tree, Not):
        return _without_text(tree.part)
    return isinstance(tree, TextTest) and tree.pattern.value is None


@pytest.mark.interpreted
@pytest.mark.parametrize("index", names())
@given(filters=st.lists(FILTERS, min_size=1, max_size=6))
def test_matches_are_those_of_the_evaluation(index: str, filters: list[Filter]) -> None:
    subs = Subscriptions(SCHEMA)
    checked = {}
    for number, tree in enumerate(filters):
        if not _without_text(tree):
            subs.add(str(number), render(tree))
            checked[str(number)] = check(tree, SCHEMA)
    matcher = subs.compile(index)
    wanted = [[id_ for id_, one in checked.items() if evaluate(one, event) is True] for event in EVENTS]
    assert _rows(matcher.match_batch(EVENTS)) == [(e, id_) for e, row in enumerate(wanted) for id_ in row]
    for event, row in zip(EVENTS[:6], wanted, strict=False):
        assert matcher.match(event) == row


def _stock() -> Engine:
    subs = Subscriptions({"issue": "string", "price": "float", "volume": "int"})
    subs.add("cheap", "price < 10", subscriber="alice")
    subs.add("ibm", "issue = 'IBM'")
    subs.add("either", "issue = 'IBM' or price < 10 or volume > 5")
    return subs.compile()


def test_tables_dicts_and_single_events_agree() -> None:
    matcher = _stock()
    events: list[dict[str, Any]] = [{"issue": "IBM", "price": 9.5}, {"issue": "T"}, {"price": 3, "volume": 10}]
    wanted = [(0, "cheap"), (0, "ibm"), (0, "either"), (2, "cheap"), (2, "either")]
    assert _rows(matcher.match_batch(events)) == wanted
    table = pa.table({"issue": ["IBM", "T", None], "price": [9.5, None, 3.0], "volume": [None, None, 10]})
    found = matcher.match_batch(table)
    assert _rows(found) == wanted
    assert found.schema.field("event").type == pa.int64()
    assert pa.types.is_dictionary(found.schema.field("subscription").type)
    assert _rows(matcher.match_batch(table.to_batches()[0])) == wanted
    assert [matcher.match(event) for event in events] == [["cheap", "ibm", "either"], [], ["cheap", "either"]]
    pairs = matcher.match_pairs(events, ordered=True)
    assert list(zip(pairs.event.tolist(), matcher.ids.take(pairs.subscription).to_pylist(), strict=True)) == wanted
    encoded = matcher.encode(events)
    assert sorted(matcher.match_pairs(encoded).subscription.tolist()) == sorted(pairs.subscription.tolist())


def test_events_are_named_by_an_attribute_if_asked() -> None:
    matcher = _stock()
    events = [{"id": "e1", "price": 100.0}, {"id": "e2", "price": 1.0}]
    assert _rows(matcher.match_batch(events, id_column="id")) == [("e2", "cheap"), ("e2", "either")]
    table = pa.table({"id": [7, 8], "price": [100.0, 1.0]})
    assert _rows(matcher.match_batch(table, id_column="id")) == [(8, "cheap"), (8, "either")]
    with pytest.raises(InputError, match="'key'"):
        matcher.match_batch(table, id_column="key")


def test_values_that_break_the_schema_are_never_silently_null() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("none", "n is null")
    matcher = subs.compile()
    events: list[dict[str, Any]] = [{"n": 1}, {"n": "many"}, {}, {"n": 2.5}]
    with pytest.raises(SchemaError, match=r"event 1, attribute 'n'.*and 1 more"):
        matcher.match_batch(events)
    with pytest.raises(SchemaError, match="'n'"):
        matcher.match(events[1])
    rejects: list[Reject] = []
    assert _rows(matcher.match_batch(events, rejects=rejects)) == [(2, "none")]
    assert [(reject.row, reject.attribute) for reject in rejects] == [(1, "n"), (3, "n")]
    assert matcher.match_pairs(events, rejects=[]).event.tolist() == [2]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_pieces_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "PIECE", 128)
    monkeypatch.setattr(view_module, "_PIECE_LEAST", 64)
    monkeypatch.setattr(view_module, "_MATCHES", 400)
    subs = Subscriptions({"n": "int", "s": "string"})
    for number in range(30):
        subs.add(f"s{number}", f"n >= {number} or s = '{number}'")
    random = np.random.default_rng(2)
    numbers, texts = random.integers(0, 40, 1000), random.integers(0, 40, 1000)
    table = pa.table({"n": numbers, "s": pa.array(texts.astype(str))})
    wanted = [
        (e, f"s{i}") for e, (n, s) in enumerate(zip(numbers, texts, strict=True)) for i in range(30) if n >= i or s == i
    ]
    assert _rows(subs.compile().match_batch(table, threads=threads)) == wanted


def test_nothing_to_match_and_nothing_to_match_with() -> None:
    empty = Subscriptions({"n": "int"}).compile()
    assert empty.match({"n": 1}) == []
    assert empty.match_batch([{"n": 1}]).num_rows == 0
    assert len(empty) == 0
    matcher = _stock()
    found = matcher.match_batch([])
    assert found.num_rows == 0
    assert found.schema.names == ["event", "subscription"]
    assert matcher.match_pairs([], threads=2).event.tolist() == []


def test_what_is_always_true_and_never() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("always", "true")
    subs.add("never", "n > 5 and n < 3")
    subs.add("unknown", "n = null")
    matcher = subs.compile()
    assert matcher.match({}) == ["always"]
    assert _rows(matcher.match_batch([{}, {"n": 4}])) == [(0, "always"), (1, "always")]


def test_a_sample_steers_but_does_not_decide() -> None:
    subs = Subscriptions({"n": "int", "s": "string"})
    for number in range(300):
        subs.add(f"s{number}", f"n = {number % 7} and s = '{number % 5}'")
    events: list[dict[str, Any]] = [{"n": n % 7, "s": str(n % 5)} for n in range(70)]
    table = pa.Table.from_pylist(events)
    plain = _rows(subs.compile().match_batch(events))
    assert _rows(subs.compile(sample=events[:10]).match_batch(events)) == plain
    assert _rows(subs.compile(sample=table).match_batch(events)) == plain
    assert _rows(subs.compile(sample=[]).match_batch(events)) == plain


def test_a_matcher_tells_about_itself() -> None:
    matcher = _stock()
    assert len(matcher) == 3
    assert "ibm" in matcher
    assert "other" not in matcher
    assert matcher.text("ibm") == "issue = 'IBM'"
    assert matcher.subscriber("cheap") == "alice"
    assert matcher.subscriber("ibm") is None
    with pytest.raises(UnknownSubscription, match="other"):
        matcher.text("other")
    assert matcher.index == "clusters"
    assert matcher.nbytes > 0
    assert "3 subscriptions" in repr(matcher)
    html = matcher._repr_html_()
    assert "<td>3</td>" in html
    assert "issue, price, volume" in html
    assert matcher.schema == Subscriptions({"issue": "string", "price": "float", "volume": "int"}).schema


def test_why_and_why_not() -> None:
    matcher = _stock()
    explanation = matcher.explain({"issue": "IBM", "price": 11.0}, "cheap")
    assert isinstance(explanation, FilterExplanation)
    assert not explanation.matched
    assert explanation.nearest[0].text == "price < 10"
    assert matcher.explain({"price": 9.0}, "cheap").matched
    events = [{"price": 11.0}, {"issue": "T"}, {"issue": "IBM"}]
    assert matcher.failing(events, "either") == [("issue = 'IBM'", 2), ("price < 10", 2), ("volume > 5", 2)]
    with pytest.raises(UnknownSubscription):
        matcher.explain({}, "other")


def test_filters_that_call_operators_need_these() -> None:
    subscriptions = Subscriptions()
    subscriptions.add("s", "nearBy('Bronx') and mobPattern(?people) and ?people > 50")
    subscriptions.add("plain", "x = 1")
    with pytest.raises(FilterError, match="there is no operator"):
        subscriptions.compile()
    assert subscriptions.compile_filters().match({"x": 1}) == ["plain"]
    assert list(subscriptions.with_operators) == ["s"]


class _Frame:
    """Stands for a data frame, so that no other library is needed."""

    __module__ = "pandas.core.frame"

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(["price"])


@pytest.mark.parametrize(
    ("events", "hint"),
    [
        ({"price": 1.0}, r"a dict, .*\nHint: hand in a list of events; match\(\)"),
        (_Frame(), r"a _Frame, .*\nHint: pyarrow.Table.from_pandas\(events\)"),
        ("price", "a str, .*\nHint: hand in a list of dicts"),
        (None, "a NoneType, .*\nHint: hand in a list of dicts"),
        ([{"price": 1.0}, None], "event 1 is None, not a mapping"),
        ([{"price": 1.0}, [1]], "event 1 is a list, not a mapping"),
    ],
)
def test_what_is_no_batch_of_events(events: Any, hint: str) -> None:
    matcher = _stock()
    for ask in (matcher.match_batch, matcher.match_pairs, matcher.encode):
        with pytest.raises(InputError, match=hint):
            ask(events)
    always = Subscriptions()
    always.add("all", "true")
    with pytest.raises(InputError, match=hint):
        always.compile().match_batch(events, id_column="price")


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([], r"a list, .*\nHint: match_batch\(\)"),
        ([{"price": 1.0}] * 9, r"a list, .*\nHint: match_batch\(\)"),
        (pa.table({"price": [1.0]}), r"a Table, .*\nHint: match_batch\(\)"),
        ("price", "a str, .*\nHint: an event is a mapping"),
        (None, "None, .*\nHint: an event is a mapping"),
        (5, "an int, "),
    ],
)
@pytest.mark.parametrize("when", ["true", "price < 10", "a.b = 5", "any(tags) = 'x'", "price < 10 and a.b = 5"])
def test_what_is_no_event(event: Any, message: str, when: str) -> None:
    subs = Subscriptions()
    subs.add("one", when)
    for matcher in (subs.compile(), subs.live()):
        with pytest.raises(InputError, match=f"the event is {message}"):
            matcher.match(event)
        with pytest.raises(InputError, match=f"the event is {message}"):
            matcher.explain(event, "one")


def test_failing_takes_tables_too() -> None:
    subs = Subscriptions({"price": "float", "at.day": "timestamp", "tags": "map of string", "limit": "float"})
    subs.add("a", "price < 10 and at.day > '2024-01-01' and tags.colour = 'red' and price < limit")
    matcher = subs.compile()
    moment = pa.array([1_700_000_000_000_000_001, 1_800_000_000_000_000_000, None], pa.timestamp("ns"))
    table = pa.table(
        {
            "price": [9.0, 11.0, 12.0],
            "at": pa.StructArray.from_arrays([moment], ["day"]),
            "tags": pa.array([[("colour", "red")], [], None], pa.map_(pa.string(), pa.string())),
            "limit": [10.0, 20.0, 5.0],
            "other": [b"\xff", b"", b""],
        }
    )
    wanted = [("price < 10", 2), ("at.day > '2024-01-01'", 2), ("tags.colour = 'red'", 2), ("price < limit", 1)]
    assert matcher.failing(table, "a") == wanted
    assert matcher.failing(table.combine_chunks().to_batches()[0], "a") == wanted
    assert matcher.failing(table.select(["other"]), "a") == [(text, 3) for text, _ in wanted]
    bad: list[Any] = [{"price": 1.0}, [{"price": 1.0}, 7], _Frame(), None]
    for events in bad:
        with pytest.raises(InputError, match="Hint"):
            matcher.failing(events, "a")


def test_ids_of_events_that_are_not_there() -> None:
    matcher = _stock()
    events: list[dict[str, Any]] = [{"id": "e1", "price": 1.0}, {"price": 1.0}]
    assert _rows(matcher.match_batch(events, id_column="id"))[::2] == [("e1", "cheap"), (None, "cheap")]
    with pytest.raises(InputError, match=r"no event has the attribute 'nope'\nHint: they have e.g. id, price"):
        matcher.match_batch(events, id_column="nope")
    assert matcher.match_batch([], id_column="nope").num_rows == 0
    with pytest.raises(InputError, match="'id' are of several types"):
        matcher.match_batch([{"id": 1}, {"id": "x"}], id_column="id")


def test_a_matcher_lists_its_ids_and_counts_in_words() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("a", "n = 1")
    assert "<Engine: 1 subscription, index" in repr(subs.compile())
    with subs.live() as live:
        assert "<LiveEngine: 1 subscription (1), index" in repr(live)
        live.add("b", "n = 1")
        live.add("c", "n = 1")
        live.remove("a")
        assert list(live) == ["b", "c"]
        assert "2 subscriptions" in repr(live)
        assert list(live.frozen()) == ["b", "c"]
    assert list(_stock()) == ["cheap", "ibm", "either"]


# ---------------------------------------------------------------- versions


def _versioned(*records: tuple[str, str, str | None], schema: object = None, index: str = "clusters") -> str:
    subs = Subscriptions(schema or {"price": "float", "issue": "string"})  # type: ignore[arg-type]
    for id_, when, subscriber in records:
        subs.add(id_, when, subscriber=subscriber)
    return subs.compile(index).version


ONE, TWO = ("s1", "price < 3", "ann"), ("s2", "issue = 'é'", None)


def test_the_same_subscriptions_have_the_same_version(tmp_path: Path) -> None:
    version = _versioned(ONE, TWO)
    assert re.fullmatch("[0-9a-f]{12}", version)
    assert {_versioned(ONE, TWO, index=index) for index in names()} == {version}
    assert _versioned(ONE, TWO, schema={"issue": "string", "price": "float"}) == version
    subs = Subscriptions({"price": "float", "issue": "string"})
    subs.add("gone", "price > 1")
    subs.add(ONE[0], ONE[1], subscriber=ONE[2])
    subs.add(TWO[0], TWO[1])
    subs.remove("gone")  # its bytes may still lie before those of the others
    matcher = subs.compile(sample=[{"price": 2.0}])
    assert matcher.version == version
    matcher.save(tmp_path / "snapshot")
    assert Matcher.open(tmp_path / "snapshot").version == version


def test_every_difference_gives_another_version() -> None:
    versions = [
        _versioned(ONE, TWO),
        _versioned(TWO, ONE),
        _versioned(ONE),
        _versioned(),
        _versioned(("s1", "price < 3", "bob"), TWO),
        _versioned(("s1", "price < 3", None), TWO),
        _versioned(("s1", "price < 3", ""), TWO),
        _versioned(("s1", "price <  3", "ann"), TWO),
        _versioned(("s", "price < 3", "ann"), TWO),
        _versioned(ONE, TWO, schema={"price": "int", "issue": "string"}),
        _versioned(ONE, TWO, schema={"price": "float", "issue": "mixed"}),
        _versioned(ONE, TWO, schema=Schema.of({"price": "float", "issue": "string"}, closed=False)),
    ]
    assert len(set(versions)) == len(versions)


def test_where_there_are_no_texts_the_version_tells_what_was_compiled() -> None:
    def version(*whens: str, index: str = "scan") -> str:
        subs = Subscriptions(SCHEMA)
        for number, when in enumerate(whens):
            subs.add(str(number), when)
        drawn = subs.drawn()
        bare = replace(drawn, records=SubscriptionTable.of(drawn.records.ids))
        return Matcher.of(Segment.build(bare, index=index), SCHEMA).version

    texts = ["i < 3", "i < 4", "s = 'a'", "s = 'b'", "s < 'a'", "s in ('a', 'b') and i = 3", "s like '%x%'"]
    assert len({version(text) for text in texts}) == len(texts)
    assert version(*texts) == version(*texts, index="clusters") != version(*texts[1:], texts[0])
