"""HTTP and WebSocket connections of uvicorn, with limits on heads, times and numbers; refusals are sent as problems.

Uvicorn's fast parser takes heads of any size and waits for them for ever. Here bytes are counted as they come, and a
connection has one of four stages: it waits for a head, for a body, for nothing (its request is being answered, or it is
idle), or it was refused and may read why.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from vedette.service.http.connection_limits import (
    ENTRY,
    ConnectionEntry,
    ConnectionLimits,
    ConnectionTimeouts,
    LimitedConnection,
)
from vedette.service.http.problems import problem
from vedette.service.settings import ServiceSettings


class ReadStage(Enum):
    """What a connection is reading."""

    NOTHING = 0
    HEAD = 1
    BODY = 2
    REFUSED = 3


class _HeadTooLong(Exception):
    """Raised within the parser, to end it."""


_DISCARDED: Final = 64 * 1024  # bytes that are read of what comes behind a refusal
_FULL: Final = {
    "full": (503, "busy", "too many are connected\nHint: try again in a moment"),
    "address": (
        429,
        "over-limit",
        "too many connections without a key come from this address\nHint: use fewer, or send a key on each",
    ),
}


class Protocol(HttpToolsProtocol):
    """One HTTP connection."""

    def __init__(self, *given: Any, limits: ConnectionLimits | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self.limit_concurrency = None  # which would answer in plain text
        self._limits = limits or ConnectionLimits(ServiceSettings())
        self._stage = ReadStage.NOTHING
        self._fed = 0  # bytes since the head began, or since a piece of a body
        self._waiting: ConnectionTimeouts[LimitedConnection] | None = None
        self._lingers = False

    # ------------------------------------------------------------ coming and going

    def connection_made(self, transport: Any) -> None:
        """Count the connection and start the time of its first head, or refuse it."""
        super().connection_made(transport)
        self._entry = self._limits.enter(self.client[0] if self.client else None, self.connections)
        self.app_state = {**self.app_state, ENTRY: self._entry}
        if self._entry.refused is not None:
            status, kind, detail = _FULL[self._entry.refused]
            self._refuse(status, kind, detail, linger=False)
        else:
            self._wait(self._limits.heads)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from all limits."""
        self._wait(None)
        self._limits.readers.discard(self)
        self._limits.forget(self._entry)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a WebSocket, which stays counted."""
        self._wait(None)
        self._limits.readers.discard(self)
        super().handle_websocket_upgrade()

    # ------------------------------------------------------------ reading

    def data_received(self, data: bytes) -> None:
        """Feed the parser; refuse what is not HTTP, or has too long a head."""
        if self._stage is ReadStage.REFUSED:
            self._fed += len(data)
            if self._fed > _DISCARDED:
                self.flow.pause_reading()  # a client that goes on sending waits, and costs nothing
            return
        self._unset_keepalive_if_required()
        self._fed += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _HeadTooLong):
                self._too_long()
            else:
                self._refuse(400, "bad-request", "this is no HTTP request\nHint: speak HTTP/1.1")
            return
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
                return
        if self._stage is not ReadStage.NOTHING and self._fed > self._limits.header_bytes:
            self._too_long()  # a head, or what comes between and after the pieces of a body
        else:
            self._place()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._stage = ReadStage.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is complete."""
        if self._fed > self._limits.header_bytes:  # there may be some of the body in it
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > self._limits.header_bytes:
                raise _HeadTooLong
        super().on_headers_complete()
        self._fed = 0
        self._stage = ReadStage.BODY

    def on_body(self, body: bytes) -> None:
        """A piece of a body has come."""
        self._fed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._fed = 0
        self._stage = ReadStage.NOTHING
        super().on_message_complete()

    def _place(self) -> None:
        """Start the time limit of what the connection waits for now, unless it runs already."""
        wanted: ConnectionTimeouts[LimitedConnection] | None = None
        if self._stage is ReadStage.BODY:
            wanted = self._limits.bodies
        elif self._stage is ReadStage.HEAD or self.cycle is None or self.cycle.response_complete:
            wanted = self._limits.heads  # or only empty lines came
        if wanted is not self._waiting:
            self._wait(wanted)

    def _wait(self, wanted: ConnectionTimeouts[LimitedConnection] | None) -> None:
        if self._waiting is not None:
            self._waiting.discard(self)
        self._waiting = wanted
        if wanted is not None:
            wanted.add(self, self.loop.time())

    # ------------------------------------------------------------ clients that do not read

    def pause_writing(self) -> None:
        """The client reads too slowly: its time to read begins."""
        super().pause_writing()
        self._limits.readers.add(self, self.loop.time())

    def resume_writing(self) -> None:
        """The client has read again."""
        self._limits.readers.discard(self)
        super().resume_writing()

    def end_if_lingering(self) -> None:
        """Abort if it was already closing at the last call: what is left is not read."""
        if self._lingers:
            self.transport.abort()
        self._lingers = self.transport.is_closing()

    # ------------------------------------------------------------ ending

    def late(self, waiting: ConnectionTimeouts[LimitedConnection]) -> None:
        """A time limit is over: answer with 408 where that is possible, else close."""
        if waiting is self._waiting:
            self._waiting = None
        if waiting is self._limits.readers:
            self._limits.refused["stalled"] += 1
            self.transport.abort()
        elif self._stage is ReadStage.REFUSED:
            self.transport.abort()
        elif self.flow.read_paused:  # it was us who did not read
            self._wait(waiting)
        elif self._stage is ReadStage.NOTHING:  # nothing came
            self.transport.close()
        else:
            what = "head" if self._stage is ReadStage.HEAD else "body"
            self._limits.refused[f"slow {what}"] += 1
            self._refuse(408, "timed-out", f"the {what} of the request took too long\nHint: send it again, faster")

    @property
    def address(self) -> str | None:
        """The address that it counts against, until a request on it has shown a key."""
        return self._entry.address

    def make_room(self) -> None:
        """Abort the connection, which has no request under way, to make room for a new one."""
        self._waiting = None
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and end the connection."""
        self._refuse(400, "bad-request", msg)

    def _too_long(self) -> None:
        self._limits.refused["long head"] += 1
        what = f"more than {self._limits.header_bytes:,} bytes of headers\nHint: send fewer and shorter ones"
        self._refuse(431, "headers-too-large", what)

    def _refuse(self, status: int, kind: str, detail: str, *, linger: bool = True) -> None:
        """Send an error, if an answer can be sent now, and end; what still comes is discarded."""
        if self.transport.is_closing() or self._stage is ReadStage.REFUSED:
            return
        may_answer = self._may_answer()
        self._stage, self._fed = ReadStage.REFUSED, 0
        self._wait(None)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not may_answer:
            self.transport.close()
            return
        headers = {"Connection": "close"} | ({"Retry-After": "5"} if status in (429, 503) else {})
        answer = problem(status, kind, detail, headers=headers)
        lines = b"".join(b"%s: %s\r\n" % pair for pair in answer.raw_headers)
        self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + bytes(answer.body))
        if linger and self.transport.can_write_eof():
            self.transport.write_eof()  # closed at once, what was not read would take the answer away again
            self._wait(self._limits.leaving)
        else:
            self.transport.close()

    def _may_answer(self) -> bool:
        """Whether an answer sent now would belong to the request being read, and not stand within another answer."""
        if self._stage is ReadStage.BODY:
            return not self.cycle.response_started and not self.pipeline
        return self.cycle is None or self.cycle.response_complete


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from all limits."""
        entry: ConnectionEntry = self.app_state[ENTRY]
        entry.limits.forget(entry)
        super().connection_lost(exc)

    def end_if_lingering(self) -> None:
        """Uvicorn itself ends WebSockets that are closed, and those that do not answer pings."""
