"""Who publishes and who reads while the service is tried? Several of each, who remember what they were promised.

Publishers remember which events were acknowledged, and when. Readers of three kinds - one who pulls and acknowledges,
one who listens to server-sent events, one whom webhooks are sent to - remember what they were told, in order.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import httpx

BATCH: Final = 5  # events of one request
FILTER: Final = "x = 1"
PATTERN: Final = "[x = 1] , [x = 2]"
_PAUSE: Final = 0.02  # seconds before asking again somebody who did not answer


class Promises:
    """What the service said that it did, each with the moment when that was heard (time.monotonic_ns)."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str]] = []  # acknowledged
        self.taken: list[tuple[int, str]] = []  # notifications whose acknowledgement was answered
        self.subscriptions: list[tuple[int, str]] = []
        self.told: dict[str, list[str]] = {}  # subscription -> ids of notifications, as they came
        self.refused: dict[int, int] = {}  # status -> how often publishing was answered so

    def subscribe(self, client: httpx.Client, when: str, **more: Any) -> str:
        """A subscription that stands from now on."""
        answer = client.post("/v1/subscriptions", json={"when": when, **more})
        answer.raise_for_status()
        id_ = str(answer.json()["id"])
        self.subscriptions.append((time.monotonic_ns(), id_))
        self.told[id_] = []
        return id_


def client_of(url: str, key: str, timeout: float = 60.0) -> httpx.Client:
    """Somebody who asks with a key."""
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=timeout, trust_env=False)


@contextmanager
def under_load(
    url: str, key: str, promises: Promises, *, publishers: int = 3, readers: tuple[str, ...] = (), text: int = 0
) -> Iterator[Callable[[], None]]:
    """Publishers and readers, until the end; what is handed out ends the publishing before."""
    silent, ending = threading.Event(), threading.Event()
    publish = [
        threading.Thread(target=_publish, args=(url, key, promises, silent, number, text))
        for number in range(publishers)
    ]
    with _receiving(promises) as hook, client_of(url, key) as client:
        read = []
        for kind in readers:
            delivery = {"type": "webhook", "url": hook} if kind == "webhook" else {"type": "queue"}
            id_ = promises.subscribe(client, FILTER, subscriber=kind, delivery=delivery)
            if kind != "webhook":
                target = {"pull": _pull, "sse": _listen}[kind]
                read.append(threading.Thread(target=target, args=(url, key, promises, ending, id_)))
        threads = [*publish, *read]
        for thread in threads:
            thread.start()

        def quiet() -> None:
            silent.set()
            for thread in publish:
                thread.join()

        try:
            yield quiet
        finally:
            silent.set()
            ending.set()
            for thread in threads:
                thread.join()


def _publish(url: str, key: str, promises: Promises, silent: threading.Event, number: int, text: int) -> None:
    """Batches of a few events, again and again; each has ids of its own, and a text of that length."""
    turn = 0
    with client_of(url, key) as client:
        while not silent.is_set():
            turn += 1
            events = [{"id": f"{number}-{turn}-{n}", "x": n % 3, "text": "x" * text} for n in range(BATCH)]
            try:
                answer = client.post("/v1/events", json=events)
            except httpx.HTTPError:
                time.sleep(_PAUSE)
                continue
            moment = time.monotonic_ns()
            if answer.status_code == httpx.codes.ACCEPTED:
                promises.events.extend((moment, str(event["id"])) for event in events)
            else:
                promises.refused[answer.status_code] = promises.refused.get(answer.status_code, 0) + 1
                time.sleep(_PAUSE)


def _pull(url: str, key: str, promises: Promises, ending: threading.Event, id_: str) -> None:
    """Pull and acknowledge; what was pulled twice was told twice, which is allowed."""
    where = f"/v1/subscriptions/{id_}/notifications"
    with client_of(url, key) as client:
        while not ending.is_set():
            try:
                answer = client.get(where, params={"wait": 0.2, "limit": 100})
                ids = [one["id"] for one in answer.json()["notifications"]] if answer.is_success else []
                promises.told[id_] += ids
                if ids and client.post(f"{where}:ack", json={"ids": ids}).is_success:
                    moment = time.monotonic_ns()
                    promises.taken += [(moment, one) for one in ids]
            except httpx.HTTPError:
                time.sleep(_PAUSE)


def _listen(url: str, key: str, promises: Promises, ending: threading.Event, id_: str) -> None:
    """Listen, and go on after the last that came whenever the connection breaks."""
    told = promises.told[id_]
    with client_of(url, key, timeout=1.0) as client:
        while not ending.is_set():
            headers = {"Last-Event-ID": told[-1]} if told else {}
            try:
                with client.stream("GET", f"/v1/subscriptions/{id_}/stream", headers=headers) as answer:
                    for line in answer.iter_lines():
                        if line.startswith("id: "):
                            told.append(line.removeprefix("id: "))
                        if ending.is_set():
                            break
            except httpx.HTTPError:
                time.sleep(_PAUSE)


@contextmanager
def _receiving(promises: Promises) -> Iterator[str]:
    """Somebody whom webhooks are sent to; now and then it fails, as people do."""
    lock, count = threading.Lock(), 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            nonlocal count
            said = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                count += 1
                fails = count % 50 == 0
                if not fails:
                    promises.told[said["subscription"]].append(said["id"])
            self.send_response(500 if fails else 204)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a sender that is killed breaks off
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
