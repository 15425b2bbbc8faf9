"""Webhooks: signed, in order, tried again, given up, ended, replayed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.connectors.processes import free_ports
from tests.service.receiver import Receiver, receiving
from tests.service.running import ADMIN, Running, over_http, settings_in
from tests.waiting import until
from vedette.client import Client
from vedette.errors import InputError
from vedette.service import signing
from vedette.service.delivery.webhook_connections import Connections


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def hooked(running: Running, receiver: Receiver, when: str, **more: Any) -> dict[str, Any]:
    return running.subscribe(when, delivery={"type": "webhook", "url": receiver.url, **more})


def counts(running: Running, id_: str) -> dict[str, int]:
    answer = running.call("GET", f"/v1/subscriptions/{id_}").json()["notifications"]
    return {name: answer[name] for name in ("due", "delivered", "dead", "pending", "dropped")}


def test_signed_and_in_order(running: Running, receiver: Receiver) -> None:
    mine = hooked(running, receiver, "hook = 'order'")
    running.publish(*({"hook": "order", "n": n} for n in range(20)))
    until(lambda: len(receiver.requests) >= 20)
    assert [orjson.loads(one.body)["event"]["n"] for one in receiver.requests] == list(range(20))
    key = base64.b64decode(mine["secret"].removeprefix("whsec_"))
    for one in receiver.requests:
        content = f"{one.headers['webhook-id']}.{one.headers['webhook-timestamp']}.".encode() + one.body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        assert one.headers["webhook-signature"] == f"v1,{expected}"
        assert orjson.loads(one.body)["id"] == one.headers["webhook-id"]
    until(lambda: counts(running, mine["id"])["delivered"] == 20)
    assert "secret" not in running.call("GET", f"/v1/subscriptions/{mine['id']}").json()["delivery"]


def test_failures_are_tried_again_with_the_same_id_and_keep_the_order(running: Running, receiver: Receiver) -> None:
    receiver.answer = lambda number: (500 if number == 0 else 204, {})
    mine = hooked(running, receiver, "hook = 'again'")
    running.publish({"hook": "again", "n": 0}, {"hook": "again", "n": 1})
    until(lambda: counts(running, mine["id"])["delivered"] == 2)
    ids = [one.headers["webhook-id"] for one in receiver.requests]
    assert ids[0] == ids[1] != ids[2]
    assert [orjson.loads(one.body)["event"]["n"] for one in receiver.requests] == [0, 0, 1]


def test_the_next_one_says_how_many_were_dropped(tmp_path: Path, receiver: Receiver) -> None:
    answering = threading.Event()

    def answer(_number: int) -> tuple[int, dict[str, str]]:
        answering.wait(60)
        return 204, {}

    receiver.answer = answer
    with over_http(settings_in(tmp_path, limits={"queue": 3})) as running:
        mine = hooked(running, receiver, "hook = 'slow'")
        running.publish({"hook": "slow", "n": 0})
        until(lambda: len(receiver.requests) == 1)  # under way, and not answered
        running.publish(*({"hook": "slow", "n": n} for n in range(1, 10)))
        until(lambda: counts(running, mine["id"])["dropped"] == 7)
        answering.set()
        until(lambda: counts(running, mine["id"])["pending"] == 0)
    told = {orjson.loads(one.body)["event"]["n"]: one.headers.get("vedette-dropped") for one in receiver.requests}
    assert told == {0: None, 7: "7", 8: None, 9: None}


def test_what_fails_to_the_end_is_a_dead_letter_that_can_be_replayed(running: Running, receiver: Receiver) -> None:
    receiver.answer = lambda number: (503 if number < 3 else 204, {})
    mine = hooked(running, receiver, "hook = 'dead'")
    running.publish({"hook": "dead", "n": 0})
    until(lambda: counts(running, mine["id"])["dead"] == 1)
    (letter,) = (
        one
        for one in running.call("GET", "/v1/dead-letters").json()["dead_letters"]
        if one["notification"]["subscription"] == mine["id"]
    )
    assert (letter["attempts"], letter["reason"]) == (3, "HTTP 503")
    done = running.call("POST", "/v1/dead-letters:replay", json={"numbers": [letter["number"]]})
    assert done.json() == {"replayed": 1}
    until(lambda: counts(running, mine["id"])["delivered"] == 1)
    assert counts(running, mine["id"]) == {"due": 1, "delivered": 1, "dead": 0, "pending": 0, "dropped": 0}


def test_gone_ends_the_subscription(running: Running, receiver: Receiver) -> None:
    receiver.answer = lambda _: (410, {})
    mine = hooked(running, receiver, "hook = 'gone'")
    running.publish({"hook": "gone"})
    until(lambda: running.call("GET", f"/v1/subscriptions/{mine['id']}").status_code == 404)


def test_retry_after_is_obeyed(running: Running, receiver: Receiver) -> None:
    receiver.answer = lambda number: (429, {"Retry-After": "3600"}) if number == 0 else (204, {})
    mine = hooked(running, receiver, "hook = 'later'")
    running.publish({"hook": "later"})
    until(
        lambda: running.service.store.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM attempts").scalar()) == 1
    )
    due = running.service.store.read(lambda c: c.exec_driver_sql("SELECT due FROM attempts").scalar())
    created = running.service.store.read(lambda c: c.exec_driver_sql("SELECT max(created) FROM notifications").scalar())
    assert due is not None
    assert created is not None
    assert due - created > 3590 * 1_000_000
    assert counts(running, mine["id"])["pending"] == 1


@pytest.mark.parametrize("said", ["\xb2", "", "-1", "soon", "Mon, 99 Foo 99999 99:99:99 GMT", "9" * 400])
def test_odd_answers_are_failures_like_others(running: Running, receiver: Receiver, said: str) -> None:
    after = {"Retry-After": said} if said != "9" * 400 else {"X-Odd": said}
    receiver.answer = lambda number: (503, after) if number == 0 else (204, {})
    mine = hooked(running, receiver, f"hook = 'odd' and n = {len(said)}")
    running.publish({"hook": "odd", "n": len(said)})
    until(lambda: counts(running, mine["id"])["delivered"] == 1)


def test_replacing_without_a_word_of_it_keeps_the_webhook(running: Running, receiver: Receiver) -> None:
    mine = hooked(running, receiver, "kept = 1")
    with Client(running.url, running.key) as client:
        replaced = client.replace(mine["id"], mine["ticket"], "kept = 2")
        assert replaced["delivery"] == {"type": "webhook", "url": receiver.url}
        running.publish({"kept": 2})
        until(lambda: len(receiver.requests) == 1)
        other = client.replace(mine["id"], mine["ticket"], "kept = 2", webhook=receiver.url + "/other")
        assert other["delivery"]["url"] == receiver.url + "/other"


def test_a_connection_is_used_again_by_its_own_host_alone(running: Running) -> None:
    came: list[tuple[int, str]] = []  # port of the other side, and for whom

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            came.append((self.client_address[1], self.headers["host"].partition(":")[0]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        hosts = "127.0.0.1", "127.1", "0x7f.1"  # all lead to the same address
        for host in hosts:
            url = f"http://{host}:{server.server_port}/"
            running.subscribe("hosts = 1", delivery={"type": "webhook", "url": url})
        for _ in range(4):
            before = len(came)
            running.publish({"hosts": 1})
            until(partial(lambda before: len(came) == before + len(hosts), before))
    finally:
        server.shutdown()
        server.server_close()
    assert {host for _, host in came} == set(hosts)
    assert len(set(came)) == len({port for port, _ in came})  # nobody used a connection of another
    assert len({port for port, _ in came}) < len(came)  # and they were used again


def test_connections_of_many_hosts_are_not_all_kept() -> None:
    async def used() -> None:
        connections = Connections(1.0, most=2)
        async with connections.to("a.example") as busy:
            for name in ("b.example", "c.example", "d.example"):
                async with connections.to(name) as other:
                    assert other is not busy
            assert len(connections) == 2
            async with connections.to("a.example") as same:
                assert same is busy
            assert not busy.is_closed
        await connections.close()
        assert busy.is_closed

    asyncio.run(used())


def test_redirects_are_not_followed(running: Running, receiver: Receiver) -> None:
    receiver.answer = lambda _: (302, {"Location": "http://127.0.0.1:1/"})
    mine = hooked(running, receiver, "hook = 'redirect'")
    running.publish({"hook": "redirect"})
    until(lambda: counts(running, mine["id"])["dead"] == 1)
    letters = running.call("GET", "/v1/dead-letters").json()["dead_letters"]
    assert any(one["reason"] == "HTTP 302" for one in letters)


def test_secrets_that_are_brought_along(running: Running, receiver: Receiver) -> None:
    secret = signing.new_secret()
    assert hooked(running, receiver, "x = 1", secret=secret)["secret"] == secret
    for wrong in ("", "abc", "whsec_", "whsec_!!!", "whsec_" + base64.b64encode(b"short").decode()):
        with pytest.raises(InputError):
            signing.check_secret(wrong)


def test_replacing_keeps_the_secret_and_tells_of_a_new_one(running: Running, receiver: Receiver) -> None:
    webhook = {"type": "webhook", "url": receiver.url}
    mine = running.subscribe("replaced = 1", delivery=webhook)
    path, ticket = f"/v1/subscriptions/{mine['id']}", {"Vedette-Ticket": mine["ticket"]}

    def replaced(delivery: dict[str, str]) -> str | None:
        body = {"when": "replaced = 2", "delivery": delivery}
        answer = running.call("PUT", path, json=body, headers=ticket)
        assert answer.status_code == 200, answer.text
        return answer.json()["secret"]

    def kept() -> str | None:
        tenant = running.service.tenants.of_key(running.key)
        return running.service.registry.get(tenant, mine["id"]).delivery.get("secret")

    assert replaced(webhook) is None
    assert kept() == mine["secret"]
    assert replaced({"type": "queue"}) is None
    fresh = replaced(webhook)
    assert fresh is not None
    assert kept() == fresh != mine["secret"]


# ---------------------------------------------------------------- failing, where owners look


def failing(running: Running, id_: str) -> dict[str, Any] | None:
    shown = running.call("GET", f"/v1/subscriptions/{id_}").json()["failing"]
    return None if shown is None else dict(shown)


def lines(caplog: pytest.LogCaptureFixture, id_: str) -> list[str]:
    """What the log says of a webhook, without what is given up."""
    said = [one for one in caplog.records if getattr(one, "subscription", None) == id_ and one.levelno > logging.DEBUG]
    return [one.getMessage() for one in said if one.getMessage() != "a notification is given up"]


def test_a_webhook_that_fails_is_to_be_seen(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vedette.service.webhooks")
    [port] = free_ports(1)
    hook = {"type": "webhook", "url": f"http://127.0.0.1:{port}/hook"}
    with over_http(settings_in(tmp_path, webhooks={"schedule": (0.05, 3600.0)})) as running:
        mine = running.subscribe("hook = 'closed'", delivery=hook)
        assert failing(running, mine["id"]) is None
        running.publish(*({"hook": "closed", "n": n} for n in range(3)))
        until(lambda: (failing(running, mine["id"]) or {}).get("attempts") == 2)
        said = failing(running, mine["id"])
        assert said is not None
        assert (said["error"], said["status"]) == ("unreachable", None)
        assert said["since"] < said["next_try"]
        assert counts(running, mine["id"])["pending"] == 3
        assert running.call("GET", "/v1/subscriptions").json()["subscriptions"][0]["failing"] == said
        until(lambda: lines(caplog, mine["id"]) == ["a webhook fails"])
        (line,) = (one for one in caplog.records if one.getMessage() == "a webhook fails")
        assert (vars(line)["tenant"], vars(line)["reason"]) == ("acme", "unreachable")
        assert 'vedette_webhooks_failing{reason="unreachable"} 1.0' in metrics(running)
        with receiving() as receiver:  # another URL is tried at once: what is known of the first one is past
            ticket = {"Vedette-Ticket": mine["ticket"]}
            body = {"when": "hook = 'closed'", "delivery": {"type": "webhook", "url": receiver.url}}
            answer = running.call("PUT", f"/v1/subscriptions/{mine['id']}", json=body, headers=ticket)
            assert answer.status_code == 200, answer.text
            until(lambda: counts(running, mine["id"])["delivered"] == 3)
        assert failing(running, mine["id"]) is None
        assert "vedette_webhooks_failing{" not in metrics(running)


def test_what_is_given_up_goes_on_to_count_until_one_is_taken(
    running: Running, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vedette.service.webhooks")
    works = threading.Event()
    receiver.answer = lambda _: (204 if works.is_set() else 503, {})
    mine = hooked(running, receiver, "hook = 'given up'")
    running.publish({"hook": "given up"})
    until(lambda: counts(running, mine["id"])["dead"] == 1)
    said = failing(running, mine["id"])
    assert said is not None
    assert (said["attempts"], said["error"], said["status"], said["next_try"]) == (3, "HTTP 503", 503, None)
    assert len(receiver.requests) == 3
    works.set()
    running.publish({"hook": "given up"})
    until(lambda: counts(running, mine["id"])["delivered"] == 1)
    assert failing(running, mine["id"]) is None
    until(lambda: lines(caplog, mine["id"]) == ["a webhook fails", "a webhook works again"])
    works.clear()
    running.publish({"hook": "given up"})
    until(lambda: failing(running, mine["id"]) is not None)
    assert len(lines(caplog, mine["id"])) == 2  # once a minute: one that comes and goes does not fill the log


def metrics(running: Running) -> str:
    return running.http.get("/metrics", headers={"Authorization": f"Bearer {ADMIN}"}).text
