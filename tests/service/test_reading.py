"""Server-sent events and WebSockets: in order, resumed after a break, told of drops."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson
import pytest
import websockets

from tests.service.running import Running, over_http, published, settings_in
from tests.waiting import until
from vedette.client import AsyncClient, Client
from vedette.errors import Refused
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.notification_reader import DroppedCount, Heartbeat, NotificationReader, StartPosition
from vedette.service.outbox import QueuedNotification
from vedette.service.service import Service
from vedette.service.subscription_registry import SubscriptionRequest


def first(listening: Iterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    found = []
    for one in listening:
        found.append(one)
        if len(found) == count:
            break
    return found


def numbers(some: list[dict[str, Any]]) -> list[int]:
    return [one["event"]["n"] for one in some]


@pytest.fixture
def client(running: Running) -> Iterator[Client]:
    with Client(running.url, running.key) as client:
        yield client


def test_events_come_in_order_and_go_on_after_a_break(running: Running, client: Client) -> None:
    mine = client.subscribe("sse = 1")
    running.publish(*({"sse": 1, "n": n} for n in range(100)))
    some = first(client.listen(mine["id"]), 40)
    assert numbers(some) == list(range(40))
    # A reader who lost some of what was handed over asks from the last one that it has.
    again = first(client.listen(mine["id"], last=some[9]["id"]), 90)
    assert numbers(again) == list(range(10, 100))
    running.publish({"sse": 1, "n": 100})
    assert numbers(first(client.listen(mine["id"], last=again[-1]["id"]), 1)) == [100]


def test_what_comes_while_somebody_listens(running: Running) -> None:
    async def listen() -> list[dict[str, Any]]:
        async with AsyncClient(running.url, running.key) as client:
            mine = await client.subscribe("live = 1")
            found: list[dict[str, Any]] = []

            async def reading() -> None:
                async for one in client.listen(mine["id"]):
                    found.append(one)
                    if len(found) == 30:
                        return

            task = asyncio.create_task(reading())
            for begin in range(0, 30, 10):
                await client.publish([{"live": 1, "n": begin + n} for n in range(10)])
            await asyncio.wait_for(task, 60)
            return found

    assert numbers(asyncio.run(listen())) == list(range(30))


def test_a_reader_is_told_what_was_dropped(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"queue": 5})) as service:
        one = service.registry.subscribe(service.tenants.add("acme"), SubscriptionRequest("n >= 0")).subscription
        published(service, {"n": 0})

        async def read() -> list[Any]:
            hub = Hub()
            hub.start()
            reading = NotificationReader(service.store, service.outbox, hub, one.number, beat=0.01).read()
            assert await anext(reading) == StartPosition("@0")
            found = [await anext(reading), await anext(reading)]
            await asyncio.to_thread(published, service, *({"n": n} for n in range(1, 21)))
            return found + [await anext(reading) for _ in range(6)]

        found = asyncio.run(read())
        assert [type(each) for each in found[:3]] == [QueuedNotification, Heartbeat, DroppedCount]
        assert found[2] == DroppedCount(15)
        assert [orjson.loads(each.body)["event"]["n"] for each in found[3:]] == [16, 17, 18, 19, 20]
        counts = service.outbox.counts(one.number)
        assert (counts.due, counts.delivered + counts.pending, counts.dropped) == (21, 6, 15)


def test_who_peeks_changes_nothing(running: Running, client: Client) -> None:
    mine = client.subscribe("peek = 1")
    running.publish(*({"peek": 1, "n": n} for n in range(70)))
    some = first(client.listen(mine["id"], peek=True), 70)
    assert numbers(some) == list(range(70))
    assert numbers(first(client.listen(mine["id"], peek=True, last=some[65]["id"]), 4)) == [66, 67, 68, 69]
    assert client.subscription(mine["id"])["notifications"]["pending"] == 70
    assert client.pull(mine["id"], limit=1000) == some


def test_who_peeks_hears_of_drops_that_it_did_not_see(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"queue": 5})) as service:
        one = service.registry.subscribe(service.tenants.add("acme"), SubscriptionRequest("n >= 0")).subscription
        published(service, *({"n": n} for n in range(4)))

        async def read() -> list[Any]:
            hub = Hub()
            hub.start()
            reading = NotificationReader(service.store, service.outbox, hub, one.number, beat=0.01, peek=True).read()
            found = [await anext(reading) for _ in range(5)]
            await asyncio.to_thread(published, service, *({"n": n} for n in range(4, 6)))  # drops one that was seen
            found += [await anext(reading) for _ in range(3)]
            await asyncio.to_thread(published, service, *({"n": n} for n in range(6, 13)))  # and two that were not
            return found + [await anext(reading) for _ in range(6)]

        shown = [
            orjson.loads(each.body)["event"]["n"] if isinstance(each, QueuedNotification) else each
            for each in asyncio.run(read())
        ]
        assert shown == [0, 1, 2, 3, Heartbeat(), 4, 5, Heartbeat(), DroppedCount(2), 8, 9, 10, 11, 12]


def test_a_reader_who_comes_back_is_told_what_was_dropped_meanwhile(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, limits={"queue": 5})) as running, Client(running.url, running.key) as client:
        mine = client.subscribe("n >= 0")
        running.publish({"n": 0}, {"n": 1})
        seen, other = first(client.listen(mine["id"]), 2)
        client.acknowledge(mine["id"], [seen["id"], other["id"]])  # else they may still wait
        running.publish(*({"n": n} for n in range(2, 12)))
        found = first(client.listen(mine["id"], last=seen["id"]), 7)
        # What was handed over before comes again, as the reader may have lost it; then what was not dropped.
        assert found[0] == {"kind": "dropped", "dropped": 5}
        assert numbers(found[1:]) == [1, 7, 8, 9, 10, 11]
        client.acknowledge(mine["id"], [one["id"] for one in found[1:]])
        running.publish(*({"n": n} for n in range(12, 19)))
        where = f"/v1/subscriptions/{mine['id']}/notifications"
        pulled = running.call("GET", where).json()
        assert (pulled["dropped"], numbers(pulled["notifications"])) == (2, [14, 15, 16, 17, 18])
        client.acknowledge(mine["id"], [one["id"] for one in pulled["notifications"]])
        running.publish({"n": 19})
        assert running.call("GET", where).json()["dropped"] == 0


def test_who_lost_the_very_first_one_hears_of_it_again(running: Running, client: Client) -> None:
    mine = client.subscribe("first = 1")
    running.publish({"first": 1, "n": 0})
    path = f"{running.url}/v1/subscriptions/{mine['id']}/stream"

    def lines(last: str | None) -> Generator[str, None, None]:
        headers = running.mine | ({} if last is None else {"Last-Event-ID": last})
        with httpx.stream("GET", path, headers=headers, timeout=30, trust_env=False) as answer:
            yield from answer.iter_lines()

    reading = lines(None)
    place = next(line for line in reading if line.startswith("id: ")).removeprefix("id: ")
    until(lambda: client.subscription(mine["id"])["notifications"]["delivered"] == 1)  # though nobody read that far
    reading.close()
    running.publish({"first": 1, "n": 1})
    told = (orjson.loads(line.removeprefix("data: ")) for line in lines(place) if line.startswith("data: "))
    assert numbers([next(told), next(told)]) == [0, 1]


@pytest.mark.parametrize("last", ["@", "@x", "@-1", "@²", "@" + "9" * 30, "n_none", "x" * 64])
def test_places_that_are_none_begin_with_what_waits(running: Running, client: Client, last: str) -> None:
    mine = client.subscribe("nowhere = 1")
    running.publish({"nowhere": 1, "n": 0})
    assert numbers(first(client.listen(mine["id"], last=quote(last, safe="@")), 1)) == [0]


def test_a_listener_waits_for_a_service_that_is_busy(running: Running, client: Client) -> None:
    """Somebody between the two answers 503 and breaks connections; who listens goes on after the last one."""
    mine = client.subscribe("busy = 1")
    asked: list[str | None] = []

    class Between(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            asked.append(request.headers.get("last-event-id"))
            match len(asked):
                case 1:
                    return httpx.Response(503, json={"detail": "busy"})
                case 2:
                    return httpx.Response(200, text='id: n_1\ndata: {"n": 1}\n\nid: n_2\ndata: {"n"')
                case 3:
                    raise httpx.ReadError("broken")
                case 4:
                    return httpx.Response(502, text="<html>")
                case 5:
                    return httpx.Response(200, text='id: n_2\ndata: {"n": 2}\n\n')
                case _:
                    return httpx.Response(404, json={"detail": "there is no subscription"})

    with Client(running.url, running.key) as listener:
        listener._http = httpx.Client(base_url=running.url, transport=Between())
        heard = listener.listen(mine["id"])
        assert [next(heard)["n"], next(heard)["n"]] == [1, 2]
        with pytest.raises(Refused, match="no subscription"):
            next(heard)
    assert asked == [None, None, "n_1", "n_1", "n_1", "n_2"]


def test_a_websocket_is_acknowledged(running: Running, client: Client) -> None:
    mine = client.subscribe("ws = 1")
    running.publish(*({"ws": 1, "n": n} for n in range(5)))
    url = running.url.replace("http", "ws") + f"/v1/subscriptions/{mine['id']}/ws"

    async def read(count: int, acknowledge: int | None) -> list[dict[str, Any]]:
        async with websockets.connect(url, subprotocols=["vedette", f"bearer.{running.key}"]) as socket:  # type: ignore[list-item]
            assert socket.subprotocol == "vedette"
            found = [orjson.loads(await asyncio.wait_for(socket.recv(), 30)) for _ in range(count)]
            if acknowledge is not None:
                await socket.send(orjson.dumps({"ack": found[acknowledge]["id"]}).decode())
                await asyncio.sleep(0.5)
            return found

    assert numbers(asyncio.run(read(5, 2))) == [0, 1, 2, 3, 4]
    assert numbers(asyncio.run(read(2, None))) == [3, 4]  # what was not acknowledged comes again


def test_a_websocket_without_a_key_is_refused(running: Running, client: Client) -> None:
    mine = client.subscribe("ws = 2")
    url = running.url.replace("http", "ws") + f"/v1/subscriptions/{mine['id']}/ws"

    async def connect() -> None:
        async with websockets.connect(url):
            pass

    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        asyncio.run(connect())
    answer = refused.value.response
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert orjson.loads(answer.body)["type"] == "urn:vedette:problem:not-allowed"


def test_mistakes_reach_the_client_as_errors(running: Running, client: Client) -> None:
    with pytest.raises(Refused, match="expected a value") as refused:
        client.subscribe("price <")
    assert (refused.value.status, refused.value.kind) == (422, "bad-subscription")
    with pytest.raises(Refused, match="no subscription"):
        next(client.listen("s_none", reconnect=False))
    with Client("http://127.0.0.1:9", "vk_x", retries=0) as nowhere:
        with pytest.raises(Refused, match="cannot be reached"):
            nowhere.publish({"a": 1})
        with pytest.raises(Refused, match="cannot be reached"):  # who never heard anything does not wait for ever
            next(nowhere.listen("s_x"))
    assert running.key not in repr(client)


def test_the_rest_of_the_client(running: Running, client: Client) -> None:
    mine = client.subscribe("rest = 1", subscriber="bea", validity=60)
    assert client.renew(mine["id"], mine["ticket"], validity=120)["id"] == mine["id"]
    replaced = client.replace(mine["id"], mine["ticket"], "rest = 2")
    assert (replaced["version"], replaced["subscriber"]) == (2, "bea")
    assert any(one["id"] == mine["id"] for one in client.subscriptions(limit=1000)["subscriptions"])
    assert client.try_out("rest = 1", [{"rest": 1}], recent=False)["events"][0]["matches"]
    running.publish({"rest": 2})
    (one,) = client.pull(mine["id"])
    assert client.acknowledge(mine["id"], [one["id"]]) == 1
    offer = client.offer("lot = 1")
    assert offer["id"] in [one["id"] for one in client.offers(limit=1000)["offers"]]
    forecast = client.try_out("[rest = 1] ; [rest = 2]", predict={"within": 3, "threshold": 0.5}, recent=False)
    plain = client.try_out("[rest = 1] ; [rest = 2]", recent=False)
    assert forecast["cost"] == pytest.approx(plain["cost"] + 20 + 0.02 * 3 * 2)  # for every event and step
    client.withdraw(offer["id"], offer["ticket"])
    assert isinstance(client.dead_letters(), list)
    client.unsubscribe(mine["id"], mine["ticket"])
    with pytest.raises(Refused):
        client.subscription(mine["id"])
