"""Delivery by webhook: one request at a time and in order for each subscription, with retries.

A failed request is retried by a schedule, which is kept in the database: a restart forgets nothing. `Retry-After` is
obeyed, `410 Gone` ends the subscription, and after the last retry the notification is a dead letter, which can be read
and replayed.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import logging
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

import httpx
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from vedette.errors import InputError
from vedette.service import clock
from vedette.service.delivery import webhook_health
from vedette.service.delivery.delivery_results import (
    BLOCKED,
    NO_ADDRESS,
    DeliveryResult,
    failure_result,
    no_answer,
    response_result,
)
from vedette.service.delivery.delivery_slots import DeliverySlots
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.webhook_connections import Connections
from vedette.service.delivery.webhook_health import WebhookFailures
from vedette.service.delivery.webhook_targets import NoAddress, resolved
from vedette.service.errors import ServiceError
from vedette.service.outbox import Outbox, QueuedNotification
from vedette.service.sealing import Secrets
from vedette.service.settings import WebhookSettings
from vedette.service.signing import signed
from vedette.service.storage.store import Store
from vedette.service.storage.tables import PENDING, attempts, notifications, subscriptions
from vedette.service.subscription_registry import Registry, Subscription, of_row
from vedette.service.telemetry import traces

_LOG: Final = logging.getLogger("vedette.service.webhooks")
_LOOK: Final = 1.0  # seconds between two looks at what is due
_LONGEST_WAIT: Final = 24 * 3600.0  # that a subscriber may ask for
_GONE: Final = 410
DROPPED: Final = "vedette-dropped"  # a header
_QUIET: Final = 60.0  # seconds between two lines of the log that say the same of a webhook
T = TypeVar("T")
_AT_ONCE: Final = 500  # subscriptions that are looked up together
_WITH_ONE: Final = sa.select(subscriptions.c.number).where(
    subscriptions.c.number.in_(sa.bindparam("some", expanding=True)), subscriptions.c.delivery.contains('"webhook"')
)
_OWING: Final = sa.select(notifications.c.subscription).where(notifications.c.state == PENDING).distinct()
_DUE: Final = sa.select(attempts.c.subscription).where(webhook_health.DUE)


class Webhooks:
    """Delivers to all webhooks of a service, in one event loop."""

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        registry: Registry,
        hub: Hub,
        settings: WebhookSettings,
        now: clock.Clock = clock.now,
        secrets: Secrets | None = None,
    ) -> None:
        self._secrets = secrets or Secrets()
        self._store, self._outbox, self._registry, self._hub = store, outbox, registry, hub
        self._settings = settings
        self._now = now
        self._running: dict[int, asyncio.Task[None]] = {}
        self._again: set[int] = set()
        self._slots = DeliverySlots(settings.concurrency)
        # Looking up a name may take long, and requests to the service need the threads of everybody.
        self._lookups = ThreadPoolExecutor(settings.concurrency, "vedette-lookup")
        self._connections = Connections(settings.timeout)
        self._stopped = False  # some deliveries were interrupted, and no row in the database says so
        self._spoke: dict[tuple[int, str], float] = {}  # when something was last logged of a subscription
        self.sent = self.failed = 0

    async def run(self) -> None:
        """Deliver until the task is cancelled."""
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
            self._lookups.shutdown(wait=False, cancel_futures=True)

    def _begin(self, numbers: frozenset[int]) -> None:
        """Start a delivery task for each of these subscriptions, unless one runs already."""
        for number in numbers:
            if number in self._running:
                self._again.add(number)
            else:
                self._running[number] = asyncio.create_task(self._deliver(number))

    def _sending(self, fresh: frozenset[int], look: Callable[[Connection], Sequence[int]]) -> frozenset[int]:
        """The subscriptions, of `fresh` and of those that `look` finds, that have a webhook.

        The others, mostly many, then cost no task each.
        """

        def work(connection: Connection) -> frozenset[int]:
            numbers = sorted(fresh.union(look(connection)))
            parts = (numbers[begin : begin + _AT_ONCE] for begin in range(0, len(numbers), _AT_ONCE))
            return frozenset(
                number for some in parts for number in connection.execute(_WITH_ONE, {"some": some}).scalars()
            )

        return self._store.read(work)

    def _owing(self, connection: Connection) -> Sequence[int]:
        """Subscriptions that have pending notifications."""
        return connection.execute(_OWING).scalars().all()

    def _due(self, connection: Connection) -> Sequence[int]:
        """Subscriptions whose next attempt is due."""
        return connection.execute(_DUE, {"moment": self._now()}).scalars().all()

    # ------------------------------------------------------------ one subscription

    async def _deliver(self, number: int) -> None:
        """Send the pending notifications of a subscription, in order, until there are no more or one fails."""
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
        except Exception:  # no error may end the deliveries of a subscription: they are retried
            _LOG.exception("webhooks of subscription %s failed", number)
            self._stopped = True
        finally:
            del self._running[number]

    def _subscription(self, number: int) -> Subscription | None:
        wanted = sa.select(subscriptions).where(subscriptions.c.number == number)
        row = self._store.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else of_row(row)

    def _next(self, number: int) -> tuple[list[QueuedNotification], int]:
        """The next pending notifications, and how often the first was tried; none if its retry is not due yet."""
        wanted = sa.select(attempts).where(attempts.c.subscription == number)
        row = self._store.read(lambda connection: connection.execute(wanted).first())
        if row is not None and row.due > self._now():
            return [], 0
        page = self._outbox.pending(number, 0, 16)
        of_first = row is not None and bool(page) and page[0].number == row.notification
        return page, int(row._mapping["count"]) if row is not None and of_first else 0

    async def _sent(self, subscription: Subscription, one: QueuedNotification, tried: int) -> bool:
        """Send one notification; True if the next one may follow."""
        dropped = await run_in_threadpool(self._outbox.missed, one.subscription)
        async with self._slots.of(subscription.tenant):
            with traces.delivering("webhook", one.trace) as span:
                outcome = await self._request(subscription.delivery, one, dropped)
                span.set_attribute("http.response.status_code", outcome.status or 0)
        if outcome.ok:
            self.sent += 1
            before = await self._write(lambda c: self._done(c, one))
            if before is not None:
                self._say(subscription, "a webhook works again", logging.INFO, {"failures": before.failures})
            return True
        self.failed += 1
        _LOG.debug("a webhook failed", extra=_said(subscription, one, outcome))
        if outcome.status == _GONE:
            _LOG.info("subscription %s ended: its webhook answered 410", subscription.id)
            await self._write(lambda c: self._outbox.bury(c, one, subscription.tenant, tried + 1, outcome.reason))
            await run_in_threadpool(self._registry.end, subscription.id)
            return False
        if tried >= len(self._settings.schedule):
            _LOG.warning("a notification is given up", extra=_said(subscription, one, outcome))
            now = await self._write(self._dead(subscription, one, tried + 1, outcome))
            self._failed(subscription, one, outcome, now)
            return True
        moment = self._now()
        due = moment + int(self._wait(tried, outcome) * clock.SECOND)
        now = await self._write(lambda c: webhook_health.record_retry(c, one, tried + 1, due, outcome, moment))
        self._failed(subscription, one, outcome, now)
        return False

    def _failed(
        self, subscription: Subscription, one: QueuedNotification, outcome: DeliveryResult, now: WebhookFailures
    ) -> None:
        """Log when a webhook begins to fail."""
        if now.failures == 1:
            due = None if now.due is None else clock.iso(now.due)
            more = {"status": outcome.status, "next_try": due, **_said(subscription, one, outcome)}
            self._say(subscription, "a webhook fails", logging.WARNING, more)

    def _say(self, subscription: Subscription, what: str, level: int, more: Mapping[str, Any]) -> None:
        """Log a message of a webhook at most once a minute: one that fails and works by turns must not fill the log."""
        which, now = (subscription.number, what), time.monotonic()
        if now - self._spoke.get(which, -math.inf) < _QUIET:
            return
        self._spoke = {key: moment for key, moment in self._spoke.items() if now - moment < _QUIET} | {which: now}
        about = {"subscription": subscription.id, "tenant": subscription.tenant}
        _LOG.log(level, what, extra={**about, **more})

    def _wait(self, tried: int, outcome: DeliveryResult) -> float:
        wait = self._settings.schedule[tried]
        wait *= 1 + self._settings.jitter * (2 * random.random() - 1)
        return wait if outcome.retry_after is None else max(wait, min(outcome.retry_after, _LONGEST_WAIT))

    def _done(self, connection: Connection, one: QueuedNotification) -> WebhookFailures | None:
        self._outbox.acknowledge(connection, one.subscription, [one.id])
        return webhook_health.record_success(connection, one.subscription)

    def _dead(
        self, subscription: Subscription, one: QueuedNotification, tries: int, outcome: DeliveryResult
    ) -> Callable[[Connection], WebhookFailures]:
        def work(connection: Connection) -> WebhookFailures:
            self._outbox.bury(connection, one, subscription.tenant, tries, outcome.reason)
            return webhook_health.record_final_failure(connection, one, outcome, self._now())

        return work

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._store.submit(work))

    # ------------------------------------------------------------ one request

    async def _request(self, delivery: Mapping[str, Any], one: QueuedNotification, dropped: int) -> DeliveryResult:
        """Send one notification; a header says how many were dropped since the last one that was delivered."""
        may = self._settings
        look_up = partial(resolved, delivery["url"], allow_private=may.allow_private, ports=may.ports)
        try:
            target = await asyncio.get_running_loop().run_in_executor(self._lookups, look_up)
        except NoAddress as error:
            return failure_result(NO_ADDRESS, error)
        except InputError as error:  # its text follows from the URL and the settings alone
            return DeliveryResult(None, f"{BLOCKED}: {str(error).partition(chr(10))[0]}")
        url = httpx.URL(target.url)
        headers = {
            "content-type": "application/json",
            "user-agent": "vedette",
            "host": url.netloc.decode(),
            **({} if one.trace is None else {"traceparent": one.trace}),
            **({DROPPED: str(dropped)} if dropped else {}),
            **signed(self._secrets.open(delivery["secret"]), one.id, int(time.time()), one.body),
        }
        request = httpx.Request(
            "POST",
            url.copy_with(host=target.address, port=target.port),
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
            return no_answer(error)
        return response_result(answer.status_code, _retry_after(answer))

    async def _swallowed(self, answer: httpx.Response) -> None:
        """Read the answer up to a limit, so that the connection can be reused."""
        size = 0
        async for piece in answer.aiter_raw():
            size += len(piece)
            if size > self._settings.response_bytes:
                return


def _said(subscription: Subscription, one: QueuedNotification, outcome: DeliveryResult) -> dict[str, Any]:
    """Fields of the log for a request that failed."""
    said = {"subscription": subscription.id, "notification": one.id, "reason": outcome.reason}
    return said if outcome.detail is None else {**said, "detail": outcome.detail}


def _retry_after(answer: httpx.Response) -> float | None:
    """The seconds to wait that the answer's `Retry-After` asks for, which is a number or a date."""
    text = answer.headers.get("retry-after")
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
