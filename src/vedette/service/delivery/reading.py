"""How does somebody read the notifications of a subscription, one after the other, and go on after a break?

What was handed over counts as delivered; it is kept for a while, so that a reader who lost some of it can ask again
from the last one that came through. A reader that is too slow is told how many of the oldest were dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from vedette.service.delivery.hub import Hub
from vedette.service.outbox import Notification, Outbox
from vedette.service.storage.store import Store
from vedette.service.storage.tables import subscriptions

PAGE: Final = 32  # notifications that are in memory for one reader
BEAT: Final = 15.0  # seconds after which a silent connection says that it lives


class Dropped(NamedTuple):
    """So many notifications were dropped since the reader was last told."""

    many: int


class Beat(NamedTuple):
    """Nothing happened, and all is well."""


class Reader:
    """Notifications of one subscription, for one connection."""

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        hub: Hub,
        subscription: int,
        *,
        beat: float = BEAT,
        may: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store, self._outbox, self._hub = store, outbox, hub
        self._subscription = subscription
        self._beat = beat
        self._may = may  # asked before every page: keys are revoked
        self._dropped = 0

    async def read(
        self, last: str | None = None, *, acknowledged: bool = False
    ) -> AsyncIterator[Notification | Dropped | Beat]:
        """All that waits, and all that comes; after the notification `last`, if the reader names one.

        It ends when the subscription does, or when the reader may not read any more.
        Unless the reader acknowledges by itself, what it has taken is delivered when it asks for more.
        """
        position, again = await self._from(last)
        self._dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped
        with self._hub.waiting(self._subscription) as grown:
            while self._may():
                grown.clear()
                find = self._outbox.since if again else self._outbox.pending
                page = await run_in_threadpool(find, self._subscription, position, PAGE)
                lost = await self._lost(page, position)
                if lost:
                    yield Dropped(lost)
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
                        yield Beat()

    def _stands(self) -> bool:
        wanted = sa.select(subscriptions.c.number).where(subscriptions.c.number == self._subscription)
        return self._store.read(lambda connection: connection.execute(wanted).first()) is not None

    async def delivered(self, upto: int) -> None:
        """All up to a number have been handed over."""
        number = self._subscription
        work = self._store.submit(lambda connection: self._outbox.delivered(connection, number, upto))
        await asyncio.wrap_future(work)

    async def _from(self, last: str | None) -> tuple[int, bool]:
        """Where to begin, and whether some of it was delivered before."""
        if last is None:
            return 0, False
        number = await run_in_threadpool(self._outbox.number_of, self._subscription, last)
        if number is None:
            return 0, False
        await self.delivered(number)
        return number, True

    async def _lost(self, page: list[Notification], position: int) -> int:
        """How many were dropped since the last page; drops show as a gap, so only gaps are looked into."""
        if not page or (position and page[0].number == position + 1):
            return 0
        dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped
        lost, self._dropped = dropped - self._dropped, dropped
        return lost
