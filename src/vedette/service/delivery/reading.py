"""How does somebody read the notifications of a subscription, one after the other, and go on after a break?

What was handed over counts as delivered; it is kept for a while, so that a reader who lost some of it can ask again
from the last one that came through. Before the first one it is told where it begins (`@41`), so that this holds for the
first one, too. A reader that is too slow, or was away for too long, is told how many of the oldest were dropped.
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
_PLACE: Final = "@"  # before a number: a place in the queue, where there is no notification to name
_DIGITS: Final = 19
BEAT: Final = 15.0  # seconds after which a silent connection says that it lives


class Dropped(NamedTuple):
    """So many notifications were dropped since the reader was last told."""

    many: int


class Beat(NamedTuple):
    """Nothing happened, and all is well."""


class Begins(NamedTuple):
    """Whoever has nothing yet can ask again from here."""

    place: str


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
    ) -> AsyncIterator[Notification | Dropped | Beat | Begins]:
        """All that waits, and all that comes; after the notification `last`, if the reader names one.

        It ends when the subscription does, or when the reader may not read any more.
        Unless the reader acknowledges by itself, what it has taken is delivered when it asks for more.
        """
        number = None if last is None else await self._number(last)
        position, again = (0, False) if number is None else (number, True)
        if number is None and not acknowledged:
            yield Begins(f"{_PLACE}{await run_in_threadpool(self._outbox.start_of, self._subscription)}")
        missed = await run_in_threadpool(self._outbox.missed, self._subscription, number)
        self._dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped - missed
        with self._hub.waiting(self._subscription) as grown:
            while self._may():
                grown.clear()
                find = self._outbox.since if again else self._outbox.pending
                page = await run_in_threadpool(find, self._subscription, position, PAGE)
                lost = 0 if not page else await self._lost(page[0].number != position + 1 or again)
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

    async def _number(self, last: str) -> int | None:
        """Where the last one stands that a reader has; None if it is not known (any more)."""
        place = last.removeprefix(_PLACE)
        if place != last:
            return int(place) if place.isascii() and place.isdigit() and len(place) < _DIGITS else None
        number = await run_in_threadpool(self._outbox.number_of, self._subscription, last)
        if number is not None:
            await self.delivered(number)
        return number

    async def _lost(self, gap: bool) -> int:
        """How many were dropped since the last page; drops show as a gap, so only gaps are looked into."""
        if not gap:
            return 0
        dropped = (await run_in_threadpool(self._outbox.counts, self._subscription)).dropped
        lost, self._dropped = dropped - self._dropped, dropped
        return lost
