"""Connections over raw sockets: whoever is nobody yet cannot take much, nor for long."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.sync.client import connect

from benchmarks.service import raw_sockets
from tests.service.running import Running, over_http, settings_in
from tests.waiting import until
from vedette.service.http.connection_limits import ConnectionLimits, address_key, trusted
from vedette.service.settings import ServiceSettings

MOST_UNKNOWN = 20
LIMITS = {
    "header_bytes": 4096,
    "header_seconds": 0.3,
    "body_seconds": 0.3,
    "stalled_seconds": 0.3,
    "address_connections": MOST_UNKNOWN,
    "anonymous_requests": 1e9,
}
GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with over_http(settings_in(tmp_path_factory.mktemp("service"), limits=LIMITS)) as running:
        yield running


@contextlib.contextmanager
def connected(running: Running, sent: bytes = b"") -> Iterator[socket.socket]:
    port = int(running.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
        one.sendall(sent)
        yield one


def rest(one: socket.socket) -> bytes:
    """All that comes until the other side ends."""
    came = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := one.recv(65536):
            came += piece
    return came


def status_of(answer: bytes) -> int:
    """The status of an answer that has to be a whole problem, and the only one."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    lines = head.lower().split(b"\r\n")
    assert b"content-type: application/problem+json" in lines
    assert b"connection: close" in lines
    assert b"content-length: %d" % len(body) in lines
    assert orjson.loads(body)["status"] == status
    return status


def refused(running: Running, why: str) -> int:
    return limits_of(running).refused[why]


def limits_of(running: Running) -> ConnectionLimits:
    return running.connections


def answered(one: socket.socket) -> bytes:
    """One answer with a length."""
    came = b""
    while b"\r\n\r\n" not in came:
        came += one.recv(65536)
    head, _, body = came.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += one.recv(65536)
    return came


# ---------------------------------------------------------------- heads


@pytest.mark.parametrize(
    "head",
    [
        GET + b"X-Long: " + b"x" * 5000 + b"\r\n\r\n",  # as a whole
        GET + b"".join(b"X-%d: y\r\n" % n for n in range(500)) + b"\r\n",  # many short ones
        GET + b"X-Endless: " + b"x" * 100_000,  # nothing ends
        b"GET /" + b"x" * 100_000,
        b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n",
        POST % b"KEY" + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: " + b"x" * 100_000,
        POST % b"KEY" + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 100_000,
        GET + b"Upgrade: websocket\r\nConnection: upgrade\r\nX-Long: " + b"x" * 5000 + b"\r\n\r\n",
    ],
    ids=["long", "many", "endless", "endless-path", "long-path", "trailer", "extension", "websocket"],
)
def test_heads_that_are_too_long(running: Running, head: bytes) -> None:
    before = refused(running, "long head")
    head = head.replace(b"KEY", running.key.encode())
    with connected(running) as one:
        with contextlib.suppress(ConnectionError):
            for begin in range(0, len(head), 1000):
                one.sendall(head[begin : begin + 1000])
        answer = rest(one)
    assert status_of(answer) == 431
    assert refused(running, "long head") == before + 1


def test_nothing_of_a_huge_head_is_kept(running: Running) -> None:
    sent = 0
    with connected(running, GET + b"X-Endless: ") as one, contextlib.suppress(ConnectionError):
        for _ in range(400):  # 100 MB, if it were taken
            one.sendall(b"x" * 262_144)
            sent += 262_144
            if b"431" in one.recv(16):
                break
    assert sent < 20 * 262_144
    assert 'vedette_connections_refused_total{reason="long-head"}' in running.http.get("/metrics").text


def test_a_head_that_just_fits_and_comes_with_its_body(running: Running) -> None:
    head = POST % running.key.encode()
    body = orjson.dumps([{"text": "x" * 100} for _ in range(1000)])
    head += b"Content-Length: %d\r\n" % len(body)
    head += b"X-Fill: " + b"x" * (int(LIMITS["header_bytes"]) - len(head) - 12) + b"\r\n\r\n"
    with connected(running, head + body) as one:
        assert b"202" in answered(one)[:20]


def test_many_requests_in_one_piece(running: Running) -> None:
    with connected(running, (GET + b"\r\n") * 200 + GET + b"Connection: close\r\n\r\n") as one:
        assert rest(one).count(b'{"status":"alive"}') == 201


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", None),
        (b"\r\n\r\n", None),
        (b"G", 408),
        (GET, 408),
        (GET + b"X-Slow: ", 408),
        (POST % b"KEY" + b"Content-Length: 100\r\n\r\n", 408),
        (POST % b"KEY" + b"Content-Length: 100\r\n\r\n{", 408),
        (POST % b"KEY" + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12", 408),
        (POST % b"KEY" + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", 408),
    ],
)
def test_half_requests_are_ended(running: Running, sent: bytes, status: int | None) -> None:
    with connected(running, sent.replace(b"KEY", running.key.encode())) as one:
        answer = rest(one)
    assert (status_of(answer) if answer else None) == status


@pytest.mark.parametrize(
    "head", [GET + b"X-Slow: ", POST % b"KEY" + b"Content-Length: 1000000\r\n\r\n"], ids=["head", "body"]
)
def test_drop_by_drop_is_no_faster(running: Running, head: bytes) -> None:
    with connected(running, head.replace(b"KEY", running.key.encode())) as one:
        one.settimeout(0.02)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while True:
                one.sendall(b"1")
                try:
                    piece = one.recv(4096)
                except TimeoutError:
                    continue
                answer += piece
                if not piece:
                    break
    assert status_of(answer) == 408


def test_an_empty_line_after_an_answer_does_not_keep_a_connection(running: Running) -> None:
    with connected(running, GET + b"\r\n") as one:
        assert b"alive" in answered(one)
        one.sendall(b"\r\n")
        assert rest(one) == b""


def test_a_body_behind_an_answer_is_not_awaited_for_ever(running: Running) -> None:
    with connected(running, POST % b"vk_wrong" + b"Content-Length: 100\r\n\r\n") as one:
        assert status_of(answered(one).replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)) == 401
        assert rest(one) == b""  # it ends, and nothing else is said


def test_half_a_request_behind_a_stream_ends_without_a_word_in_it(running: Running) -> None:
    mine = running.subscribe("nobody = 1")
    stream = b"GET /v1/subscriptions/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
    with connected(running, stream % (mine["id"].encode(), running.key.encode())) as one:
        while b"retry: 2000" not in one.recv(4096):
            pass
        one.sendall(GET)
        assert b"HTTP/1.1" not in rest(one)


def test_whoever_does_not_read_is_ended(running: Running) -> None:
    mine = running.subscribe("flood = 1")
    stream = b"GET /v1/subscriptions/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
    before = refused(running, "stalled")
    with connected(running, stream % (mine["id"].encode(), running.key.encode())):
        for _ in range(60):
            if refused(running, "stalled") > before:
                break
            running.publish(*({"flood": 1, "text": "x" * 200_000} for _ in range(5)))
        until(lambda: refused(running, "stalled") > before)


def test_readers_of_streams_who_are_only_silent_stay(running: Running) -> None:
    mine = running.subscribe("rare = 1")
    stream = b"GET /v1/subscriptions/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
    with connected(running, stream % (mine["id"].encode(), running.key.encode())) as one:
        while b"retry: 2000" not in one.recv(4096):
            pass
        time.sleep(4 * LIMITS["header_seconds"])  # beyond every limit here
        running.publish({"rare": 1})
        came = b""
        while b'"rare":1' not in came:
            came += one.recv(4096)


# ---------------------------------------------------------------- numbers


def test_connections_without_a_key_are_counted_by_address(running: Running) -> None:
    with contextlib.ExitStack() as stack:
        until(lambda: sum(limits_of(running)._unknown.values()) == 0)
        for _ in range(MOST_UNKNOWN):  # whose bodies are awaited, though nobody is known
            one = stack.enter_context(connected(running, POST % b"vk_wrong" + b"Content-Length: 9\r\n\r\n"))
            assert b"401" in one.recv(4096)
        until(lambda: sum(limits_of(running)._unknown.values()) == MOST_UNKNOWN)
        answer = rest(stack.enter_context(connected(running)))
        assert status_of(answer) == 429
        assert b"retry-after" in answer
        rest(one)  # its time is over, and there is room again
    until(lambda: sum(limits_of(running)._unknown.values()) == 0)
    with connected(running, GET + b"\r\n") as one:
        assert b"alive" in answered(one)


def test_of_an_address_too_whoever_waits_longest_makes_room(running: Running) -> None:
    until(lambda: sum(limits_of(running)._unknown.values()) == 0)
    with contextlib.ExitStack() as stack:
        half = [stack.enter_context(connected(running, GET)) for _ in range(2 * MOST_UNKNOWN)]
        assert b"alive" in answered(stack.enter_context(connected(running, GET + b"\r\n")))
        assert rest(half[0]) == b""


def test_connections_with_a_key_are_not(running: Running) -> None:
    mine = running.subscribe("quiet = 1")
    stream = b"GET /v1/subscriptions/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
    socket_url = f"{running.url.replace('http', 'ws')}/v1/subscriptions/{mine['id']}/ws"
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_UNKNOWN):
            one = stack.enter_context(connected(running, stream % (mine["id"].encode(), running.key.encode())))
            assert b"200 OK" in one.recv(4096)
            headers = {"Authorization": f"Bearer {running.key}"}
            stack.enter_context(connect(socket_url, additional_headers=headers, proxy=None))
        with connected(running, GET + b"\r\n") as other:
            assert b"alive" in answered(other)
    until(lambda: sum(limits_of(running)._unknown.values()) == 0)


def test_where_all_places_are_taken_whoever_waits_longest_makes_room(tmp_path: Path) -> None:
    limits = {**LIMITS, "header_seconds": 60.0, "address_connections": 1000}
    with over_http(settings_in(tmp_path, limits=limits)) as running, contextlib.ExitStack() as stack:
        limits_of(running).most = 10
        half = [stack.enter_context(connected(running, GET)) for _ in range(30)]
        assert running.http.get("/livez").status_code == 200
        assert rest(half[0]) == b""
        mine = running.subscribe("crowd = 1")
        running.publish({"crowd": 1})
        assert len(running.pulled(mine["id"], wait=20)) == 1
        assert refused(running, "made room") >= 21


def test_where_everybody_is_served_who_comes_is_sent_away(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, limits=LIMITS)) as running, contextlib.ExitStack() as stack:
        mine = running.subscribe("quiet = 1")
        stream = b"GET /v1/subscriptions/%s/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
        limits_of(running).most = 5
        for _ in range(4):  # and the client of `running`
            one = stack.enter_context(connected(running, stream % (mine["id"].encode(), running.key.encode())))
            assert b"200 OK" in one.recv(4096)
        assert status_of(rest(stack.enter_context(connected(running)))) == 503


# ---------------------------------------------------------------- no HTTP


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,  # TLS
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET  /  HTTP/9.9\r\n\r\n",
        b"CONNECT x:y HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\0" * 1000,
    ],
)
def test_garbage_is_refused_without_a_line_in_the_log(
    running: Running, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), connected(running, garbage) as one:
        answer = rest(one)
    assert status_of(answer) == 400
    assert not [one for one in caplog.records if one.name.startswith("uvicorn")]


def test_whoever_goes_away_within_a_body_leaves_no_traceback(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    there = set(limits_of(running)._connections)
    with caplog.at_level(logging.WARNING):
        with connected(running, POST % running.key.encode() + b"Content-Length: 100\r\n\r\n{"):
            until(lambda: any(one not in there and one.cycle for one in limits_of(running)._connections))
        until(lambda: set(limits_of(running)._connections) <= there)
    assert not caplog.records


# ---------------------------------------------------------------- addresses


def test_addresses() -> None:
    assert address_key("10.1.2.3") == "10.1.2.3"
    assert address_key("::ffff:10.1.2.3") == "10.1.2.3"
    assert address_key("2001:db8:0:1::5") == address_key("2001:db8:0:1:ffff::") != address_key("2001:db8:0:2::5")
    assert trusted("10.1.2.3", ("10.0.0.0/8",))
    assert not trusted("10.1.2.3", ("192.168.0.1",))
    assert not trusted("", ())


def test_forwarded_addresses_count_only_where_a_proxy_is_named(tmp_path: Path) -> None:
    strict = {"anonymous_requests": 0.01}  # two at once, and then hardly any more

    def wrong(running: Running, address: str) -> int:
        headers = {"Authorization": "Bearer vk_wrong", "X-Forwarded-For": address}
        return running.http.get("/v1/tenant", headers=headers).status_code

    for proxies, expected in (((), 429), (("127.0.0.1",), 401)):
        folder = tmp_path / str(len(proxies))
        folder.mkdir()
        with over_http(settings_in(folder, limits=strict, server={"proxies": proxies})) as running:
            assert [wrong(running, f"8.8.8.{n}") for n in range(4)][-1] == expected


def test_what_asks_for_no_key_is_limited_by_address_but_not_whether_it_is_alive(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, limits={"anonymous_requests": 0.01})) as running:
        asked = [running.http.get("/openapi.json").status_code for _ in range(4)]
        alive = [running.http.get("/livez").status_code for _ in range(4)]
    assert (asked[0], asked[-1], set(alive)) == (200, 429, {200})


def test_proxies_are_addresses() -> None:
    with pytest.raises(ValueError, match=r"proxy\.example"):
        ServiceSettings(server={"proxies": ["proxy.example"]})  # type: ignore[arg-type]


def test_settings_that_make_no_sense() -> None:
    for name, value in (("header_bytes", 10), ("header_seconds", 0), ("address_connections", 0)):
        limits: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=name):
            ServiceSettings(limits=limits)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", raw_sockets.KINDS)
def test_the_abuse_of_make_torture_does_what_it_says(running: Running, kind: str) -> None:
    port = int(running.url.rpartition(":")[2])
    counts = asyncio.run(raw_sockets.abused(port, kind, seconds=0.5, most=3))
    assert counts["connected"] >= 3
    assert not counts.get("not connected")
    if kind in ("half", "garbage"):
        assert counts["ended"] >= 1
