"""Parse server-sent events, line by line."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson


class ServerSentEvent(NamedTuple):
    """One event of the stream."""

    kind: str
    id: str | None
    data: dict[str, Any]


class SseDecoder:
    """Turns the lines of a stream into events."""

    def __init__(self) -> None:
        self.last: str | None = None  # the id of the last event that came whole, to go on after
        self._kind, self._data = "message", list[str]()
        self._id: str | None = None

    def take(self, line: str) -> ServerSentEvent | None:
        """Process a line; return an event, if it completes one."""
        if not line:
            return self._completed()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def broken(self) -> None:
        """The connection broke: drop the incomplete event."""
        self._kind, self._data, self._id = "message", [], None

    def _completed(self) -> ServerSentEvent | None:
        kind, data = self._kind, "\n".join(self._data)
        self.last = self.last if self._id is None else self._id
        self.broken()
        return ServerSentEvent(kind, self.last, orjson.loads(data)) if data else None
