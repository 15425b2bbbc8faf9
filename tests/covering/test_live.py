"""Changes while matching with covering, held against evaluating every subscription on every event."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.covering.test_matcher import check_levels, some_events, subscribed
from tests.filters.test_live import SCHEMA, Mirror, random_event, random_text
from tests.seeds import some
from vedette.covering.live import LiveCoveringMatcher
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, UnknownSubscription
from vedette.filters import live as live_module
from vedette.language.evaluate import evaluate
from vedette.schema.encode import encode


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments so small that every step of their life is seen."""
    monkeypatch.setattr(live_module, "SMALL", 6)
    monkeypatch.setattr(live_module, "MIDDLE", 20)


def live(start: Subscriptions, index: str = "clusters") -> LiveCoveringMatcher:
    return LiveCoveringMatcher.of(CoveringMatcher.compile(start, index))


def same(matcher: LiveCoveringMatcher, mirror: Mirror, random: Random) -> None:
    """Single events, batches, and the levels of the large segment, whichever way is in use."""
    events = [random_event(random) for _ in range(6)]
    wanted = [mirror.matching(event) for event in events]
    assert [matcher.match(event) for event in events] == wanted
    found: list[list[str]] = [[] for _ in events]
    for row in matcher.match_batch(events).to_pylist():
        found[row["event"]].append(row["subscription"])
    assert found == wanted
    assert len(matcher) == len(mirror.said)
    segment = matcher._settled[0].segment
    if segment.index.name == "levels":
        batch = segment.codebook.code(encode(events, segment.codebook.columns, SCHEMA).data, len(events))
        index: Any = segment.index
        pairs = [
            sorted(zip(*map(np.ndarray.tolist, way(batch)), strict=True))
            for way in (index.match_in_levels, index.flat.match)
        ]
        assert pairs[0] == pairs[1]


def check_covers(matcher: LiveCoveringMatcher, mirror: Mirror, events: list[dict[str, Any]]) -> None:
    """Whoever is covered is so by some that are there and active."""
    covered = matcher.covered
    assert set(covered) <= set(mirror.said)
    for id_, answer in covered.items():
        assert not set(answer.by) & set(covered)
        for event in events:
            if evaluate(mirror.said[id_], event) is True:
                assert any(evaluate(mirror.said[other], event) is True for other in answer.by)


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
@pytest.mark.parametrize("seed", some(4))
def test_any_change_in_any_order(index: str, seed: int) -> None:
    random = Random(seed)
    start, mirror = Subscriptions(SCHEMA), Mirror()
    for number in range(random.choice([0, 40])):
        text = random_text(random)
        start.add(f"first{number}", text)
        mirror.put(f"first{number}", text)
    with live(start, index) as matcher:
        for number in range(100):
            action, text = random.random(), random_text(random)
            if action < 0.45 or not mirror.said:
                matcher.add(f"s{number}", text)
                mirror.put(f"s{number}", text)
            elif action < 0.7:
                gone = random.choice(list(mirror.said))
                matcher.remove(gone)
                del mirror.said[gone]
                assert gone not in matcher
            elif action < 0.9:
                other = random.choice(list(mirror.said))
                matcher.replace(other, text)
                mirror.put(other, text)
            elif action < 0.94:
                matcher.merge()
            else:
                many = [{"id": f"m{number}.{i}", "when": random_text(random)} for i in range(random.randint(0, 30))]
                matcher.add_many(many)
                for record in many:
                    mirror.put(record["id"], record["when"])
            if number % 4 == 0:
                same(matcher, mirror, random)
        check_covers(matcher, mirror, some_events(40, seed))
        matcher.merge()
        same(matcher, mirror, random)
        check_covers(matcher, mirror, some_events(40, seed))
        frozen = matcher.frozen()
        assert frozen.covered == matcher.covered
    events = some_events(300, seed)
    assert frozen.match_batch(events).to_pylist() == matcher.match_batch(events).to_pylist()
    check_levels(frozen, events)


def test_those_below_one_that_is_cancelled_are_found_before_and_after_the_merge() -> None:
    start = Subscriptions(SCHEMA)
    for number in range(10):
        start.add(f"inside{number}", f"n between {number} and 20")
    start.add("wide", "n between 0 and 30")
    with live(start) as matcher:
        assert len(matcher.covered) == 10
        matcher.remove("wide")
        assert set(matcher.covered) == {f"inside{number}" for number in range(1, 10)}
        index: Any = matcher._settled[0].segment.index
        segment = matcher._settled[0].segment
        batch = segment.codebook.code(encode([{"n": 15}], segment.codebook.columns, SCHEMA).data, 1)
        assert len(index.match_in_levels(batch).event) == 11
        wanted = [f"inside{number}" for number in range(10)]
        assert matcher.match({"n": 15}) == wanted
        matcher.merge()
        assert matcher.match({"n": 15}) == wanted
        assert matcher.savings.covered == 9


def test_a_covering_one_that_says_something_else_no_longer_opens_the_way() -> None:
    """After the merge the old text is gone, and nobody may depend on it."""
    start = Subscriptions(SCHEMA)
    start.add("wide", "n between 0 and 30")
    for number in range(10):
        start.add(f"inside{number}", f"n between {number} and 20")
    with live(start) as matcher:
        matcher.replace("wide", "s = 'a'")
        for _ in range(2):
            assert matcher.match({"n": 15}) == [f"inside{number}" for number in range(10)]
            assert matcher.match({"s": "a"}) == ["wide"]
            matcher.merge()
        assert "wide" not in {other for answer in matcher.covered.values() for other in answer.by}


def test_covered_by_one_that_is_not_merged_yet() -> None:
    """What is covered by something newer than the large segment stays on its first level."""
    start = Subscriptions(SCHEMA)
    start.add("wide", "n between 0 and 30")
    for number in range(10):
        start.add(f"inside{number}", f"n between {number} and 20")
    with live(start) as matcher:
        matcher.add("also wide", "n between 0 and 40")
        matcher.remove("wide")
        assert {answer.by for answer in matcher.covered.values()} == {("also wide",)}
        assert matcher.match({"n": 5}) == [*(f"inside{number}" for number in range(6)), "also wide"]
        matcher.merge()
        assert matcher.match({"n": 5}) == [*(f"inside{number}" for number in range(6)), "also wide"]


def test_mistakes_change_nothing() -> None:
    with live(subscribed(1, 20)) as matcher:
        before, events = matcher.covered, some_events(50)
        wanted = matcher.match_batch(events).to_pylist()
        with pytest.raises(InputError, match="already"):
            matcher.add("s1", "n = 1")
        with pytest.raises(FilterError):
            matcher.add("new", "n = = 1")
        with pytest.raises(UnknownSubscription):
            matcher.remove("nobody")
        with pytest.raises(UnknownSubscription):
            matcher.replace("nobody", "n = 1")
        with pytest.raises(InputError, match="already"):
            matcher.add_many([{"id": "new", "when": "n = 1"}, {"id": "s1", "when": "n = 1"}])
        assert matcher.covered == before
        assert matcher.match_batch(events).to_pylist() == wanted
    with pytest.raises(InputError, match="closed"):
        matcher.add("new", "n = 1")


def test_readers_never_miss_one_and_never_hear_twice() -> None:
    """Those that stay are told every time, once, while others that cover them come and go, and parts are merged."""
    start = Subscriptions(SCHEMA)
    for number in range(12):
        start.add(f"stays{number}", f"n between {number % 4} and {9 - number % 3}")
    event: Mapping[str, Any] = {"n": 5}
    wrong: list[list[str]] = []
    stop = threading.Event()
    with live(start) as matcher:

        def read() -> None:
            while not stop.is_set():
                for found in (matcher.match(event), matcher.match_batch([event])["subscription"].to_pylist()):
                    stays = [id_ for id_ in found if id_.startswith("stays")]
                    if sorted(stays) != sorted(f"stays{number}" for number in range(12)) or len(set(found)) < len(
                        found
                    ):
                        wrong.append(found)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(120):
            matcher.add(f"wide{number}", f"n between -{number} and {20 + number}")
            if number % 3:
                matcher.remove(f"wide{number - 1}")
            if number % 20 == 0:
                matcher.replace("stays3", "n between 3 and 8")
                matcher.merge()
        stop.set()
        for reader in readers:
            reader.join()
    assert not wrong


def test_from_a_snapshot(tmp_path: Any) -> None:
    made = subscribed(6)
    CoveringMatcher.compile(made).save(tmp_path / "saved")
    opened = CoveringMatcher.open(tmp_path / "saved")
    mirror, random = Mirror(), Random(6)
    for id_ in made:
        mirror.put(id_, made.text(id_))
    with LiveCoveringMatcher.of(opened) as matcher:
        assert matcher.covered == opened.covered
        for id_ in list(made)[::2]:
            matcher.remove(id_)
            del mirror.said[id_]
        same(matcher, mirror, random)
        check_covers(matcher, mirror, some_events(60))
        matcher.merge()
        same(matcher, mirror, random)
        matcher.frozen().save(tmp_path / "saved")
    again = CoveringMatcher.open(tmp_path / "saved")
    assert again.covered == matcher.covered
    assert len(again) == len(mirror.said)


def test_repr_and_savings() -> None:
    with live(subscribed(1, 20)) as matcher:
        assert repr(matcher).startswith("<LiveCoveringMatcher: 20 subscriptions, ")
        assert matcher.savings.subscriptions == 20
        assert matcher.savings.covered == len(matcher.covered)
