"""Matching with covering: the same matches as without, whatever is asked for; what it saves; snapshots."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract import random_filters as all_types
from tests.filters.test_live import SCHEMA as SMALL_SCHEMA
from tests.filters.test_live import random_event, random_text
from tests.language.random_filters import FILTERS, SCHEMA, random_events
from tests.seeds import EXAMPLES, some
from vedette.covering.coverage import CoverDecisions, breadth, cover_all
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, NotSupported, SnapshotError, UnknownSubscription
from vedette.filters.matcher import Matcher
from vedette.filters.snapshot_files import SnapshotReader, SnapshotWriter
from vedette.filters.subscription_table import SubscriptionTable
from vedette.filters.subscription_view import Events
from vedette.filters.templates import Templates
from vedette.language.ast import Filter
from vedette.language.render import render
from vedette.schema.encode import encode

EVENTS = random_events(120)
METHODS: tuple[Any, ...] = ("auto", "pairwise", "exact")


def subscribed(seed: int = 0, count: int = 80) -> Subscriptions:
    """Filters of few values, so that many cover others."""
    random, made = Random(seed), Subscriptions(SMALL_SCHEMA)
    for number in range(count):
        made.add(f"s{number}", random_text(random), subscriber=f"who{number % 7}")
    return made


def some_events(count: int, seed: int = 1) -> list[dict[str, Any]]:
    random = Random(seed)
    return [random_event(random) for _ in range(count)]


def check_levels(matcher: CoveringMatcher, events: Events) -> None:
    """Level by level, whichever way is in use."""
    levels, segment = matcher.levels, matcher.segment
    if levels is None:
        return
    batch = segment.codebook.code(encode(events, segment.codebook.columns, matcher.schema).data, len(events))
    found = [
        sorted(zip(*(each.tolist() for each in way(batch)), strict=True))
        for way in (levels.match_in_levels, levels.flat.match)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("method", METHODS)
def test_the_same_matches_for_filters_of_every_type(method: Any) -> None:
    made = Subscriptions(all_types.SCHEMA)
    for number, one in enumerate(all_types.random_filters()[:600]):
        made.add(f"s{number}", one.ours)
    events = all_types.events()
    plain, covering = made.compile(), CoveringMatcher.compile(made, method=method)
    assert len(covering.covered) > 100
    assert covering.levels is not None
    wanted = plain.match_rows(events, ordered=True)
    for _ in range(3):
        found = covering.match_rows(events, ordered=True)
        assert np.array_equal(found.start, wanted.start)
        assert np.array_equal(found.subscription, wanted.subscription)
    check_levels(covering, events)
    assert list(covering) == list(plain)
    assert covering.ids == plain.ids


def is_text(filter_: Filter) -> bool:
    """Not every tree of the language can be written."""
    try:
        Templates(SCHEMA).normal_form(render(filter_))
    except FilterError:
        return False
    return True


TEXTS = FILTERS.filter(is_text).map(render)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=10), st.integers(0, 80))
def test_the_same_matches_whatever_the_filters_say(texts: list[str], first: int) -> None:
    made = Subscriptions(SCHEMA)
    for number, text in enumerate(texts):
        made.add(f"s{number}", text)
    covering = CoveringMatcher.compile(made)
    events = EVENTS[first : first + 40]
    assert covering.match_batch(events).to_pylist() == made.compile().match_batch(events).to_pylist()
    check_levels(covering, events)


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
@pytest.mark.parametrize("seed", some(3))
def test_everything_that_is_asked_of_a_matcher(index: str, seed: int) -> None:
    made = subscribed(seed)
    plain, covering = made.compile(index), CoveringMatcher.compile(made, index, sample=some_events(300, 5))
    events = some_events(700, seed)
    assert covering.index == index
    assert covering.version == plain.version
    assert len(covering) == len(plain)
    assert covering.match_batch(events).equals(plain.match_batch(events))
    assert covering.match_batch(events, threads=2).equals(plain.match_batch(events))
    pairs, wanted = covering.match_pairs(events, ordered=True), plain.match_pairs(events, ordered=True)
    assert np.array_equal(pairs.event, wanted.event)
    assert np.array_equal(pairs.subscription, wanted.subscription)
    for event in events[:200]:
        assert covering.match(event) == plain.match(event)
    assert covering.text("s3") == plain.text("s3")
    assert covering.subscriber("s3") == "who3"
    assert covering.explain(events[0], "s3") == plain.explain(events[0], "s3")
    with pytest.raises(UnknownSubscription):
        covering.text("nobody")


def test_what_it_saves() -> None:
    made = Subscriptions({"n": "int", "m": "int"})
    for number in range(50):
        made.add(f"inside{number}", f"n between {number} and {number + 9} and m > {number}")
    made.add("wide", "n between 0 and 100")
    made.add("elsewhere", "m < -5")
    covering = CoveringMatcher.compile(made)
    saved = covering.savings
    assert (saved.subscriptions, saved.active, saved.covered) == (52, 2, 50)
    assert saved.extra_bytes > 0
    assert covering.covered["inside7"].by == ("wide",)
    assert covering.levels is not None
    batch = covering.segment.codebook.code(
        encode([{"n": n, "m": 3} for n in range(-100, 100)], covering.segment.codebook.columns, made.schema).data, 200
    )
    covering.count_anew()
    covering.levels.match_in_levels(batch)
    assert (covering.savings.events, covering.savings.reached) == (200, 100)
    assert str(covering.savings).startswith(
        "50 of 52 subscriptions are covered by others; 100 of 200 events reached them"
    )


def test_nobody_hangs_below_one_that_everything_matches() -> None:
    made = Subscriptions({"n": "int"})
    made.add("everything", "true")
    made.add("present", "n is not null")
    for number in range(30):
        made.add(f"inside{number}", f"n between {number} and {60 - number}")
    made.add("wide", "n between 0 and 90")
    events = [{"n": n} for n in range(1000)]
    covering = CoveringMatcher.compile(made, sample=events)
    assert len(covering.covered) == 32
    assert covering.covered["inside3"].by == ("everything",)
    assert covering.levels is not None
    assert covering.segment.records.names(covering.levels.plan.first.tolist()) == ["wide", "everything", "present"]
    check_levels(covering, events)
    assert covering.match_batch(events).equals(made.compile().match_batch(events))


def test_nothing_is_built_where_nothing_is_covered() -> None:
    made = Subscriptions({"n": "int"})
    for number in range(50):
        made.add(f"s{number}", f"n = {number}")
    covering = CoveringMatcher.compile(made)
    assert covering.levels is None
    assert covering.savings.extra_bytes == 0
    assert covering.match({"n": 7}) == ["s7"]
    assert str(covering.savings).startswith("0 of 50 subscriptions are covered by others")


def test_wide_ones_are_decided_first() -> None:
    made = Subscriptions({"s": "string", "n": "int"})
    made.add("narrow", "n = 3 and s = 'abc'")
    made.add("prefix", "s startswith 'ab' and n > 0")
    made.add("wide", "s startswith 'a'")
    covering = CoveringMatcher.compile(made)
    assert set(covering.covered) == {"narrow", "prefix"}


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(TEXTS, TEXTS)
def test_what_covers_another_alone_is_no_narrower(one: str, other: str) -> None:
    templates = Templates(SCHEMA)
    forms = [templates.normal_form(each) for each in (one, other)]
    if all(len(form.conjunctions) == 1 for form in forms):
        records = SubscriptionTable.of(["one", "other"], [one, other])
        for id_, answer in cover_all(records, SCHEMA).covered.items():
            own, by = (forms[0], forms[1]) if id_ == "one" else (forms[1], forms[0])
            assert not answer.by or breadth(by) >= breadth(own)


def test_what_cannot_be_covered_is_refused() -> None:
    made = subscribed(count=5)
    with pytest.raises(InputError, match="would be lost"):
        CoveringMatcher.compile(made, method="sampling")
    made.add("pattern", "[n = 1] , [n = 2]")
    assert len(CoveringMatcher.compile(made)) == 5


def test_without_texts_nothing_can_be_compared() -> None:
    segment = subscribed(count=5).compile().segment
    table = segment.records.table.set_column(1, "when", pa.nulls(5, pa.large_string()))
    with pytest.raises(NotSupported, match="without their texts"):
        cover_all(SubscriptionTable(table), SMALL_SCHEMA)


def test_covered_by_somebody_who_is_not_there_stays_on_the_first_level() -> None:
    made = subscribed(3)
    found = cover_all(made.compile().segment.records, made.schema)
    gone = next(iter(answer.by[0] for answer in found.covered.values() if answer.by))
    made.remove(gone)
    plain = made.compile()
    covering = CoveringMatcher.beside(plain.segment, plain.schema, CoverDecisions(dict(found.covered)))
    events = some_events(300)
    assert covering.match_batch(events).equals(plain.match_batch(events))
    check_levels(covering, events)


# ---------------------------------------------------------------- snapshots


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
def test_saved_and_opened(index: str, tmp_path: Path) -> None:
    covering = CoveringMatcher.compile(subscribed(2), index, method="pairwise", budget=77)
    covering.save(tmp_path / "saved")
    again = CoveringMatcher.open(tmp_path / "saved", verify=True)
    assert again.covered == covering.covered
    assert (again.found.method, again.found.budget) == ("pairwise", 77)
    assert again.index == index
    assert again.version == covering.version
    assert (again.levels is None) == (covering.levels is None)
    events = some_events(400)
    assert again.match_batch(events).equals(covering.match_batch(events))
    check_levels(again, events)
    assert Matcher.open(tmp_path / "saved").match_batch(events).equals(covering.match_batch(events))


def test_saved_again_over_an_older_one(tmp_path: Path) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "saved")
    newer = CoveringMatcher.compile(subscribed(4))
    newer.save(tmp_path / "saved")
    assert CoveringMatcher.open(tmp_path / "saved").covered == newer.covered


def test_nothing_covered_is_saved_too(tmp_path: Path) -> None:
    made = Subscriptions({"n": "int"})
    made.add("only", "n = 1")
    CoveringMatcher.compile(made).save(tmp_path / "saved")
    assert CoveringMatcher.open(tmp_path / "saved").match({"n": 1}) == ["only"]


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "one")
    CoveringMatcher.compile(subscribed(3)).save(tmp_path / "other")
    shutil.rmtree(tmp_path / "one" / "covering")
    shutil.copytree(tmp_path / "other" / "covering", tmp_path / "one" / "covering")
    with pytest.raises(SnapshotError, match="with other subscriptions"):
        CoveringMatcher.open(tmp_path / "one")


def test_a_folder_that_has_no_covering(tmp_path: Path) -> None:
    subscribed(2).compile().save(tmp_path / "plain")
    with pytest.raises(SnapshotError, match="without covering"):
        CoveringMatcher.open(tmp_path / "plain")


def rewritten(folder: Path, change: Callable[[str, Any], Any], **facts: Any) -> None:
    """The same folder with other arrays and facts, and checksums that fit."""
    reader = SnapshotReader(folder)
    arrays = {name: change(name, np.array(reader.array(name))) for name in reader.names("")}
    answers = reader.arrow("answers")
    with SnapshotWriter(folder) as writer:
        for name, array in arrays.items():
            if array is not None:
                writer.array(name, array)
        writer.arrow("answers", answers)
        writer.finish({**{name: reader.facts[name] for name in ("plain", "covered", "method", "budget")}, **facts})


def test_levels_of_other_conjunctions(tmp_path: Path) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "saved")
    rewritten(tmp_path / "saved" / "covering", lambda name, array: array)
    CoveringMatcher.open(tmp_path / "saved")
    rewritten(tmp_path / "saved" / "covering", lambda name, array: array[:-1] if name.endswith("plan.first") else array)
    with pytest.raises(SnapshotError, match="not those of the conjunctions"):
        CoveringMatcher.open(tmp_path / "saved")


@pytest.mark.parametrize(
    ("facts", "match"), [({"covered": 3}, "manifest says"), ({"method": "guess"}, "manifest says")]
)
def test_facts_that_do_not_fit(tmp_path: Path, facts: dict[str, Any], match: str) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "saved")
    rewritten(tmp_path / "saved" / "covering", lambda name, array: array, **facts)
    with pytest.raises(SnapshotError, match=match):
        CoveringMatcher.open(tmp_path / "saved")


def test_an_array_that_is_missing(tmp_path: Path) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "saved")
    rewritten(tmp_path / "saved" / "covering", lambda name, array: None if name.endswith("plan.gate") else array)
    with pytest.raises(SnapshotError, match="does not fit together"):
        CoveringMatcher.open(tmp_path / "saved")


def test_a_damaged_file(tmp_path: Path) -> None:
    CoveringMatcher.compile(subscribed(2)).save(tmp_path / "saved")
    path = tmp_path / "saved" / "covering" / "levels.plan.gate.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(SnapshotError, match="damaged"):
        CoveringMatcher.open(tmp_path / "saved")


def test_something_else_than_a_set_is_refused() -> None:
    with pytest.raises(InputError, match="a dict is no set of subscriptions"):
        CoveringMatcher.compile({"s1": "x = 1"})  # type: ignore[arg-type]
