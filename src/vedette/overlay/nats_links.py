"""Links between brokers in different processes: a subject per direction of a link on a NATS server.

    broker = Broker("paris", ["rome"], schema=schema)
    async with NatsLinks(broker, print, "nats://127.0.0.1:4222") as node:
        node.subscribe("s1", "price < 120")

NATS delivers at most once; `link_session.py` detects losses. Access control is up to the server: options
such as `user`, `password` and `tls` are passed to it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from vedette.errors import InputError, NotInstalled
from vedette.overlay.broker import Broker, BrokerNotification
from vedette.overlay.link_session import LinkChange, Session, SessionEffects
from vedette.overlay.messages import Message
from vedette.overlay.node import BrokerNode
from vedette.overlay.wire import decode, encode

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

_LOG = logging.getLogger("vedette.overlay")
_NETWORK = re.compile(r"[A-Za-z0-9_-]{1,64}")


class NatsLinks:
    """The links of one broker. All work is done in the event loop in which it was entered."""

    def __init__(
        self,
        broker: Broker,
        notify: Callable[[BrokerNotification], None],
        servers: str | Sequence[str] = "nats://127.0.0.1:4222",
        *,
        network: str = "main",
        sign_of_life: float = 1.0,
        silence: float = 5.0,
        **options: Any,
    ) -> None:
        if not _NETWORK.fullmatch(network):
            raise InputError(f"a network cannot be called {network!r}\nHint: letters, digits, underscores and hyphens")
        self.node = BrokerNode(broker, self, notify)
        self._servers = [servers] if isinstance(servers, str) else list(servers)
        self._network = network
        self._sign_of_life = sign_of_life
        self._options = options
        self._sessions = {link: Session(time.time_ns(), silence=silence) for link in broker.links}
        self._outbox: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._connection: Client | None = None

    async def __aenter__(self) -> BrokerNode:
        try:
            import nats
        except ImportError:
            raise NotInstalled("brokers talk through NATS\nHint: pip install 'vedette[overlay]'") from None
        self._connection = await nats.connect(
            self._servers,
            **{
                "max_reconnect_attempts": -1,
                "reconnect_time_wait": 0.2,
                "disconnected_cb": self._disconnected,
                "error_cb": self._failed,
                "name": f"vedette-{self.node.broker.name}",
                **self._options,
            },
        )
        for link in self._sessions:
            await self._connection.subscribe(self._subject(link, self.node.broker.name), cb=self._receiver(link))
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._live())]
        return self.node

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._connection is not None:
            while not self._outbox.empty() and self._connection.is_connected:
                await self._connection.publish(*self._outbox.get_nowait())
            await self._connection.close()

    # ------------------------------------------------------------ out

    def send(self, link: str, message: Message) -> None:
        """Send a message; while the link is down it is lost, and subscriptions are sent again later."""
        frame = self._sessions[link].send(message)
        if frame is not None:
            self._outbox.put_nowait((self._subject(self.node.broker.name, link), encode(frame)))

    async def _write(self) -> None:
        from nats.errors import Error

        assert self._connection is not None
        while True:
            subject, data = await self._outbox.get()
            try:
                await self._connection.publish(subject, data)
            except Error as error:  # the gap will be noticed
                _LOG.warning("%s: a message to %s is lost: %s", self.node.broker.name, subject, error)

    async def _live(self) -> None:
        """Send heartbeats, and check for those of the neighbours."""
        while True:
            for link, session in self._sessions.items():
                self._follow(link, session.tick(time.monotonic()))
            await asyncio.sleep(self._sign_of_life)

    # ------------------------------------------------------------ in

    def _receiver(self, link: str) -> Callable[[Msg], Any]:
        async def receive(message: Msg) -> None:
            try:
                frame = decode(message.data)
            except InputError as error:
                _LOG.warning("%s: refused from %s: %s", self.node.broker.name, link, error)
                return
            self._follow(link, self._sessions[link].receive(frame, time.monotonic()))

        return receive

    def _follow(self, link: str, outcome: SessionEffects) -> None:
        # Heartbeats go first: the other end must know the session before it gets messages in it.
        subject = self._subject(self.node.broker.name, link)
        for frame in outcome.frames:
            self._outbox.put_nowait((subject, encode(frame)))
        for happened in outcome.happened:
            if happened is LinkChange.UP:
                self.node.up(link)
            elif happened is LinkChange.DOWN:
                self.node.down(link)
            else:
                self.node.handle(happened, link)

    async def _disconnected(self) -> None:
        for link, session in self._sessions.items():
            self._follow(link, session.lost())

    async def _failed(self, error: Exception) -> None:
        _LOG.warning("%s: %s", self.node.broker.name, error or type(error).__name__)

    def _subject(self, sender: str, receiver: str) -> str:
        return f"vedette.{self._network}.{sender}.{receiver}"
