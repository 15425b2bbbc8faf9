"""What somebody who watches a stream is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from tests.service.running import noticed
from vedette.schema.schema import Schema
from vedette.service.errors import OverLimit
from vedette.service.stream_engine import JournalBatch, Notice
from vedette.service.tenants import ServiceStream
from vedette.service.watchers import MOST, Watchers, WatchSample

STREAM = ServiceStream("s", Schema({}, closed=False), False, 0)
WHOSE = {"a": "acme", "b": "other"}


def batch(numbers: Sequence[int], **more: Any) -> JournalBatch:
    return JournalBatch(
        numbers, [f"e{number}" for number in numbers], [{"x": number, **more} for number in numbers], [0] * len(numbers)
    )


def standing(_: str, id_: str) -> Any:
    return SimpleNamespace(tenant=WHOSE[id_]) if id_ in WHOSE else None


def shown(rate: float, *batches: tuple[JournalBatch, list[Notice]]) -> WatchSample:
    """What a watcher of acme is shown of some batches that come at once."""

    async def watch() -> WatchSample:
        watching = Watchers(standing, lambda *_: True)
        with watching.by("acme", "s", rate) as watcher:
            for some, told in batches:
                watching.heard(STREAM, some, [noticed(*told)])
            await asyncio.wait_for(watcher.news.wait(), 30)
            return watcher.take()

    return asyncio.run(watch())


def test_events_with_what_they_told_the_tenant_and_nobody_else() -> None:
    seen = shown(20, (batch([1, 2]), [Notice(1, "a"), Notice(1, "b"), Notice(2, "b"), Notice(2, "gone")]))
    assert (seen.matched, seen.skipped, seen.told) == (2, 0, 1)
    plain = orjson.loads(orjson.dumps(seen.events))
    assert [(each["id"], each["event"]) for each in plain] == [("e1", {"x": 1}), ("e2", {"x": 2})]
    assert [[one["subscription"] for one in each["told"]] for each in plain] == [["a"], []]


def test_too_many_are_counted_and_those_that_told_something_are_shown() -> None:
    told = [Notice(3, "a"), Notice(500, "a"), Notice(7, "b")]
    seen = shown(4, (batch(range(1, 1001)), told), (batch(range(1001, 1011)), []))
    assert (seen.matched, seen.skipped, seen.told) == (1010, 1006, 2)
    assert [each["number"] for each in seen.events] == [3, 500, 999, 1000]


def test_large_events_are_not_shown() -> None:
    seen = shown(4, (batch([1], text="x" * 100_000), []))
    assert seen.events[0]["event"] is None
    assert seen.events[0]["bytes"] > 100_000


def test_other_streams_and_those_who_left_are_not_heard() -> None:
    async def watch() -> None:
        watching = Watchers(standing, lambda *_: True)
        with watching.by("acme", "s", 5) as watcher:
            watching.heard(STREAM._replace(name="other"), batch([1]), [])
            await asyncio.sleep(0)
            assert not watcher.news.is_set()
        watching.heard(STREAM, batch([1]), [])
        assert watcher.take().matched == 0
        assert len(watching) == 0

    asyncio.run(watch())


def test_only_so_many_watch() -> None:
    async def watch() -> None:
        watching = Watchers(standing, lambda *_: True)
        held = [watching.by("acme", "s", 1) for _ in range(MOST)]
        for each in held:
            each.__enter__()
        with pytest.raises(OverLimit), watching.by("acme", "s", 1):
            pass
        for each in held:
            cast(Any, each).__exit__(None, None, None)
        assert len(watching) == 0

    asyncio.run(watch())
