"""Reads the notifications of a subscription in order, and resumes after a break.

What was handed over counts as delivered; it is kept for a while, so that a reader who lost some of it can ask again
from the last one that it received. Before the first one, a reader gets its start position (`@41`), so that this holds
for the first notification, too. A reader that is too slow, or was away for too long, gets the number of the oldest that
were dropped. A reader who peeks changes nothing: what it was shown stays pending.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from vedette.service.delivery.hub import Hub
from vedette.service.outbox import Outbox, QueuedNotification
from vedette.service.storage.store import Store
from vedette.service.storage.tables import subscriptions

PAGE: Final = 32  # notifications that are in memory for one reader
_PLACE: Final = "@"  # before a number: a place in the queue, where there is no notification to name
_DIGITS: Final = 19
BEAT: Final = 15.0  # seconds after which a silent connection says that it lives


class DroppedCount(NamedTuple):
    """Number of notifications that were dropped since the reader's last `DroppedCount`."""

    many: int


class Heartbeat(NamedTuple):
    """No notification came for a while; the connection lives."""


class StartPosition(NamedTuple):
    """Position in the queue from which a reader that has no notification yet can resume."""

    place: str


class NotificationReader:
    """Reads the notifications of one subscription, for one connection."""

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        hub: Hub,
        subscription: int,
        *,
        beat: float = BEAT,
        may: Callable[[], bool] = lambda: True,
        peek: bool = False,
    ) -> None:
        self._store, self._outbox, self._hub = store, outbox, hub
        self._subscription = subscription
        self._beat = beat
        self._may = may  # asked before every page: keys are revoked
        self._peek = peek  # nothing that is read counts as delivered
        self._dropped = 0

    async def read(
        self, last: str | None = None, *, acknowledged: bool = False
    ) -> AsyncIterator[QueuedNotification | DroppedCount | Heartbeat | StartPosition]:
        """All that are pending, and all that come; after the notification `last`, if the reader names one.

        It ends when the subscription does, or when the reader may not read any more.

        Unless the reader acknowledges by itself, or peeks, what it has taken is delivered when it asks for more.
        """
        acknowledged = acknowledged or self._peek
        number = None if last is None else await self._number(last)
        position, again = (0, False) if number is None else (number, True)
        if number is None and not acknowledged:
            yield StartPosition(f"{_PLACE}{await run_in_threadpool(self._outbox.start_of, self._subscription)}")
        missed = await run_in_threadpool(self._outbox.missed, self._subscription, number)
        self._dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped - missed
        damaged = self._outbox.damaged[self._subscription]
        with self._hub.waiting(self._subscription) as grown:
            while self._may():
                grown.clear()
                find = self._outbox.since if again else self._outbox.pending
                page = await run_in_threadpool(find, self._subscription, position, PAGE)
                gap = bool(page) and (page[0].number != position + 1 or again)
                if damaged != self._outbox.damaged[self._subscription]:
                    gap, damaged = True, self._outbox.damaged[self._subscription]
                lost = await self._lost(position) if gap else 0  # drops show as a gap
                if lost:
                    yield DroppedCount(lost)
                for one in page:
                    yield one
                    position = one.number
                if page and not acknowledged:
                    await self.delivered(position)
                if not page and not await run_in_threadpool(self._stands):
                    return
                if len(page) < PAGE:
                    again = False
                    try:
                        await asyncio.wait_for(grown.wait(), self._beat)
                    except TimeoutError:
                        yield Heartbeat()

    def _stands(self) -> bool:
        wanted = sa.select(subscriptions.c.number).where(subscriptions.c.number == self._subscription)
        return self._store.read(lambda connection: connection.execute(wanted).first()) is not None

    async def delivered(self, upto: int) -> None:
        """Mark all notifications up to a number as delivered."""
        number = self._subscription
        work = self._store.submit(lambda connection: self._outbox.delivered(connection, number, upto))
        await asyncio.wrap_future(work)

    async def _number(self, last: str) -> int | None:
        """Number of the last notification that the reader has; None if that is not known (any more)."""
        place = last.removeprefix(_PLACE)
        if place != last:
            return int(place) if place.isascii() and place.isdigit() and len(place) < _DIGITS else None
        number = await run_in_threadpool(self._outbox.number_of, self._subscription, last)
        if number is not None and not self._peek:
            await self.delivered(number)
        return number

    async def _lost(self, after: int) -> int:
        """How many were dropped since the last page, which ended at a number."""
        if self._peek:  # what it was shown stays pending, and may be dropped later, which is no loss
            return await run_in_threadpool(self._outbox.missed, self._subscription, after)
        dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped
        lost, self._dropped = dropped - self._dropped, dropped
        return lost
