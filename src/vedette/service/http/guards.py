"""Who asks, how often, and how much do they send? Keys, rates and sizes, before anything is done."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request

from vedette.service import tickets
from vedette.service.errors import NotAllowed, OverLimit, TooLarge
from vedette.service.http.problems import of_error, problem
from vedette.service.settings import Limits, Settings
from vedette.service.tenants import Tenant, Tenants

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_KNOWN_SECONDS: Final = 5.0  # that a key is remembered, and its tenant's limits
_MOST: Final = 10_000  # keys and addresses that are remembered
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"geolocation=(), camera=(), microphone=()"),
)
STRICT: Final = (  # of the API itself, whose answers have keys and tickets in them
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class Bucket:
    """So many requests a second on average, and some more at once."""

    __slots__ = ("_at", "_left", "burst", "rate")

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._at = burst, time.monotonic()

    def take(self, count: float = 1.0) -> float:
        """Take some; 0, or the seconds to wait until so many are there."""
        now = time.monotonic()
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left >= count:
            self._left -= count
            return 0.0
        return (count - self._left) / self.rate


class Guards:
    """Keys and rates of one service."""

    def __init__(self, tenants: Tenants, settings: Settings) -> None:
        self._tenants = tenants
        self._limits: Limits = settings.limits
        self._admin = settings.server.admin_key
        self._known: OrderedDict[str, tuple[float, Tenant]] = OrderedDict()
        self._revoked: set[str] = set()  # hashes of keys, since the service started
        self._rates: OrderedDict[str, Bucket] = OrderedDict()

    async def tenant(self, request: Request) -> Tenant:
        """Whose key came with a request; NotAllowed without one, OverLimit if there were too many."""
        return await self.admitted(bearer(request), request)

    async def admitted(self, key: str | None, connection: HTTPConnection) -> Tenant:
        """Whose key came with a connection; OverLimit if it came too often, or if wrong ones come again and again."""
        if key is None:
            raise NotAllowed("this needs a key\nHint: send a tenant's key: Authorization: Bearer vk_…")
        try:
            tenant = await self.of_key(key)
        except NotAllowed:
            self._limit_address(connection)
            raise
        self._limit(f"t:{tenant.name}", float(tenant.limits.get("requests", self._limits.requests)), self._limits.burst)
        return tenant

    async def publisher(self, request: Request, anonymous: bool) -> Tenant | None:
        """Who publishes; None for somebody without a key, where that is allowed."""
        if anonymous and bearer(request) is None:
            self._limit_address(request)
            return None
        return await self.tenant(request)

    def admin(self, request: Request) -> None:
        """NotAllowed unless the request has the key of whoever runs the service."""
        kept = "" if self._admin is None else tickets.hashed(self._admin.get_secret_value())
        if self._admin is None or not tickets.holds(bearer(request), kept):
            self._limit_address(request)
            raise NotAllowed("this needs the admin key\nHint: send it: Authorization: Bearer …")

    async def of_key(self, key: str) -> Tenant:
        """Whose key this is, remembered for a moment."""
        name, now = tickets.hashed(key), time.monotonic()
        found = self._known.get(name)
        if found is not None and now - found[0] < _KNOWN_SECONDS:
            return found[1]
        tenant = await run_in_threadpool(self._tenants.of_key, key)
        if name in self._revoked:  # while it was looked up
            raise NotAllowed("this key was revoked\nHint: ask for another one")
        self._known[name] = now, tenant
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return tenant

    def revoked(self, key_hash: str) -> None:
        """A key opens nothing from now on, though it may be remembered."""
        self._revoked.add(key_hash)
        self._known.pop(key_hash, None)

    def opens(self, key: str) -> bool:
        """Whether a key that opened a stream has not been revoked since."""
        return tickets.hashed(key) not in self._revoked

    def _limit_address(self, connection: HTTPConnection) -> None:
        rate = self._limits.anonymous_requests
        self._limit(f"a:{connection.client.host if connection.client else ''}", rate, max(1.0, 2 * rate))

    def _limit(self, who: str, rate: float, burst: float) -> None:
        bucket = self._rates.get(who)
        if bucket is None or bucket.rate != rate:
            bucket = self._rates[who] = Bucket(rate, burst)
            while len(self._rates) > _MOST:
                self._rates.popitem(last=False)
        self._rates.move_to_end(who)
        wait = bucket.take()
        if wait > 0:
            raise OverLimit(f"more than {rate:g} requests a second\nHint: wait a moment", retry_after=wait)


def bearer(request: Request) -> str | None:
    """The key that came with a request."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" and key.strip() else None


class Measured:
    """ASGI middleware: bodies up to a size, and headers that keep browsers from mischief."""

    def __init__(self, app: App, most: int, strict: Callable[[str], bool]) -> None:
        self._app, self._most, self._strict = app, most, strict

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on, as long as it is not too large."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = HEADERS + (STRICT if self._strict(scope["path"]) else ())

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name, value) for name, value in headers if name not in there),
                ]
            await send(message)

        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b"")) if message["type"] == "http.request" else 0
            if size > self._most:
                raise self._too_large()
            return message

        given = dict(scope["headers"])
        announced = given.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self._most:
            await of_error(self._too_large())(scope, receive, answered)
            return
        if given.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            what = "bodies are read as they are, not compressed\nHint: leave out Content-Encoding"
            await problem(415, "unsupported-media-type", what)(scope, receive, answered)
            return
        await self._app(scope, counted, answered)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"a body of more than {self._most:,} bytes\nHint: send less at once")
