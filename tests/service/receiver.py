"""Somebody whom webhooks are sent to: remembers what came, and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """One that came."""

    headers: dict[str, str]
    body: bytes


Answer = tuple[int, dict[str, str]]


class Receiver:
    """A server on this machine; `answer` says what to answer to the n-th request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.answer: Callable[[int], Answer] = lambda _: (204, {})


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, as long as it is needed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            number = len(receiver.requests)
            receiver.requests.append(Request({name.lower(): value for name, value in self.headers.items()}, body))
            status, headers = receiver.answer(number)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
