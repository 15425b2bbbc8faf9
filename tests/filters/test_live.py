"""Changes while matching, held against evaluating every subscription on every event."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from vedette.engine.live import LiveEngine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, UnknownSubscription
from vedette.filters import live as live_module
from vedette.filters.live import LiveMatcher
from vedette.filters.segment import Segment, SegmentContent
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"n": "int", "s": "string", "f": "float", "tags": "list of string"})


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments so small that every step of their life is seen."""
    monkeypatch.setattr(live_module, "SMALL", 6)
    monkeypatch.setattr(live_module, "MIDDLE", 20)
    monkeypatch.setattr(live_module, "MOST_TESTS", 25)


def random_text(random: Random) -> str:
    """A filter of one to three tests, some in OR, so that a few of them match an event."""
    names = ["'a'", "'b'", "'c'", "'d'"]
    tests: list[Callable[[], str]] = [
        lambda: f"n = {random.randrange(8)}",
        lambda: f"n != {random.randrange(8)}",
        lambda: f"n between {random.randrange(4)} and {random.randrange(4, 9)}",
        lambda: f"n in ({', '.join(str(2 * random.randrange(30)) for _ in range(20))})",
        lambda: "n is null",
        lambda: f"s = {random.choice(names)}",
        lambda: f"s in ({', '.join(random.sample(names, 2))})",
        lambda: f"s > {random.choice(names)}",
        lambda: f"not (s = {random.choice(names)} or f < {random.random():.2f})",
        lambda: f"f >= {random.random():.3f}",
        lambda: f"s {random.choice(['contains', 'startswith', 'not like'])} {random.choice(names)}",
        lambda: f"{random.choice(['any', 'all'])}(tags) {random.choice(['=', '!=', '>'])} {random.choice(names)}",
        lambda: f"not ({random.choice(['any', 'all'])}(tags) = {random.choice(names)})",
    ]
    return random.choice([" and ", " or "]).join(random.choice(tests)() for _ in range(random.randint(1, 3)))


def random_event(random: Random) -> dict[str, Any]:
    """An event that some of these filters match."""
    return {
        "n": random.choice([None, *range(9)]),
        "s": random.choice([None, "a", "b", "c", "dd"]),
        "f": random.choice([None, random.random()]),
        "tags": random.choice([None, [], ["a"], ["a", "b"], ["b", None], ["c", "c"]]),
    }


class Mirror:
    """What a live matcher should know, in the order of addition."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def put(self, id_: str, text: str) -> None:
        """Add, or replace at the end."""
        self.said.pop(id_, None)
        self.said[id_] = check(parse(text), SCHEMA, text)

    def matching(self, event: dict[str, Any]) -> list[str]:
        """The ids that match, the slow way."""
        return [id_ for id_, checked in self.said.items() if evaluate(checked, event) is True]


def _same(matcher: LiveEngine | LiveMatcher, mirror: Mirror, random: Random) -> None:
    events = [random_event(random) for _ in range(5)]
    wanted = [mirror.matching(event) for event in events]
    assert [matcher.match(event) for event in events] == wanted
    table = matcher.match_batch(events)
    found: list[list[str]] = [[] for _ in events]
    for row in table.to_pylist():
        found[row["event"]].append(row["subscription"])
    assert found == wanted
    assert len(matcher) == len(mirror.said)


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_any_change_in_any_order(index: str, seed: int) -> None:
    random = Random(seed)
    start, mirror = Subscriptions(SCHEMA), Mirror()
    for number in range(random.choice([0, 10])):
        text = random_text(random)
        start.add(f"first{number}", text)
        mirror.put(f"first{number}", text)
    with start.live(index) as matcher:
        for number in range(120):
            action = random.random()
            text = random_text(random)
            if action < 0.5 or not mirror.said:
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
                assert other in matcher
                assert matcher.text(other) == text
            elif action < 0.94:
                matcher.merge()
            else:
                many = [{"id": f"m{number}.{i}", "when": random_text(random)} for i in range(random.randint(0, 30))]
                assert matcher.add_many(many) == len(many)
                for record in many:
                    mirror.put(record["id"], record["when"])
            if number % 3 == 0:
                _same(matcher, mirror, random)
        matcher.merge()
        _same(matcher, mirror, random)
        frozen = matcher.frozen()
    event = random_event(random)
    assert frozen.match(event) == matcher.match(event) == mirror.matching(event)


def test_removed_while_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Subscriptions(SCHEMA).live()
    for number in range(12):
        matcher.add(f"s{number}", "n = 1")
    merged, go_on = threading.Event(), threading.Event()
    build = Segment.build

    def slow(*arguments: Any, **options: Any) -> Any:
        segment = build(*arguments, **options)
        if threading.current_thread().name == "vedette-merge":
            merged.set()
            assert go_on.wait(10)
        return segment

    monkeypatch.setattr(Segment, "build", slow)
    merging = threading.Thread(target=matcher.merge)
    merging.start()
    assert merged.wait(10)
    matcher.remove("s3")
    matcher.replace("s5", "n = 2")
    matcher.add("late", "n = 1")
    wanted = [f"s{n}" for n in range(12) if n not in (3, 5)] + ["late"]
    assert matcher.match({"n": 1}) == wanted
    assert matcher.match({"n": 2}) == ["s5"]
    go_on.set()
    merging.join()
    assert not matcher.merging
    assert matcher.match({"n": 1}) == wanted
    assert matcher.match({"n": 2}) == ["s5"]
    matcher.remove("late")
    assert matcher.match({"n": 1}) == wanted[:-1]
    matcher.close()


def _reading(matcher: LiveEngine | LiveMatcher, stop: threading.Event, wrong: list[str]) -> Iterator[None]:
    while not stop.is_set():
        found = matcher.match({"n": 1, "s": "a"})
        pair = [id_ for id_ in found if id_.startswith("pair")]
        if len(pair) != 1:
            wrong.append(f"match: {pair}")
        table = matcher.match_batch([{"n": 1, "s": "a"}] * 3)
        rows = [row for row in table.to_pylist() if row["subscription"].startswith("pair")]
        if [row["event"] for row in rows] != [0, 1, 2]:
            wrong.append(f"batch: {rows}")
        yield


def test_readers_see_every_change_whole() -> None:
    """One id is replaced all the time by something that matches too: it is seen exactly once, always."""
    matcher = Subscriptions(SCHEMA).live()
    matcher.add("pair", "n = 1")
    stop, wrong = threading.Event(), list[str]()

    def read() -> None:
        for _ in _reading(matcher, stop, wrong):
            pass

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    random = Random(1)
    for number in range(60):
        matcher.replace("pair", random.choice(["n = 1", "s = 'a'", "n < 5 or s = 'a'"]))
        matcher.add(f"other{number}", random_text(random))
        if number % 3 == 0:
            matcher.remove(f"other{number}")
    stop.set()
    for reader in readers:
        reader.join()
    matcher.close()
    assert wrong == []
    assert len(matcher) == 41


def test_several_writers() -> None:
    matcher = Subscriptions(SCHEMA).live()

    def write(writer: int) -> None:
        for number in range(30):
            matcher.add(f"w{writer}.{number}", "n = 1")
            if number % 2:
                matcher.remove(f"w{writer}.{number - 1}")

    writers = [threading.Thread(target=write, args=(w,)) for w in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    matcher.close()
    assert sorted(matcher.match({"n": 1})) == sorted(f"w{w}.{n}" for w in range(3) for n in range(1, 30, 2))


def test_what_goes_wrong_changes_nothing() -> None:
    with Subscriptions(SCHEMA).live() as matcher:
        matcher.add("a", "n = 1")
        with pytest.raises(InputError, match="already"):
            matcher.add("a", "n = 2")
        with pytest.raises(FilterError):
            matcher.replace("a", "n = ")
        with pytest.raises(UnknownSubscription, match="'b'"):
            matcher.replace("b", "n = 1")
        with pytest.raises(UnknownSubscription, match="'b'"):
            matcher.remove("b")
        with pytest.raises(InputError, match="'a' already"):
            matcher.add_many([{"id": "c", "when": "n = 1"}, {"id": "a", "when": "n = 1"}])
        with pytest.raises(InputError, match="'c' already"):
            matcher.add_many([{"id": "c", "when": "n = 1"}, {"id": "c", "when": "n = 1"}])
        assert matcher.match({"n": 1}) == ["a"]
    with pytest.raises(InputError, match="closed"):
        matcher.add("d", "n = 1")
    assert matcher.match({"n": 1}) == ["a"]


def test_a_failed_merge_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Subscriptions(SCHEMA).live()
    matcher.add("a", "n = 1")
    build = Segment.build

    def failing(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread().name == "vedette-merge":
            raise MemoryError("no room")
        return build(*arguments, **options)

    monkeypatch.setattr(Segment, "build", failing)
    with pytest.raises(MemoryError, match="no room"):
        matcher.merge()
    monkeypatch.undo()
    assert matcher.match({"n": 1}) == ["a"]
    matcher.merge()
    assert matcher.match({"n": 1}) == ["a"]
    matcher.close()


def test_filters_that_never_match_do_not_after_a_merge_either() -> None:
    start = Subscriptions(SCHEMA)
    start.add("a", "n = 1 and n = 2")
    start.add("b", "n < 1 and n > 2")
    with start.live() as matcher:
        matcher.remove("a")
        matcher.merge()
        assert list(matcher) == ["b"]
        assert matcher.match({"n": 1}) == []


RANGES = " or ".join(f"f between {3 * number} and {3 * number + 1}" for number in range(200))
LIST = ", ".join(str(3 * number) for number in range(200))


@pytest.mark.parametrize("many", [f"n in ({LIST})", f"n not in ({LIST})", RANGES])
def test_a_filter_with_very_many_tests_is_not_built_again_with_every_change(
    many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a list of 20,000 networks would cost everybody who subscribes afterwards a tenth of a second."""
    built: list[int] = []
    build = Segment.build

    def counting(content: SegmentContent, **how: Any) -> Segment:
        built.append(len(content.records.ids))
        return build(content, **how)

    monkeypatch.setattr(Segment, "build", counting)
    live = Subscriptions(SCHEMA).live()
    live.add("many", many)
    for number in range(4):
        live.add(str(number), f"n = {number}")
    assert built[-4:] == [1, 2, 3, 4]
    assert sorted(live.match({"n": 2, "f": 3.0})) == (["2"] if "n in" in many else ["2", "many"])
