"""Requests that nobody should send: no crash, no 5xx, every mistake told as RFC 9457 says, and the service goes on."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import orjson
import pytest

from tests.service.malformed import Operation, Request, operations, request
from tests.service.running import ADMIN, Running, over_http, settings_in, settled

STANDING = (
    "x = 1",
    "text = 'a' or x > 5 or time < 3 or id = 'x'",
    "any(strings(*)) icontains 'a'",
    "numbers(x) > 1",
    "data.x in (1, 2, 3) or exists(data)",
    "[x = 1] , [x = 2]",
    "[x = 1] as a and [exists(data)] within 10 seconds",
)


def known_of(running: Running) -> tuple[dict[str, list[str]], list[str]]:
    """Good parts of paths, and keys that open something."""
    subscriptions = []
    for when in STANDING:
        answer = running.call("POST", "/v1/subscriptions", json={"when": when})
        if answer.status_code == 201:
            subscriptions.append(answer.json())
    assert len(subscriptions) >= 4
    offer = running.call("POST", "/v1/offers", json={"when": "x between 1 and 5"}).json()
    known = {
        "id": [one["id"] for one in subscriptions] + [offer["id"]],
        "ticket": [one["ticket"] for one in subscriptions] + [offer["ticket"]],
        "stream": ["default"],
        "name": ["acme", "default"],
    }
    return known, [running.key, running.key, running.key, ADMIN, "vk_wrong"]


class Answer(NamedTuple):
    """What came back."""

    status: int
    media: str
    body: bytes


class Sender:
    """Sends what libraries for decent people refuse to send, over one connection as long as it lasts."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def send(self, one: Request) -> Answer:
        connection = self._connection
        connection.putrequest(one.method, one.path.decode("ascii"), skip_accept_encoding=True)
        for name, value in one.headers:
            connection.putheader(name.decode("latin-1"), value)
        connection.putheader("content-length", str(len(one.body)))
        connection.endheaders(one.body)
        answer = connection.getresponse()
        media = answer.headers.get("content-type", "")
        streams = media.startswith("text/event-stream")
        body = b"" if streams else answer.read()
        if streams or answer.will_close:
            connection.close()  # it opens another one
        return Answer(answer.status, media, body)


def check(one: Request, answer: Answer) -> None:
    shown = f"{one} -> {answer}"[:3_000]
    assert answer.status < 500, shown
    if answer.status >= 400:
        assert answer.media == "application/problem+json", shown
        if one.method == "HEAD":
            return
        said = orjson.loads(answer.body)
        assert said["status"] == answer.status, shown
        assert said["type"].startswith("urn:vedette:problem:"), shown
        assert said["title"], shown
        assert said["detail"], shown


def sent(running: Running, seed: int, count: int) -> dict[int, int]:
    """Send so many to all endpoints in turn; how often which status came back."""
    chance = Random(seed)
    all_: list[Operation] = operations(running.http.get("/openapi.json").json())
    known, keys = known_of(running)
    statuses: dict[int, int] = {}
    sender = Sender(int(running.url.rpartition(":")[2]))
    for number in range(count):
        one = request(chance, all_[number % len(all_)], known, keys)
        answer = sender.send(one)
        check(one, answer)
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
    return statuses


def works(running: Running) -> None:
    """Subscribe, publish, be told: as on the first day."""
    settled(running.service)
    mine = running.subscribe("after_all = 1")
    running.publish({"id": f"after-{mine['id']}", "after_all": 1})
    (one,) = running.pulled(mine["id"], wait=20)
    assert one["event"]["after_all"] == 1
    assert running.http.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, 600),
        *(pytest.param(seed, 2_000, marks=(pytest.mark.thorough, pytest.mark.long)) for seed in range(1, 6)),
    ],
)
def test_malformed_requests(tmp_path: Path, seed: int, count: int) -> None:
    limits: dict[str, Any] = {"requests": 1e9, "burst": 10**9, "anonymous_requests": 1e9}
    with over_http(settings_in(tmp_path, limits=limits)) as running:
        statuses = sent(running, seed, count)
        assert {202, 401, 404, 422} <= statuses.keys(), statuses  # it came to all kinds of ends
        works(running)
