"""A bounded number of concurrent requests, shared fairly: a free slot goes to the tenant who has the fewest.

Subscribers may take as long as the time-out to answer. With one queue for all, a tenant whose subscribers do so, on
purpose or not, would keep the webhooks of everybody waiting.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class DeliverySlots:
    """The slots of one event loop."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._used: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def of(self, tenant: str) -> AsyncIterator[None]:
        """Hold a slot for a tenant, as a context."""
        if self._free:
            self._free -= 1
            self._used[tenant] += 1
        else:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(tenant, deque()).append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # it had just been given
                    self._release(tenant)
                raise
        try:
            yield
        finally:
            self._release(tenant)

    def _release(self, tenant: str) -> None:
        self._used[tenant] -= 1
        if not self._used[tenant]:
            del self._used[tenant]
        while self._waiting:
            next_ = min(self._waiting, key=self._used.__getitem__)
            turns = self._waiting.pop(next_)
            turn = turns.popleft()
            if turns:
                self._waiting[next_] = turns  # behind the others, who are first where all have as many
            if not turn.done():  # the waiting request was not cancelled meanwhile
                self._used[next_] += 1
                turn.set_result(None)
                return
        self._free += 1
