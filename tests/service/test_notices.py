"""What events tell, as columns from the engine to the notifications."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SnapshotError
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.service.notification import NotificationTemplate
from vedette.service.stream_engine import EngineSubscription, JournalBatch, Notice, StreamEngine
from vedette.service.subscription_registry import Subscription

OPEN = Schema({}, closed=False)


@operator("halves", outputs=1, reads=("x",))
def halves(event: Any) -> list[int]:
    return [event["x"] // 2]


def batch(*values: int, first: int = 1) -> JournalBatch:
    numbers = range(first, first + len(values))
    events = [{"x": value, "time": 1_700_000_000 + number} for number, value in zip(numbers, values, strict=True)]
    return JournalBatch(numbers, [f"e{number}" for number in numbers], events, [0] * len(values))


def mixture() -> StreamEngine:
    engine = StreamEngine(OPEN, operators=Operators(halves))
    some = {"plain": "x >= 2", "call": "halves(?half) and ?half > 0", "pattern": "a:[x = 1] ; b:[x = $v and x > 2]"}
    assert engine.add_many([EngineSubscription(id_, when) for id_, when in some.items()]) == []
    return engine


def test_a_mixture_tells_numbers_of_the_journal_and_ids_of_events() -> None:
    with mixture() as engine:
        told = engine.match(batch(1, 2, 3, first=40))
        assert list(told) == [
            Notice(41, "plain"),
            Notice(41, "call", bindings={"half": "1"}),
            Notice(42, "plain"),
            Notice(42, "call", bindings={"half": "1"}),
            Notice(42, "pattern", steps={"a": "e40", "b": "e42"}, bindings={"v": "3"}),
        ]
        assert told.counts() == {"plain": 2, "call": 2, "pattern": 1}
        later = told.only(told.event == 42)
        assert list(later) == list(told)[2:]
        assert [list(told.at(row)) for row in range(len(told))] == [[one] for one in told]
        assert list(told.only(np.zeros(5, np.bool_))) == []


def test_patterns_that_wait_tell_of_events_of_earlier_batches() -> None:
    with StreamEngine(OPEN, lateness=dt.timedelta(seconds=10)) as engine:
        engine.take([EngineSubscription("p", "a:[x = 1] ; b:[x = 2]")])
        assert list(engine.match(batch(1, 2, first=7))) == []
        state = engine.to_bytes()
        for _ in range(2):
            assert list(engine.match(batch(0, first=30))) == [Notice(8, "p", steps={"a": "e7", "b": "e8"})]
            engine.restore(state)  # the same again after a crash


def test_a_state_that_version_0_1_wrote_is_read() -> None:
    patterns = Subscriptions(OPEN)
    patterns.add("p", "a:[x = 1] ; b:[x = 2]")
    with StreamMatcher(patterns) as stream, StreamEngine(OPEN) as engine:
        before = batch(1, 5, first=100)
        stream.process(before.events, ids=[f"{n} {id_}" for n, id_ in zip(before.numbers, before.ids, strict=True)])
        engine.restore(stream.to_bytes())
        engine.add_many([EngineSubscription("f", "x = 2"), EngineSubscription("p", "a:[x = 1] ; b:[x = 2]")])
        assert list(engine.match(batch(2, first=102))) == [
            Notice(102, "f"),
            Notice(102, "p", steps={"a": "e100", "b": "e102"}),
        ]


def test_a_state_that_is_none_is_refused() -> None:
    with StreamEngine(OPEN) as engine:
        engine.take([EngineSubscription("p", "[x = 1] ; [x = 2]")])
        engine.restore(b"something else")
        with pytest.raises(SnapshotError):
            engine.match(batch(1))


def test_what_has_no_state_keeps_none() -> None:
    with StreamEngine(OPEN) as engine:
        engine.take([EngineSubscription("p", "[x = 1] ; [x = 2]")])
        engine.match(batch(1))
        assert engine.to_bytes() is not None
        engine.remove_many(["p"])
        engine.take([EngineSubscription("f", "x = 1")])
        engine.match(batch(1, first=2))
        assert engine.to_bytes() is None


def test_what_only_patterns_cannot_read_counts_for_filters() -> None:
    with StreamEngine(OPEN) as engine:
        engine.add_many([EngineSubscription("f", "x > 0"), EngineSubscription("p", "[x > 0]")])
        rejects: list[Reject] = []
        some = JournalBatch([1, 2], ["a", "b"], [{"x": 1, "time": "never"}, {"x": 2}], [0, 0])
        assert [(one.event, one.subscription) for one in engine.match(some, rejects)] == [(1, "f"), (2, "f"), (2, "p")]
        assert [reject.row for reject in rejects] == [0]


def test_those_that_cannot_stand_are_found_among_many() -> None:
    with StreamEngine(OPEN, operators=Operators(halves)) as engine:
        texts = {"a": "x = 1", "b": "x = ", "c": "[x = 1] ; [nobody()]", "d": "halves(?y)", "e": "[x = 1]", "f": "no()"}
        refused = engine.add_many([EngineSubscription(id_, when) for id_, when in texts.items()])
        assert sorted(id_ for id_, _ in refused) == ["b", "c", "f"]
        assert list(engine) == ["a", "d", "e"]


@pytest.mark.parametrize("subscriber", [None, 'ann "the\\first" ü'])
@pytest.mark.parametrize("origin", [None, {"title": "t", "tags": ["a"]}])
@pytest.mark.parametrize("body", [None, b'{"x":1}'])
def test_what_is_said_in_short_is_what_is_said_in_full(
    subscriber: str | None, origin: dict[str, Any] | None, body: bytes | None
) -> None:
    one = Subscription(
        *(3, "s_1", "acme", "default", subscriber, "filter", "x = 1", None, None, origin, None),
        *({"type": "queue"}, 2, 0, 0, 0, 1.0),
    )
    form = NotificationTemplate(one, "2026-01-01T00:00:00Z")
    for event in (1, 12_345_678_901):
        assert form.plain(event, body) == form.full(Notice(event, "s_1"), 0, body)
