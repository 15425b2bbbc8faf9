"""The service as its clients see it: statuses, bodies, problems."""

from __future__ import annotations

import base64
import socket
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.service.running import ADMIN, Running, over_http, settings_in, settled
from tests.waiting import until
from vedette.service.errors import StoreFailed


def problem(answer: Any, status: int, kind: str) -> dict[str, Any]:
    """The body of an answer that is a problem as RFC 9457 says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert body["type"] == f"urn:vedette:problem:{kind}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


def test_subscribe_publish_be_told(running: Running) -> None:
    mine = running.subscribe("price < 120", subscriber="ann")
    assert mine["ticket"].startswith("vt_")
    assert running.publish({"id": "a", "price": 100}, {"id": "b", "price": 200})["accepted"] == 2
    (one,) = running.pulled(mine["id"])
    assert (one["kind"], one["event"]["id"], one["subscriber"]) == ("match", "a", "ann")
    again = running.pulled(mine["id"])
    assert again == [one]  # until it is acknowledged
    done = running.call("POST", f"/v1/subscriptions/{mine['id']}/notifications:ack", json={"ids": [one["id"], "n_x"]})
    assert done.json() == {"acknowledged": 1}
    assert running.pulled(mine["id"]) == []
    seen = running.call("GET", f"/v1/subscriptions/{mine['id']}").json()["notifications"]
    assert (seen["due"], seen["delivered"], seen["pending"]) == (1, 1, 0)


def test_pulling_waits_for_the_first(running: Running) -> None:
    mine = running.subscribe("kind = 'awaited'")
    later = threading.Timer(0.2, lambda: running.publish({"kind": "awaited"}))
    later.start()
    assert len(running.pulled(mine["id"], wait=20)) == 1
    later.join()


def test_keys_and_tickets(running: Running) -> None:
    problem(running.http.get("/v1/subscriptions"), 401, "not-allowed")
    problem(running.http.get("/v1/subscriptions", headers={"Authorization": "Bearer vk_x"}), 401, "not-allowed")
    problem(running.http.post("/v1/tenants", json={"name": "x"}, headers=running.mine), 401, "not-allowed")
    problem(running.http.post("/v1/events", json={"a": 1}), 401, "not-allowed")
    mine = running.subscribe("x = 1")
    path = f"/v1/subscriptions/{mine['id']}"
    problem(running.call("DELETE", path), 401, "not-allowed")
    problem(running.call("DELETE", path, headers={"Vedette-Ticket": "vt_no"}), 401, "not-allowed")
    other = {"Authorization": f"Bearer {running.new_key('other')}", "Vedette-Ticket": mine["ticket"]}
    for method in ("GET", "DELETE"):
        problem(running.http.request(method, path, headers=other), 404, "not-found")
    right = {"Vedette-Ticket": mine["ticket"]}
    assert running.call("POST", f"{path}/renew", json={"validity": 60}, headers=right).status_code == 200
    changed = running.call("PUT", path, json={"when": "x = 2"}, headers=right).json()
    assert (changed["when"], changed["version"]) == ("x = 2", 2)
    assert running.call("DELETE", path, headers=right).status_code == 204
    problem(running.call("GET", path), 404, "not-found")


def test_anonymous_publishing_where_it_is_allowed(running: Running) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    made = running.http.put("/v1/streams/open", json={"anonymous": True, "schema": {"x": "int"}}, headers=admin)
    assert made.status_code == 200, made.text
    mine = running.subscribe("x = 1", stream="open")
    assert running.http.post("/v1/streams/open/events", json={"x": 1}).status_code == 202
    assert len(running.pulled(mine["id"], wait=20)) == 1
    problem(running.http.put("/v1/streams/open", json={"schema": {"x": "float"}}, headers=admin), 409, "conflict")
    for stream in ("default", "none"):  # without a key nobody learns which streams there are
        problem(running.http.post(f"/v1/streams/{stream}/events", json={"x": 1}), 401, "not-allowed")
    problem(running.call("POST", "/v1/streams/none/events", json={"x": 1}), 404, "not-found")


@pytest.mark.parametrize(
    ("body", "media", "headers"),
    [
        ({"specversion": "1.0", "id": "1", "source": "/a", "type": "t", "data": {"x": 1}}, "cloudevents+json", {}),
        (
            [{"specversion": "1.0", "id": "2", "source": "/a", "type": "t", "data": {"x": 1}}],
            "cloudevents-batch+json",
            {},
        ),
        ({"x": 1}, "json", {"ce-specversion": "1.0", "ce-id": "3", "ce-source": "/a", "ce-type": "t"}),
        (
            {
                "specversion": "1.0",
                "id": "4",
                "source": "/a",
                "type": "t",
                "data_base64": base64.b64encode(b'{"x":1}').decode(),
            },
            "cloudevents+json",
            {},
        ),
    ],
)
def test_cloud_events(running: Running, body: Any, media: str, headers: dict[str, str]) -> None:
    mine = running.subscribe("type = 't' and source = '/a' and data.x = 1")
    answer = running.call(
        "POST", "/v1/events", content=orjson.dumps(body), headers={"Content-Type": f"application/{media}", **headers}
    )
    assert answer.status_code == 202, answer.text
    (one,) = running.pulled(mine["id"], wait=20)
    assert one["event"]["data"] == {"x": 1}


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b"", "application/json", 422),
        (b"{", "application/json", 422),
        (b"[1]", "application/json", 422),
        (b'"x"', "application/json", 422),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "application/json", 422),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "application/json", 413),
        (b'{"x":"' + b"a" * 300_000 + b'"}', "application/json", 413),
        (b"[" + b"{}," * 1000 + b"{}]", "application/json", 413),
        (b"x" * 5_000_000, "application/json", 413),
        (b'{"specversion":"0.3","id":"1","source":"/","type":"t"}', "application/cloudevents+json", 422),
        (b'{"specversion":"1.0","id":"1","source":"/"}', "application/cloudevents+json", 422),
        (b"{}", "application/cloudevents-batch+json", 422),
        (b"{}", "application/cloudevents+avro", 422),
        (b"\xff\xfe", "application/json", 422),
    ],
)
def test_events_that_are_none(running: Running, content: bytes, media: str, status: int) -> None:
    answer = running.call("POST", "/v1/events", content=content, headers={"Content-Type": media})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_texts_that_are_wrong_say_where(running: Running) -> None:
    said = problem(
        running.call("POST", "/v1/subscriptions", json={"when": "volume betwen 1 and 5"}), 422, "bad-subscription"
    )
    assert (said["where"]["line"], said["where"]["column"]) == (1, 8)
    assert "between" in said["hint"]
    said = problem(running.call("POST", "/v1/subscriptions", json={"when": "x = 1", "wen": 1}), 422, "bad-input")
    assert "wen" in said["detail"]
    problem(running.call("POST", "/v1/subscriptions", json={"when": {"a": [1]}}), 422, "bad-input")
    problem(running.call("GET", "/v1/nothing"), 404, "not-found")
    problem(running.call("PATCH", "/v1/subscriptions"), 405, "method-not-allowed")
    problem(running.call("GET", "/v1/subscriptions", params={"limit": "many"}), 422, "bad-input")


def test_a_dry_run_explains_and_keeps_nothing(running: Running) -> None:
    running.publish({"id": "dry", "dryness": 9})
    asked = {"when": "dryness > 5", "events": [{"id": "s1", "dryness": 6}, {"id": "s2", "dryness": 4}]}
    said = running.call("POST", "/v1/subscriptions:test", json=asked).json()
    assert [(one["event"], one["matches"]) for one in said["events"]] == [("s1", True), ("s2", False)]
    assert "dryness was 4" in said["events"][1]["why"]
    assert said["recent_matches"] == 1
    assert said["examples"][0]["event"]["id"] == "dry"


def test_other_dialects_and_where_they_come_from(running: Running) -> None:
    mine = running.subscribe({"detail": {"state": ["running"]}}, dialect="eventbridge")
    assert mine["dialect"] == "eventbridge"
    running.publish({"detail": {"state": "running"}}, {"detail": {"state": "stopped"}})
    assert len(running.pulled(mine["id"])) == 1


def test_patterns_predictions_and_meetings(running: Running) -> None:
    pattern = running.subscribe("[p = 1] ; [p = 2]")
    running.publish({"id": "p1", "p": 1}, {"id": "p2", "p": 2})
    (one,) = running.pulled(pattern["id"])
    assert one["steps"] == {"1": "p1", "2": "p2"}
    offer = running.call("POST", "/v1/offers", json={"when": "lot between 1 and 10 and price = 5"}).json()
    want = running.subscribe("lot >= 5 and price <= 6", want=True)
    (met,) = running.pulled(want["id"], wait=20)
    assert (met["kind"], met["offer"]["id"]) == ("meeting", offer["id"])
    more = running.call("POST", "/v1/offers", json={"when": "lot = 7 and price = 6"}).json()
    until(lambda: [one["offer"]["id"] for one in running.pulled(want["id"])] == [offer["id"], more["id"]])
    path = f"/v1/offers/{offer['id']}"
    problem(running.call("DELETE", path), 401, "not-allowed")
    assert running.call("DELETE", path, headers={"Vedette-Ticket": offer["ticket"]}).status_code == 204


def test_a_dry_run_explains_patterns_and_operators(running: Running) -> None:
    events = [{"id": "a", "t": 1, "user": "ann"}, {"id": "b", "t": 3, "user": "ann"}, {"id": "c", "t": 2}]
    body = {"when": "x:[t = 1] ; y:[t = 2] by user within 1 min", "events": events, "recent": False}
    one, other, without = running.call("POST", "/v1/subscriptions:test", json=body).json()["events"]
    assert "takes it further" in one["why"]
    assert "✗ t = 2   t was 3.0, needed = 2" in other["why"]
    assert "its user is null" in without["why"]
    body = {"when": "mentions(text, 'fox') and n > 1", "events": [{"text": "a fox", "n": n} for n in (1, 2)]}
    tried = running.call("POST", "/v1/subscriptions:test", json=body | {"recent": False}).json()["events"]
    assert [each["matches"] for each in tried] == [False, True]
    assert all(each["why"] for each in tried)


def test_a_dry_run_of_many_events_of_a_pattern_explains_the_first(running: Running) -> None:
    body = {"when": "[t = 1] ; [t = 2]", "events": [{"t": 1}] * 40, "recent": False}
    whys = [each["why"] for each in running.call("POST", "/v1/subscriptions:test", json=body).json()["events"]]
    assert all(whys[:25])
    assert whys[25:] == [None] * 15


def test_every_request_says_which_key_it_needs(running: Running) -> None:
    document = running.http.get("/openapi.json").json()
    assert document["components"]["securitySchemes"].keys() == {"key", "admin_key"}
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            (scheme,) = said["security"][0]
            assert (scheme == "admin_key") == ("admin" in said["tags"]), (method, path)
            content = said["responses"].get("200", said["responses"].get("201", {})).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            assert schema is None or schema.get("$ref"), (method, path)  # never just any object


def test_wrong_keys_come_so_often_and_no_more(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, limits={"anonymous_requests": 0.001})) as running:
        wrong = {"Authorization": "Bearer vk_wrong"}
        answers = [running.http.get("/v1/subscriptions", headers=wrong) for _ in range(3)]
        assert [each.status_code for each in answers] == [401, 429, 429]
        assert int(answers[-1].headers["retry-after"]) > 1
        assert running.call("GET", "/v1/subscriptions").status_code == 200  # a right one is not held up by them


def test_a_database_that_does_not_answer_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with over_http(settings_in(tmp_path)) as running:
        until(lambda: running.http.get("/readyz").status_code == 200)

        def fails(_: Any) -> None:
            raise StoreFailed("the database did not answer: it is gone")

        with monkeypatch.context() as patched:
            patched.setattr(running.service.store, "read", fails)
            said = problem(running.http.get("/readyz"), 503, "not-ready")
            assert "it is gone" in said["detail"]
            assert running.http.get("/livez").status_code == 200
        assert running.http.get("/readyz").json() == {"status": "ready"}


def test_events_that_break_a_schema_are_counted(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path, streams={"typed": {"schema": {"x": "int"}}})) as running:
        running.subscribe("x = 1", stream="typed")
        answer = running.call("POST", "/v1/streams/typed/events", json=[{"x": 1}, {"x": "one"}, {"x": 1}])
        assert answer.json()["accepted"] == 3
        settled(running.service)
        assert 'vedette_events_rejected_total{stream="typed"} 1.0' in running.http.get("/metrics").text


def test_what_is_not_there_says_where_to_look(running: Running) -> None:
    assert "/docs" in problem(running.http.get("/v1/nothing"), 404, "not-found")["hint"]
    assert "/docs" in problem(running.call("PATCH", "/v1/subscriptions"), 405, "method-not-allowed")["hint"]


def test_health_metrics_and_headers(running: Running) -> None:
    assert running.http.get("/livez").json() == {"status": "alive"}
    until(lambda: running.http.get("/readyz").status_code == 200)  # 503 while loops are compiled
    assert running.http.get("/readyz").json() == {"status": "ready"}
    text = running.http.get("/metrics").text
    assert "vedette_events_matched_total" in text
    assert "vedette_notifications_pending" in text
    answer = running.call("GET", "/v1/streams")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    described = running.http.get("/openapi.json").json()
    assert {"/v1/subscriptions", "/v1/streams/{stream}/events", "/v1/offers"} <= described["paths"].keys()


def test_answers_with_secrets_are_kept_nowhere(running: Running) -> None:
    answer = running.call("POST", "/v1/subscriptions", json={"when": "x = 1"})
    assert answer.headers["cache-control"] == "no-store"


def test_bodies_are_not_compressed(running: Running) -> None:
    sent = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = running.call("POST", "/v1/events", content=b"{}", headers=sent)
    problem(answer, 415, "unsupported-media-type")


def test_what_is_no_http_hears_of_a_problem(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))) as connection:
        connection.sendall(b"GARBAGE\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert orjson.loads(body)["status"] == 400
