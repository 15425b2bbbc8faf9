"""Owners read classes of failures, never which ports answer: whatever is behind a port, the same words."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from tests.service.running import Running
from tests.waiting import until
from vedette.service.delivery.delivery_results import CERTIFICATE, NO_ADDRESS, UNREACHABLE
from vedette.service.delivery.delivery_slots import DeliverySlots
from vedette.service.delivery.webhooks import Webhooks
from vedette.service.outbox import QueuedNotification
from vedette.service.settings import WebhookSettings

ONE = QueuedNotification(1, "n_1", 1, "match", b"{}", 0, None)
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


@contextmanager
def behaving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port of this machine where connections are treated so."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as kept:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                kept.enter_context(connection)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        yield bound.getsockname()[1]


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def outcomes(urls: list[str], **more: Any) -> list[Any]:
    settings = WebhookSettings(**{"allow_private": True, "ports": "any", "timeout": 0.3, **more})

    async def asked() -> list[Any]:
        webhooks = Webhooks(None, None, None, None, settings)  # type: ignore[arg-type]
        return [await webhooks._request({"url": url, "secret": SECRET}, ONE, 0) for url in urls]

    return asyncio.run(asked())


def test_every_way_not_to_answer_reads_the_same() -> None:
    ways: list[Callable[[socket.socket], Any]] = [
        lambda _: None,  # says nothing
        socket.socket.close,
        reset,
        lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"),
        lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12"),  # and no more
    ]
    with ExitStack() as stack:
        ports = [stack.enter_context(closed_port()), *(stack.enter_context(behaving(way)) for way in ways)]
        found = outcomes([f"{scheme}://127.0.0.1:{port}/" for scheme in ("http", "https") for port in ports])
    assert [(one.status, one.reason) for one in found] == [(None, UNREACHABLE)] * 12
    details = {one.detail for one in found}
    assert len(details) > 3, details  # the log knows more


def test_names_that_are_not_known_read_like_those_that_lead_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        if host == "unknown.example.com":
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    found = outcomes(["https://unknown.example.com/", "https://inside.example.com/"], allow_private=False)
    assert [one.reason for one in found] == [NO_ADDRESS] * 2
    assert found[0].detail != found[1].detail


def test_other_ports_are_blocked_before_anything_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("a name was looked up"))
    (one,) = outcomes(["https://example.com:6379/"], allow_private=False, ports=(80, 443))
    assert one.reason == "blocked: webhooks do not go to port 6379"


def test_certificates_are_a_class_of_their_own() -> None:
    import ssl

    from vedette.service.delivery.delivery_results import no_answer

    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    assert no_answer(error).reason == CERTIFICATE
    assert no_answer(httpx.ConnectError("[SSL] wrong version number")).reason == UNREACHABLE


def test_a_dead_letter_says_the_class_and_the_log_says_more(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    with closed_port() as port, caplog.at_level(logging.WARNING, "vedette.service.webhooks"):
        mine = running.subscribe("lost = 1", delivery={"type": "webhook", "url": f"http://127.0.0.1:{port}/"})
        running.publish({"lost": 1})
        until(lambda: running.call("GET", f"/v1/subscriptions/{mine['id']}").json()["notifications"]["dead"] == 1)
    letters = running.call("GET", "/v1/dead-letters").json()["dead_letters"]
    assert [one["reason"] for one in letters if one["notification"]["subscription"] == mine["id"]] == [UNREACHABLE]
    begins, said = (vars(one) for one in caplog.records if vars(one).get("subscription") == mine["id"])
    assert begins["detail"] == said["detail"]
    assert "ConnectError" in said["detail"]


def test_slots_go_to_whoever_has_the_fewest() -> None:
    order: list[str] = []

    async def work(slots: DeliverySlots, tenant: str) -> None:
        async with slots.of(tenant):
            order.append(tenant)
            await asyncio.sleep(0)

    async def all_() -> None:
        slots = DeliverySlots(2)
        greedy = [asyncio.create_task(work(slots, "greedy")) for _ in range(20)]
        await asyncio.sleep(0)
        greedy[5].cancel()
        await asyncio.gather(work(slots, "other"), work(slots, "third"), *greedy, return_exceptions=True)
        assert (slots._free, slots._waiting, slots._used) == (2, {}, {})

    asyncio.run(all_())
    assert len(order) == 21
    assert {"other", "third"} <= set(order[:8])  # whoever comes after twenty need not wait for them


def test_a_slot_that_was_just_given_is_not_lost_when_whoever_waited_goes_away() -> None:
    async def all_() -> None:
        slots = DeliverySlots(1)
        holder = slots.of("a")
        await holder.__aenter__()

        async def wait() -> None:
            async with slots.of("b"):
                pytest.fail("it was cancelled")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        await holder.__aexit__(None, None, None)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert slots._free == 1

    asyncio.run(all_())
