"""AsyncAPI tells what goes over the streams, and what goes over them is what it tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from websockets.sync.client import connect

from tests.service.receiver import receiving
from tests.service.running import Running
from tests.waiting import until
from vedette.service.http.asyncapi import VERSION
from vedette.service.notification import NotificationTemplate
from vedette.service.service import Service
from vedette.service.stream_engine import Notice
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.tenants import Tenant

SCHEMA = Path(__file__).parent.parent / "fixtures" / "asyncapi" / f"{VERSION}.json"


@pytest.fixture(scope="module")
def document(running: Running) -> dict[str, Any]:
    answer = running.http.get("/asyncapi.json")
    assert answer.status_code == 200
    return dict(answer.json())


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for below in part.values():
            yield from references(below)
    elif isinstance(part, list):
        for below in part:
            yield from references(below)


def found(document: dict[str, Any], reference: str) -> Any:
    part: Any = document
    for name in reference.removeprefix("#/").split("/"):
        part = part[name]
    return part


def check(document: dict[str, Any], channel: str, message: str, said: object) -> None:
    """What was said over a channel is what its description tells."""
    reference = document["channels"][channel]["messages"][message]["$ref"]
    payload = found(document, reference)["payload"]
    whole = {**payload, "components": document["components"]}
    Draft202012Validator(whole).validate(said)


def test_it_is_asyncapi(document: dict[str, Any]) -> None:
    Draft7Validator(json.loads(SCHEMA.read_text())).validate(document)
    with_mistake = {**document, "operations": {"x": {"action": "shout"}}}
    assert not Draft7Validator(json.loads(SCHEMA.read_text())).is_valid(with_mistake)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    all_ = set(references(document))
    assert len(all_) > 15
    for reference in all_:
        assert found(document, reference)


def test_every_channel_is_an_endpoint(running: Running, document: dict[str, Any]) -> None:
    paths = running.http.get("/openapi.json").json()["paths"]
    addresses = {channel["address"] for channel in document["channels"].values()}
    assert addresses - paths.keys() == {None, "/v1/subscriptions/{id}/ws"}  # OpenAPI knows no WebSockets


def test_what_is_told_is_what_is_described(running: Running, document: dict[str, Any]) -> None:
    with receiving() as receiver:
        queue = running.subscribe("asyncapi = 1", subscriber="ann")
        hook = running.subscribe("asyncapi = 1", delivery={"type": "webhook", "url": receiver.url})
        pattern = running.subscribe("[asyncapi = 1] , [asyncapi = 1]")
        want = running.subscribe("lot > 5", want=True)
        assert running.call("POST", "/v1/offers", json={"when": "lot = 7", "publisher": "bob"}).status_code == 201
        running.publish({"asyncapi": 1}, {"asyncapi": 1})
        for one in (queue, pattern, want):
            answer = running.call("GET", f"/v1/subscriptions/{one['id']}/notifications", params={"wait": 20})
            assert answer.json()["notifications"]
            check(document, "queue", "queued", answer.json())
        until(lambda: len(receiver.requests) >= 2)
        request = receiver.requests[0]
        assert json.loads(request.body)["subscription"] == hook["id"]
        check(document, "webhook", "notification", json.loads(request.body))
        headers = found(document, document["channels"]["webhook"]["messages"]["notification"]["$ref"])["headers"]
        Draft202012Validator(headers).validate(request.headers)
    url = running.url.replace("http", "ws") + f"/v1/subscriptions/{pattern['id']}/ws"
    with connect(url, additional_headers=running.mine, proxy=None) as socket:
        said = json.loads(socket.recv(timeout=30))
        check(document, "webSocket", "notification", said)
        taken = {"ack": said["id"]}
        check(document, "webSocket", "takenUpTo", taken)
        socket.send(json.dumps(taken))
        until(lambda: running.pulled(pattern["id"]) == [])
    where = f"{running.url}/v1/subscriptions/{queue['id']}/stream"
    with httpx.stream("GET", where, headers=running.mine, timeout=30, trust_env=False) as stream:
        lines = (line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: "))
        check(document, "serverSentEvents", "notification", json.loads(next(lines)))


def test_live_events_are_what_is_described(running: Running, document: dict[str, Any]) -> None:
    running.subscribe("watched = 1", subscriber="ann")
    where = f"{running.url}/v1/streams/default/live"
    with httpx.stream("GET", where, headers=running.mine, timeout=60, trust_env=False) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith(("event: ", "data: ")))
        assert next(lines) == "event: watching"
        check(document, "live", "watching", json.loads(next(lines).removeprefix("data: ")))
        running.publish({"watched": 1, "id": "seen"})
        assert next(lines) == "event: glimpse"
        said = json.loads(next(lines).removeprefix("data: "))
        assert [one["id"] for one in said["events"]] == ["seen"]
        assert len(said["events"][0]["told"]) == 1
        check(document, "live", "glimpse", said)


def test_servers_are_where_the_document_was_asked_for(running: Running) -> None:
    said = running.http.get("/asyncapi.json", headers={"Host": "events.example.com"}).json()
    assert {one["host"] for one in said["servers"].values()} == {"events.example.com"}


def test_all_that_a_notification_can_say_is_described(
    service: Service, tenant: Tenant, document: dict[str, Any]
) -> None:
    wanted = SubscriptionRequest("[x = 1] , [x = 2]", subscriber="ann", origin={"title": "t"}, predict={"within": 3})
    subscription = service.registry.subscribe(tenant, wanted).subscription
    told = Notice(1, subscription.id, "prediction", {"a": "e1"}, {"b": "2"}, 0.5, 3)
    said = json.loads(NotificationTemplate(subscription, "1970-01-01T00:00:00Z").full(told, 0, b'{"x":1}')[1])
    check(document, "serverSentEvents", "notification", said)
    names = document["components"]["schemas"]["Notification"]["properties"].keys()
    assert names - said.keys() == {"offer", "reason"}
    with pytest.raises(Exception, match="more"):
        check(document, "serverSentEvents", "notification", said | {"more": 1})
    check(document, "serverSentEvents", "dropped", {"kind": "dropped", "dropped": 3})
    check(document, "webSocket", "dropped", {"kind": "dropped", "dropped": 3})
    check(document, "webSocket", "beat", {"kind": "beat"})


@pytest.mark.parametrize("said", [b"\x00\x01", "x", "[1]", '{"ack": 1}', "{", "null"])
def test_nonsense_over_a_websocket_is_refused_and_the_service_goes_on(running: Running, said: str | bytes) -> None:
    from websockets.exceptions import ConnectionClosedError

    mine = running.subscribe("nonsense = 1")
    url = running.url.replace("http", "ws") + f"/v1/subscriptions/{mine['id']}/ws"
    with connect(url, additional_headers=running.mine, proxy=None) as socket:
        socket.send(said)
        with pytest.raises(ConnectionClosedError) as closed:
            socket.recv(timeout=30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008
