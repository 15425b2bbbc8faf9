"""Authentication, rate limits and size limits, checked before a request does anything."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request

from vedette.service import tickets
from vedette.service.errors import NotAllowed, OverLimit, TooLarge
from vedette.service.http.connection_limits import ENTRY, address_key
from vedette.service.http.problems import of_error, problem
from vedette.service.settings import LimitSettings, ServiceSettings
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


class TokenBucket:
    """Rate limit: so many requests a second on average, and a burst of some more."""

    __slots__ = ("_at", "_left", "burst", "rate")

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._at = burst, time.monotonic()

    def take(self, count: float = 1.0) -> float:
        """Take some tokens and return 0, or return the seconds until there are enough."""
        now = time.monotonic()
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left >= count:
            self._left -= count
            return 0.0
        return (count - self._left) / self.rate


class Guards:
    """Keys and rate limits of one service."""

    def __init__(self, tenants: Tenants, settings: ServiceSettings) -> None:
        self._tenants = tenants
        self._limits: LimitSettings = settings.limits
        self._admin = settings.server.admin_key
        self._metrics = settings.server.metrics_key
        self._known: OrderedDict[str, tuple[float, Tenant]] = OrderedDict()
        self._revoked: set[str] = set()  # hashes of keys, since the service started
        self._rates: OrderedDict[str, TokenBucket] = OrderedDict()

    async def tenant(self, request: Request) -> Tenant:
        """The tenant of a request's key; NotAllowed without one, OverLimit if there were too many requests."""
        return await self.admitted(bearer(request), request)

    async def admitted(self, key: str | None, connection: HTTPConnection) -> Tenant:
        """The tenant of a connection's key; OverLimit if it came too often, or an address sends too many wrong keys."""
        if key is None:
            raise NotAllowed("this needs a key\nHint: send a tenant's key: Authorization: Bearer vk_…")
        try:
            tenant = await self.of_key(key)
        except NotAllowed:
            self._limit_address(connection)
            raise
        _known(connection)
        self._limit(f"t:{tenant.name}", float(tenant.limits.get("requests", self._limits.requests)), self._limits.burst)
        return tenant

    async def publisher(self, request: Request, *, anonymous: bool) -> Tenant | None:
        """The tenant that publishes; None for a request without a key, where that is allowed."""
        if anonymous and bearer(request) is None:
            self._limit_address(request)
            return None
        return await self.tenant(request)

    def is_admin(self, request: Request) -> bool:
        """Whether a request has the admin key."""
        kept = "" if self._admin is None else tickets.hashed(self._admin.get_secret_value())
        return self._admin is not None and tickets.holds(bearer(request), kept)

    async def owner(self, request: Request) -> Tenant | None:
        """The tenant of a request's key; None for the admin key."""
        return None if self.is_admin(request) else await self.tenant(request)

    def admin(self, request: Request) -> None:
        """NotAllowed unless a request has the admin key."""
        if not self.is_admin(request):
            self._limit_address(request)
            raise NotAllowed("this needs the admin key\nHint: send it: Authorization: Bearer …")
        _known(request)

    def anybody(self, connection: HTTPConnection) -> None:
        """OverLimit if an address asks too often for what needs no key."""
        self._limit_address(connection)

    def metrics(self, request: Request) -> bool:
        """Whether a request may read metrics with names in them: it has the key of metrics, or the admin key.

        NotAllowed if the settings have a key of metrics, and the request has neither.
        """
        if self.is_admin(request):
            return True
        if self._metrics is None:
            return False
        if not tickets.holds(bearer(request), tickets.hashed(self._metrics.get_secret_value())):
            self._limit_address(request)
            raise NotAllowed("this needs the key of metrics\nHint: send it: Authorization: Bearer …")
        _known(request)
        return True

    async def of_key(self, key: str) -> Tenant:
        """The tenant of a key, which is remembered for a few seconds."""
        name, now = tickets.hashed(key), time.monotonic()
        found = self._known.get(name)
        if found is not None and now - found[0] < _KNOWN_SECONDS:
            return found[1]
        tenant = await run_in_threadpool(self._tenants.of_key, key)
        self._known[name] = now, tenant
        if name in self._revoked:  # while it was looked up
            self._known.pop(name, None)
            raise NotAllowed("this key was revoked\nHint: ask for another one")
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return tenant

    def revoked(self, key_hash: str) -> None:
        """Refuse a key from now on, also while it is remembered; to be called from any thread."""
        self._revoked.add(key_hash)
        self._known.pop(key_hash, None)

    def opens(self, key: str) -> bool:
        """Whether a key that opened a stream has not been revoked since."""
        return tickets.hashed(key) not in self._revoked

    def _limit_address(self, connection: HTTPConnection) -> None:
        rate = self._limits.anonymous_requests
        self._limit(f"a:{address_key(connection.client.host) if connection.client else ''}", rate, max(1.0, 2 * rate))

    def _limit(self, who: str, rate: float, burst: float) -> None:
        bucket = self._rates.get(who)
        if bucket is None or bucket.rate != rate:
            bucket = self._rates[who] = TokenBucket(rate, burst)
            while len(self._rates) > _MOST:
                self._rates.popitem(last=False)
        self._rates.move_to_end(who)
        wait = bucket.take()
        if wait > 0:
            raise OverLimit(f"more than {rate:g} requests a second\nHint: wait a moment", retry_after=wait)


def _known(connection: HTTPConnection) -> None:
    """Tell the connection's limits that it has shown a valid key."""
    entry = connection.scope.get("state", {}).get(ENTRY)
    if entry is not None:
        entry.known()


def bearer(request: Request) -> str | None:
    """The key that came with a request."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" and key.strip() else None


class BodyLimitMiddleware:
    """ASGI middleware: limits the size of bodies, and adds security headers for browsers."""

    def __init__(
        self, app: App, most: int, strict: Callable[[str], bool], anybody: Callable[[HTTPConnection], None]
    ) -> None:
        self._app, self._most, self._strict, self._anybody = app, most, strict, anybody

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is too large."""
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

        if (
            not self._strict(scope["path"]) and scope["path"] != "/livez"
        ):  # these ask for no key; that one costs nothing
            try:
                self._anybody(HTTPConnection(scope))
            except OverLimit as error:
                await of_error(error)(scope, receive, answered)
                return
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
