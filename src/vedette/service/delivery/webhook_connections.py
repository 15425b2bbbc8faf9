"""HTTP clients for webhooks, one for every host, whose connections are reused.

Requests go to addresses that were checked, not to names. Two names may lead to one address: a connection that showed
the certificate of one of them is not used for the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx

_MOST: Final = 500  # hosts whose connections are kept


@dataclass(slots=True)
class _SharedClient:
    client: httpx.AsyncClient
    users: int = 0


class Connections:
    """HTTP clients, one for every host; all belong to one event loop."""

    def __init__(self, timeout: float, most: int = _MOST) -> None:
        self._timeout, self._most = timeout, most
        self._certificates = httpx.create_ssl_context(trust_env=False)  # read once, for all of them
        self._by_host: OrderedDict[str, _SharedClient] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_host)

    @asynccontextmanager
    async def to(self, host: str) -> AsyncIterator[httpx.AsyncClient]:
        """The client of a host, as a context; the clients that were not used for longest are closed."""
        kept = self._by_host.get(host)
        if kept is None:
            kept = self._by_host[host] = _SharedClient(
                httpx.AsyncClient(
                    timeout=self._timeout,
                    follow_redirects=False,
                    trust_env=False,
                    verify=self._certificates,
                    limits=httpx.Limits(max_connections=None),
                )
            )
        self._by_host.move_to_end(host)
        kept.users += 1
        try:
            yield kept.client
        finally:
            kept.users -= 1
            await self._forget()

    async def _forget(self) -> None:
        idle = [host for host, kept in self._by_host.items() if not kept.users]
        for host in idle[: max(0, len(self._by_host) - self._most)]:
            await self._by_host.pop(host).client.aclose()

    async def close(self) -> None:
        """Close all clients."""
        while self._by_host:
            await self._by_host.popitem()[1].client.aclose()
