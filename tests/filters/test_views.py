"""Views are matched as the oracle says: by every index, from dicts, single events, tables and snapshots."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.random_json import random_event, random_table
from tests.random_views import random_filter
from tests.seeds import some
from vedette.engine.engine import Engine
from vedette.engine.live import LiveEngine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError
from vedette.filters.index import names
from vedette.filters.live import LiveMatcher
from vedette.filters.matcher import Matcher
from vedette.filters.snapshot_files import MANIFEST, WITH_VETOES
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents


def filters(seed: int, number: int = 60) -> dict[str, str]:
    """Random filters by id."""
    chance = random.Random(seed)
    return {f"s{n}": random_filter(chance) for n in range(number)}


def subscribed(texts: dict[str, str], schema: Schema | None = None) -> Subscriptions:
    """A set of them."""
    made = Subscriptions(schema)
    for id_, text in texts.items():
        made.add(id_, text)
    return made


def expected(texts: dict[str, str], events: list[dict[str, Any]]) -> list[list[str]]:
    """Who should hear of each event."""
    checked = {id_: check(parse(text), None, text) for id_, text in texts.items()}
    return [[id_ for id_, each in checked.items() if evaluate(each, event) is True] for event in events]


def found(matcher: Engine | LiveEngine | Matcher | LiveMatcher, events: Any) -> list[list[str]]:
    """Who hears of each event of a batch."""
    pairs = matcher.match_batch(events)
    who: list[list[str]] = [[] for _ in range(len(events))]
    for event, id_ in zip(pairs["event"].to_pylist(), pairs["subscription"].to_pylist(), strict=True):
        who[event].append(id_)
    return [sorted(ids, key=lambda id_: int(id_[1:])) for ids in who]


@functools.cache
def random_case(seed: int) -> tuple[dict[str, str], list[dict[str, Any]], list[list[str]]]:
    """Filters, events, and who should hear of them."""
    texts = filters(seed)
    chance = random.Random(seed)
    events = [random_event(chance) for _ in range(60)]
    return texts, events, expected(texts, events)


@pytest.mark.parametrize("index", names())
@pytest.mark.parametrize("seed", some(6, usual=2))
def test_dicts_and_single_events(index: str, seed: int, tmp_path: Path) -> None:
    texts, events, told = random_case(seed)
    assert sum(map(len, told)) > 250
    matcher = subscribed(texts).compile(index=index)
    assert found(matcher, events) == told
    assert [matcher.match(event) for event in events] == told
    matcher.save(tmp_path / "snapshot")
    assert json.loads((tmp_path / "snapshot" / MANIFEST).read_text())["version"] == WITH_VETOES
    opened = Matcher.open(tmp_path / "snapshot")
    assert found(opened, events) == told
    assert [opened.match(event) for event in events[:20]] == told[:20]


@pytest.mark.parametrize("index", names())
@pytest.mark.parametrize("seed", some(12, usual=3))
def test_tables(index: str, seed: int) -> None:
    texts = filters(100 + seed, 40)
    matcher = subscribed(texts).compile(index=index)
    chance = random.Random(seed)
    for _ in range(4):
        table = random_table(chance, 12)
        assert found(matcher, table) == expected(texts, TableEvents(table).dicts(["*"])), table.schema


def test_while_they_come_and_go() -> None:
    texts = filters(7, 30)
    chance = random.Random(7)
    events = [random_event(chance) for _ in range(30)]
    live = Subscriptions().live()
    for id_, text in texts.items():
        live.add(id_, text)
    for id_ in list(texts)[::3]:
        live.remove(id_)
        del texts[id_]
    assert found(live, events) == expected(texts, events)


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_written_as_they_are_read(seed: int) -> None:
    for text in filters(200 + seed).values():
        assert parse(render(parse(text))) == parse(text)


def test_explanations_agree_with_the_matches() -> None:
    texts = filters(11, 30)
    matcher = subscribed(texts).compile()
    chance = random.Random(11)
    for event in (random_event(chance) for _ in range(10)):
        told = matcher.match(event)
        for id_ in texts:
            explained = matcher.explain(event, id_)
            assert explained.matched == (id_ in told)
            assert str(explained)


def test_maps_and_structs_of_texts() -> None:
    fields = [[("Image", "C:\\x.EXE"), ("EventID", "1")], [("EventID", "2")], None, [("Image", None)]]
    maps = pa.array(fields, pa.map_(pa.string(), pa.string()))
    table = pa.table({"f": maps, "n": pa.array([1, 2, None, 300])})
    texts = {
        "s0": "text(f.Image) iendswith '.exe'",
        "s1": "text(f.Image) is null",
        "s2": "any(strings(*)) = '2'",
        "s3": "any(texts(*)) in ('2', '300')",
        "s4": "text(n) = '300' or any(numbers(*)) = 1",
        "s5": "leaves(f.EventID) is not null and not text(f.EventID) = '1'",
    }
    matcher = subscribed(texts).compile()
    assert found(matcher, table) == [["s0", "s4"], ["s1", "s2", "s3", "s5"], ["s1"], ["s1", "s3", "s4"]]
    assert found(matcher, table) == expected(texts, TableEvents(table).dicts(["*"]))


def test_a_closed_schema_knows_what_views_read() -> None:
    schema = Schema.of({"d": {"state": "string", "n": "int"}, "attrs": "map of string", "id": "int"})
    fine = (
        "text(id) = '1'",
        "nested(d) is null",
        "leaves(d.n) is null",
        "text(attrs.x) = 'a'",
        "any(strings(*)) = 'a'",
    )
    matcher = subscribed({f"s{n}": text for n, text in enumerate(fine)}, schema).compile()
    assert matcher.match({"id": 1, "d": {"state": "a"}, "attrs": {"x": "a"}, "other": "b"}) == [
        "s0",
        "s1",
        "s2",
        "s3",
        "s4",
    ]
    for text, message in {
        "text(stat) = 'a'": "unknown attribute stat",
        "any(leaves(d.m)) = '1'": "unknown attribute d.m",
        "nested(dd) is null": "unknown attribute dd",
    }.items():
        with pytest.raises(FilterError, match=message):
            check(parse(text), schema, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strings(p) = 'x'", "strings\\(p\\) is a list of string: a test must say which elements it is about"),
        ("any(text(p)) = 'x'", "any\\(\\) is about the elements of a list, and text\\(p\\) is a string"),
        ("text(p) > 5", "text\\(p\\) is a string and cannot be compared with the number 5"),
        ("any(numbers(p)) like 'x'", "numbers\\(p\\) is a float, and like is a test of text"),
        ("text(p) = strings(q)", "strings\\(q\\) cannot be compared with"),
        ("text(p) = q", "text\\(p\\) is a view, which is compared with constants only"),
        ("f(text(p))", "text\\(p\\) is a view"),
        ("f(?v) and text(p) = ?v", "text\\(p\\) is a view"),
        ("text(p) within region box(0, 0, 1, 1)", "text\\(p\\) is a string, and within is a test of a point"),
    ],
)
def test_what_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        check(parse(text), None, text)


def test_a_pattern_of_fits_that_is_none_is_an_error_of_the_text() -> None:
    with pytest.raises(FilterError, match="no event pattern") as caught:
        parse("x = 1 and d fits '{\"a\": 1}'")
    assert (caught.value.start, caught.value.end) == (17, 27)
