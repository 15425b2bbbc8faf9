"""What does somebody hear who does not speak HTTP, or when too many are connected? A problem (RFC 9457), too."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vedette.service.errors import StoreBusy
from vedette.service.http.guards import App, Receive, Send
from vedette.service.http.problems import of_error, problem


class Protocol(HttpToolsProtocol):
    """Uvicorn's protocol, whose own answers would be plain texts."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        most, self.limit_concurrency = self.limit_concurrency, None
        app: App = self.app

        async def limited(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            if most is not None and len(self.connections) > most:
                busy = StoreBusy("too many are connected\nHint: try again in a moment", retry_after=5)
                await of_error(busy)(scope, receive, send)
            else:
                await app(scope, receive, send)

        self.app = limited

    def send_400_response(self, msg: str) -> None:
        """What came is no request; it is said so, and the connection ends."""
        self.transport.write(_raw(problem(400, "bad-request", msg)))
        self.transport.close()


def _raw(answer: Response) -> bytes:
    """An answer as it goes over the wire, where there is no request that it answers."""
    headers = b"".join(b"%s: %s\r\n" % pair for pair in answer.raw_headers)
    return b"HTTP/1.1 400 Bad Request\r\n%sconnection: close\r\n\r\n%s" % (headers, bytes(answer.body))
