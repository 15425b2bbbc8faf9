"""Limits on the number of connections, and on the times that they may take, before any key is known.

A connection counts against its address until a request on it has shown a key. One that waits too long for the rest of a
head or a body, or for its reader to read, is ended; when the limit of an address or of the service is reached, the
connection that has waited longest for a request is ended to make room for the new one.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, Protocol, TypeVar

from vedette.service.settings import ServiceSettings

ENTRY: Final = "vedette.connection"  # in the state of a scope
LINGER: Final = 2.0  # seconds that a refused client may take to read why
_RESERVE: Final = 1_000  # connections beyond those that may listen


class LimitedConnection(Protocol):
    """A connection that can be ended."""

    @property
    def address(self) -> str | None:
        """The address that it counts against, until a request on it has shown a key."""

    def late(self, waiting: ConnectionTimeouts[LimitedConnection]) -> None:
        """Called when its time for something is over."""

    def make_room(self) -> None:
        """End, so that another one can connect."""

    def end_if_lingering(self) -> None:
        """End if it has been closing for a while already."""


H = TypeVar("H", bound=LimitedConnection)


class ConnectionTimeouts(Generic[H]):
    """Connections that have the same number of seconds for something, in the order of their deadlines."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: dict[H, float] = {}

    def add(self, one: H, now: float) -> None:
        """Start the time of a connection."""
        self._until[one] = now + self._seconds

    def discard(self, one: H) -> None:
        """Stop the time of a connection."""
        self._until.pop(one, None)

    def late(self, now: float) -> Iterator[H]:
        """Take out the connections whose time is over."""
        while self._until:
            one, until = next(iter(self._until.items()))
            if until > now:
                return
            del self._until[one]
            yield one

    def oldest(self, address: str | None = None) -> H | None:
        """The connection that has waited longest; of those that count against an address, if one is given."""
        return next((one for one in self._until if address in (None, one.address)), None)


@dataclass(slots=True, eq=False)
class ConnectionEntry:
    """A connection in the counts."""

    limits: ConnectionLimits
    address: str | None  # None: it is not counted against any, or not any more
    refused: str | None = field(default=None)

    def known(self) -> None:
        """A request on it showed a key: it does not count against its address any more."""
        self.limits.forget(self)


class ConnectionLimits:
    """Limits for all connections of one server. Used by its event loop alone."""

    def __init__(self, settings: ServiceSettings, most: int | None = None) -> None:
        limits = settings.limits
        self.header_bytes = limits.header_bytes
        self.most = limits.connections + _RESERVE if most is None else most
        self._of_address = limits.address_connections
        self._proxies = settings.server.proxies
        self.heads: ConnectionTimeouts[LimitedConnection] = ConnectionTimeouts(limits.header_seconds)
        self.bodies: ConnectionTimeouts[LimitedConnection] = ConnectionTimeouts(limits.body_seconds)
        self.readers: ConnectionTimeouts[LimitedConnection] = ConnectionTimeouts(limits.stalled_seconds)
        self.leaving: ConnectionTimeouts[LimitedConnection] = ConnectionTimeouts(LINGER)
        self._unknown: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()  # why -> how often
        self._every = min(1.0, limits.header_seconds / 4, limits.body_seconds / 4, limits.stalled_seconds / 4)
        self._sweeping: asyncio.TimerHandle | None = None
        self._connections: Collection[Any] = ()  # of HTTP and WebSockets
        self._linger_at = 0.0

    def enter(self, host: str | None, connections: Collection[Any]) -> ConnectionEntry:
        """Count a new connection; `refused` says why it may not stay, if so."""
        self._connections = connections
        if self._sweeping is None:
            self._arm()
        address = None if host is None or trusted(host, self._proxies) else address_key(host)
        if address is not None:
            if self._unknown[address] >= self._of_address and not self._room(address):
                return ConnectionEntry(self, None, "address")
            self._unknown[address] += 1
        entry = ConnectionEntry(self, address)
        if len(connections) > self.most and not self._room(None):
            entry.refused = "full"
        return entry

    def _room(self, address: str | None) -> bool:
        """End the connection that has waited longest, of an address or of all; False if there is none."""
        oldest = self.heads.oldest(address)
        if oldest is None:
            self.refused["full" if address is None else "address"] += 1
            return False
        self.refused["made room"] += 1
        self.heads.discard(oldest)
        oldest.make_room()
        return True

    def forget(self, entry: ConnectionEntry) -> None:
        """Stop counting a connection against its address."""
        if entry.address is not None:
            self._unknown[entry.address] -= 1
            if not self._unknown[entry.address]:
                del self._unknown[entry.address]
            entry.address = None

    # ------------------------------------------------------------ by the clock

    def _arm(self) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(self._every, self._sweep)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for waiting in (self.heads, self.bodies, self.readers, self.leaving):
            for one in waiting.late(now):
                one.late(waiting)
        if now >= self._linger_at:
            self._linger_at = now + LINGER
            for one in list(self._connections):
                one.end_if_lingering()
        if self._connections:
            self._arm()
        else:
            self._sweeping = None


def address_key(host: str) -> str:
    """The key that addresses are counted by: an IPv6 network of 64 bits is one customer's, as one IPv4 address is."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


@lru_cache(4096)
def trusted(host: str, proxies: tuple[str, ...]) -> bool:
    """Whether an address is one of the proxies in front of the service."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(each) for each in proxies)
