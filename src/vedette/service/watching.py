"""What happens on a stream, for somebody who watches: events as they are matched, and what they tell this tenant.

A watcher sees some events a second, those first that told it something; the others are counted. So watching costs
little, however much happens, and nothing while nobody does.
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

import orjson

from vedette.service.engine import Batch, Told
from vedette.service.errors import OverLimit
from vedette.service.registry import Subscription
from vedette.service.tenants import Stream

MOST: Final = 200  # watchers at the same time
_KEPT: Final = 200  # events that wait for a watcher
_BYTES: Final = 16 * 1024  # of an event that is shown
Standing = Callable[[str, str], Subscription | None]  # of a stream and an id: what stands there


class Glimpse(NamedTuple):
    """What a watcher is shown at once: some of the events, and how many there were."""

    events: tuple[dict[str, Any], ...]
    matched: int  # events that were matched since the last one
    skipped: int  # of these, not shown
    told: int  # notifications that they made for this tenant


@dataclass(slots=True, eq=False)
class Watcher:
    """Somebody who watches one stream."""

    tenant: str
    stream: str
    rate: float  # events a second
    loop: asyncio.AbstractEventLoop
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _shown: deque[dict[str, Any]] = field(default_factory=deque)
    _matched: int = 0
    _told: int = 0
    _left: float = 0.0
    _at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._left = self.rate

    def see(self, batch: Batch, told: dict[int, list[Told]]) -> None:
        """Take some of a batch; called by the thread that matches."""
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

    def take(self) -> Glimpse:
        """What there was since this was last asked."""
        self.news.clear()
        with self._lock:
            events = tuple(self._shown)
            found = Glimpse(events, self._matched, self._matched - len(events), self._told)
            self._shown.clear()
            self._matched = self._told = 0
        return found


class Watching:
    """All who watch. `heard` is called by the thread that matches, all else on the event loop."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._watchers: tuple[Watcher, ...] = ()

    def __len__(self) -> int:
        return len(self._watchers)

    @contextmanager
    def by(self, tenant: str, stream: str, rate: float) -> Iterator[Watcher]:
        """Let a tenant watch a stream; OverLimit if too many do."""
        if len(self._watchers) >= MOST:
            raise OverLimit(f"{MOST:,} watch already\nHint: try again later", retry_after=5)
        watcher = Watcher(tenant, stream, rate, asyncio.get_running_loop())
        self._watchers = (*self._watchers, watcher)
        try:
            yield watcher
        finally:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

    def wake(self) -> None:
        """Let all who watch look whether they still may."""
        for each in self._watchers:
            each.news.set()

    def heard(self, stream: Stream, batch: Batch, told: list[Told]) -> None:
        """A batch was matched."""
        watchers = [each for each in self._watchers if each.stream == stream.name]
        if not watchers:
            return
        mine: dict[str, dict[int, list[Told]]] = {each.tenant: {} for each in watchers}
        for one in told:
            whose = self._standing(stream.name, one.subscription)
            if whose is not None and whose.tenant in mine:
                mine[whose.tenant].setdefault(one.event, []).append(one)
        for each in watchers:
            each.see(batch, mine[each.tenant])


def _chosen(numbers: Sequence[int], told: dict[int, list[Told]], room: int) -> list[int]:
    """The places of events that are shown, in order: those that told something first, of all the latest."""
    if len(numbers) <= room:
        return list(range(len(numbers)))
    those = [place for place, number in enumerate(numbers) if number in told]
    others = [place for place, number in enumerate(numbers) if number not in told]
    some = those[max(0, len(those) - room) :]
    rest = room - len(some)
    return sorted([*some, *others[len(others) - rest :]]) if rest > 0 else some


def _plain(batch: Batch, place: int, told: Sequence[Told]) -> dict[str, Any]:
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
