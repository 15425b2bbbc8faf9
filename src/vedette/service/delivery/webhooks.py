"""How are notifications sent to subscribers? By requests, one at a time and in order for each subscription.

One that fails is tried again by a schedule, which is kept in the database: a restart forgets nothing. `Retry-After` is
obeyed, `410 Gone` ends the subscription, and what fails to the end is a dead letter, to be looked at and replayed.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import logging
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import httpx
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from vedette.errors import InputError
from vedette.service import clock
from vedette.service.delivery.connections import Connections
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.signing import signed
from vedette.service.delivery.targets import resolved
from vedette.service.errors import ServiceError
from vedette.service.outbox import Notification, Outbox
from vedette.service.registry import Registry, Subscription, of_row
from vedette.service.settings import Webhooks as WebhookSettings
from vedette.service.storage.store import Store
from vedette.service.storage.tables import PENDING, attempts, notifications, subscriptions
from vedette.service.telemetry import traces

_LOG: Final = logging.getLogger("vedette.service.webhooks")
_LOOK: Final = 1.0  # seconds between two looks at what is due
_LONGEST_WAIT: Final = 24 * 3600.0  # that a subscriber may ask for
_GONE: Final = 410
DROPPED: Final = "vedette-dropped"  # a header
_AT_ONCE: Final = 500  # subscriptions that are looked up together


class Outcome(NamedTuple):
    """What came of one request."""

    status: int | None  # None: no answer
    reason: str
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        """The subscriber has it."""
        return self.status is not None and 200 <= self.status < 300


class Webhooks:
    """All webhooks of a service, in one event loop."""

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        registry: Registry,
        hub: Hub,
        settings: WebhookSettings,
        now: clock.Clock = clock.now,
    ) -> None:
        self._store, self._outbox, self._registry, self._hub = store, outbox, registry, hub
        self._settings = settings
        self._now = now
        self._running: dict[int, asyncio.Task[None]] = {}
        self._again: set[int] = set()
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._connections = Connections(settings.timeout)
        self._stopped = False  # some could not go on, and nothing that is written down says so
        self.sent = self.failed = 0

    async def run(self) -> None:
        """Deliver until it is cancelled."""
        try:
            with self._hub.everything() as grown:
                look = self._owing  # at first, and whenever something was in the way
                while True:
                    try:
                        fresh = self._hub.fresh()
                        self._begin(await run_in_threadpool(self._sending, fresh, look))
                        look = self._due if not self._stopped else self._owing
                        self._stopped = False
                    except ServiceError as error:
                        _LOG.warning("webhooks wait: %s", error)
                        look = self._owing
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(grown.wait(), _LOOK)
                    grown.clear()
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            await self._connections.close()

    def _begin(self, numbers: frozenset[int]) -> None:
        """Let the webhooks of these subscriptions go on, unless they do."""
        for number in numbers:
            if number in self._running:
                self._again.add(number)
            else:
                self._running[number] = asyncio.create_task(self._deliver(number))

    def _sending(self, fresh: frozenset[int], look: Callable[[], frozenset[int]]) -> frozenset[int]:
        """Those of the fresh and of what is found that have a webhook; the others, mostly many, cost no task each."""
        numbers = sorted(fresh | look())
        found: list[int] = []
        for begin in range(0, len(numbers), _AT_ONCE):
            some = subscriptions.c.number.in_(numbers[begin : begin + _AT_ONCE])
            with_one = sa.select(subscriptions.c.number).where(some, subscriptions.c.delivery.contains('"webhook"'))
            found += self._store.read(lambda c, with_one=with_one: c.execute(with_one).scalars().all())  # type: ignore[misc]
        return frozenset(found)

    def _owing(self) -> frozenset[int]:
        """Subscriptions whose notifications wait."""
        waiting = sa.select(notifications.c.subscription).where(notifications.c.state == PENDING).distinct()
        return frozenset(self._store.read(lambda connection: connection.execute(waiting).scalars().all()))

    def _due(self) -> frozenset[int]:
        """Subscriptions whose next attempt is due."""
        due = sa.select(attempts.c.subscription).where(attempts.c.due <= self._now())
        return frozenset(self._store.read(lambda connection: connection.execute(due).scalars().all()))

    # ------------------------------------------------------------ one subscription

    async def _deliver(self, number: int) -> None:
        """Send what waits for a subscription, in order, until there is nothing more or one fails."""
        try:
            going_on = True
            while going_on:
                self._again.discard(number)
                subscription = await run_in_threadpool(self._subscription, number)
                if subscription is None or subscription.delivery.get("type") != "webhook":
                    return
                page, tried = await run_in_threadpool(self._next, number)
                for one in page:
                    going_on = await self._sent(subscription, one, tried)
                    tried = 0
                    if not going_on:
                        break
                going_on = going_on and (bool(page) or number in self._again)
        except ServiceError as error:
            _LOG.warning("webhooks of subscription %s wait: %s", number, error)
            self._stopped = True
        except Exception:  # nobody's answer may end the deliveries of a subscription: it is tried again
            _LOG.exception("webhooks of subscription %s failed", number)
            self._stopped = True
        finally:
            del self._running[number]

    def _subscription(self, number: int) -> Subscription | None:
        wanted = sa.select(subscriptions).where(subscriptions.c.number == number)
        row = self._store.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else of_row(row)

    def _next(self, number: int) -> tuple[list[Notification], int]:
        """What waits, and how often the first of it was tried; nothing if its next attempt is not due yet."""
        wanted = sa.select(attempts).where(attempts.c.subscription == number)
        row = self._store.read(lambda connection: connection.execute(wanted).first())
        if row is not None and row.due > self._now():
            return [], 0
        page = self._outbox.pending(number, 0, 16)
        of_first = row is not None and bool(page) and page[0].number == row.notification
        return page, int(row._mapping["count"]) if row is not None and of_first else 0

    async def _sent(self, subscription: Subscription, one: Notification, tried: int) -> bool:
        """Send one; whether to go on with the next."""
        dropped = await run_in_threadpool(self._outbox.missed, one.subscription)
        async with self._slots:
            with traces.delivering("webhook", one.trace) as span:
                outcome = await self._request(subscription.delivery, one, dropped)
                span.set_attribute("http.response.status_code", outcome.status or 0)
        if outcome.ok:
            self.sent += 1
            await self._write(lambda c: self._done(c, one))
            return True
        self.failed += 1
        if outcome.status == _GONE:
            _LOG.info("subscription %s ended: its webhook answered 410", subscription.id)
            await self._write(lambda c: self._outbox.bury(c, one, subscription.tenant, tried + 1, outcome.reason))
            await run_in_threadpool(self._registry.end, subscription.id)
            return False
        if tried >= len(self._settings.schedule):
            _LOG.warning(
                "a notification is given up",
                extra={"subscription": subscription.id, "notification": one.id, "reason": outcome.reason},
            )
            await self._write(lambda c: self._dead(c, subscription, one, tried + 1, outcome.reason))
            return True
        wait = self._wait(tried, outcome)
        due = self._now() + int(wait * clock.SECOND)
        await self._write(lambda c: _planned(c, one, tried + 1, due, outcome.reason))
        return False

    def _wait(self, tried: int, outcome: Outcome) -> float:
        wait = self._settings.schedule[tried]
        wait *= 1 + self._settings.jitter * (2 * random.random() - 1)
        return wait if outcome.retry_after is None else max(wait, min(outcome.retry_after, _LONGEST_WAIT))

    def _done(self, connection: Connection, one: Notification) -> None:
        self._outbox.acknowledge(connection, one.subscription, [one.id])
        connection.execute(sa.delete(attempts).where(attempts.c.subscription == one.subscription))

    def _dead(
        self, connection: Connection, subscription: Subscription, one: Notification, tries: int, reason: str
    ) -> None:
        self._outbox.bury(connection, one, subscription.tenant, tries, reason)
        connection.execute(sa.delete(attempts).where(attempts.c.subscription == one.subscription))

    async def _write(self, work: Any) -> None:
        await asyncio.wrap_future(self._store.submit(work))

    # ------------------------------------------------------------ one request

    async def _request(self, delivery: Mapping[str, Any], one: Notification, dropped: int) -> Outcome:
        """Send one, with how many were dropped since the last that was delivered, if any were."""
        try:
            target = await run_in_threadpool(resolved, delivery["url"], allow_private=self._settings.allow_private)
        except InputError as error:
            return Outcome(None, str(error).partition("\n")[0])
        url = httpx.URL(target.url)
        headers = {
            "content-type": "application/json",
            "user-agent": "vedette",
            "host": url.netloc.decode(),
            **({} if one.trace is None else {"traceparent": one.trace}),
            **({DROPPED: str(dropped)} if dropped else {}),
            **signed(delivery["secret"], one.id, int(time.time()), one.body),
        }
        request = httpx.Request(
            "POST",
            url.copy_with(host=target.address),
            content=one.body,
            headers=headers,
            extensions={"sni_hostname": target.host, "timeout": httpx.Timeout(self._settings.timeout).as_dict()},
        )
        try:
            async with self._connections.to(target.host) as client:
                answer = await asyncio.wait_for(client.send(request, stream=True), 2 * self._settings.timeout)
                try:
                    await asyncio.wait_for(self._swallowed(answer), self._settings.timeout)
                finally:
                    await answer.aclose()
        except (httpx.HTTPError, OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            return Outcome(None, f"{type(error).__name__}: {error}"[:500])
        return Outcome(answer.status_code, f"HTTP {answer.status_code}", _retry_after(answer))

    async def _swallowed(self, answer: httpx.Response) -> None:
        """Read a little of what came back, so that the connection can be used again."""
        size = 0
        async for piece in answer.aiter_raw():
            size += len(piece)
            if size > self._settings.response_bytes:
                return


def _planned(connection: Connection, one: Notification, count: int, due: int, reason: str) -> None:
    connection.execute(sa.delete(attempts).where(attempts.c.subscription == one.subscription))
    connection.execute(
        sa.insert(attempts).values(
            subscription=one.subscription, notification=one.number, count=count, due=due, reason=reason[:2000]
        )
    )


def _retry_after(answer: httpx.Response) -> float | None:
    """The seconds that a subscriber asks to wait: a number, or a date."""
    text = answer.headers.get("retry-after")
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
