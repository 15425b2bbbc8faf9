"""Live view of a stream: events as they are matched, with the outcomes for one tenant.

A tenant who may read the stream sees all of its events; others see those that they published, and those that their
subscriptions matched, as notifications have them. A watcher sees some events a second, matched ones first; the others
are counted. So watching costs little, however much happens, and nothing without watchers.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from vedette.service.errors import OverLimit
from vedette.service.rights import Right
from vedette.service.stream_engine import JournalBatch, Notice, Notices
from vedette.service.subscription_registry import Subscription
from vedette.service.tenants import ServiceStream

MOST: Final = 200  # watchers at the same time
_KEPT: Final = 200  # events that wait for a watcher
_BYTES: Final = 16 * 1024  # of an event that is shown
SubscriptionLookup = Callable[[str, str], Subscription | None]  # stream and id -> the subscription, if it is registered
RightCheck = Callable[[str, Right, str], bool]  # whether a tenant has a right on a stream


class WatchSample(NamedTuple):
    """What a watcher is shown at once: some of the events, and how many there were."""

    events: tuple[dict[str, Any], ...]
    matched: int  # events that were matched since the last one
    skipped: int  # of these, not shown
    told: int  # notifications that they made for this tenant


@dataclass(slots=True, eq=False)
class Watcher:
    """A tenant who watches one stream."""

    tenant: str
    stream: str
    rate: float  # events a second
    loop: asyncio.AbstractEventLoop
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _shown: deque[dict[str, Any]] = field(default_factory=deque)
    _matched: int = 0
    _told: int = 0
    _again: int = 0  # of those shown, events that were shown before
    _left: float = 0.0
    _at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._left = self.rate

    def see(self, batch: JournalBatch, told: dict[int, list[Notice]]) -> None:
        """Add some events of a batch; called by the thread that matches."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self.rate, self._left + self.rate * (now - self._at))
            self._at = now
            room = min(int(self._left), _KEPT - len(self._shown))
            for place in _chosen(batch.numbers, told, room):
                self._shown.append(_plain(batch, place, told.get(batch.numbers[place], ())))
                self._left -= 1.0
            self._matched += len(batch)
            self._told += sum(map(len, told.values()))
        self.loop.call_soon_threadsafe(self.news.set)

    def see_later(self, batch: JournalBatch, told: dict[int, list[Notice]]) -> None:
        """Further outcomes of earlier events: these are shown again, as far as there is room."""
        with self._lock:
            for place in range(len(batch)):
                mine = told.get(batch.numbers[place], ())
                if mine and self._left >= 1.0 and len(self._shown) < _KEPT:
                    self._shown.append(_plain(batch, place, mine))
                    self._left -= 1.0
                    self._again += 1
                self._told += len(mine)
        self.loop.call_soon_threadsafe(self.news.set)

    def take(self) -> WatchSample:
        """What has come since the last call."""
        self.news.clear()
        with self._lock:
            events = tuple(self._shown)
            found = WatchSample(events, self._matched, self._matched - (len(events) - self._again), self._told)
            self._shown.clear()
            self._matched = self._told = self._again = 0
        return found


class Watchers:
    """All watchers. `heard` and `heard_later` are called by threads that match, all else on the event loop."""

    def __init__(self, standing: SubscriptionLookup, may: RightCheck) -> None:
        self._standing, self._may = standing, may
        self._watchers: tuple[Watcher, ...] = ()

    def __len__(self) -> int:
        return len(self._watchers)

    @contextmanager
    def by(self, tenant: str, stream: str, rate: float) -> Iterator[Watcher]:
        """Watch a stream for a tenant, as a context; OverLimit if there are too many watchers."""
        if len(self._watchers) >= MOST:
            raise OverLimit(f"{MOST:,} watch already\nHint: try again later", retry_after=5)
        watcher = Watcher(tenant, stream, rate, asyncio.get_running_loop())
        self._watchers = (*self._watchers, watcher)
        try:
            yield watcher
        finally:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

    def wake(self) -> None:
        """Make all watchers check whether they still may watch; to be called from any thread."""
        for each in self._watchers:
            if not each.loop.is_closed():
                each.loop.call_soon_threadsafe(each.news.set)

    def heard(self, stream: ServiceStream, batch: JournalBatch, told: Sequence[Notices]) -> None:
        """A batch was matched."""
        for watcher, mine in self._of_each(stream, told):
            reads = self._may(watcher.tenant, "read", stream.name)
            watcher.see(batch if reads else _of_its_own(batch, watcher.tenant, mine), mine)

    def heard_later(self, stream: ServiceStream, batch: JournalBatch, told: Sequence[Notices]) -> None:
        """The same events have further outcomes, of subscriptions that call operators."""
        for watcher, mine in self._of_each(stream, told):
            if mine:
                watcher.see_later(batch, mine)

    def _of_each(self, stream: ServiceStream, told: Sequence[Notices]) -> list[tuple[Watcher, dict[int, list[Notice]]]]:
        """The watchers of a stream, each with the outcomes of their tenant, by event."""
        watchers = [each for each in self._watchers if each.stream == stream.name]
        if not watchers:
            return []
        mine: dict[str, dict[int, list[Notice]]] = {each.tenant: {} for each in watchers}
        for part in told:
            whose = {place: self._standing(stream.name, id_) for place, id_ in part.subscriptions().items()}
            tenants = {place: one.tenant for place, one in whose.items() if one is not None and one.tenant in mine}
            shown = part.only(np.isin(part.place, list(tenants)))
            for one, place in zip(shown, shown.place.tolist(), strict=True):
                mine[tenants[place]].setdefault(one.event, []).append(one)
        return [(each, mine[each.tenant]) for each in watchers]


def _of_its_own(batch: JournalBatch, tenant: str, told: dict[int, list[Notice]]) -> JournalBatch:
    """The events that a tenant published, or that its subscriptions matched."""
    whose = zip(batch.numbers, batch.tenants, strict=True)
    return batch.only([place for place, (number, by) in enumerate(whose) if by == tenant or number in told])


def _chosen(numbers: Sequence[int], told: dict[int, list[Notice]], room: int) -> list[int]:
    """The positions of the events to show, in order: those with outcomes first, and of all the latest."""
    if len(numbers) <= room:
        return list(range(len(numbers)))
    those = [place for place, number in enumerate(numbers) if number in told]
    others = [place for place, number in enumerate(numbers) if number not in told]
    some = those[max(0, len(those) - room) :]
    rest = room - len(some)
    return sorted([*some, *others[len(others) - rest :]]) if rest > 0 else some


def _plain(batch: JournalBatch, place: int, told: Sequence[Notice]) -> dict[str, Any]:
    body = orjson.dumps(batch.events[place], default=str)
    large = len(body) > _BYTES
    return {
        "number": batch.numbers[place],
        "id": batch.ids[place],
        "bytes": len(body),
        "event": None if large else orjson.Fragment(body),
        "told": [
            {
                "subscription": one.subscription,
                "kind": one.kind,
                "steps": None if one.steps is None else dict(one.steps),
                "probability": one.probability,
                "within": one.within,
            }
            for one in told
        ],
    }
