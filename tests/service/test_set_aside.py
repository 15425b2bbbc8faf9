"""Events that break the schema of their stream: who finds them, how many, why; and being told when publishing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.session import vedette
from tests.service.running import ADMIN, Running, published, settings_in, settled
from tests.service.test_http import problem
from vedette.client import Client
from vedette.errors import Refused
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.service.dry_run import dry_run
from vedette.service.rejected_events import KEPT
from vedette.service.service import Service
from vedette.service.storage.tables import progress
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.validation import schema_violations

SCHEMA = {"x": "int", "at": {"price": "float"}, "tags": "map of string"}
BY_ADMIN = {"Authorization": f"Bearer {ADMIN}"}


@pytest.fixture(scope="module")
def publishers(running: Running) -> dict[str, dict[str, str]]:
    """The owner of a stream with a schema, and somebody else who publishes there."""
    names = ("owner", "guest")
    keys = {name: {"Authorization": f"Bearer {running.new_key(name)}"} for name in names}
    made = {"schema": SCHEMA, "owner": "owner", "publish": ["guest"], "anonymous": True}
    assert running.http.put("/v1/streams/typed", json=made, headers=BY_ADMIN).status_code == 200
    return keys


def publish(running: Running, key: dict[str, str], *events: dict[str, Any], **params: Any) -> httpx.Response:
    answer = running.http.post("/v1/streams/typed/events", json=list(events), params=params, headers=key)
    settled(running.service)
    return answer


def rejected(running: Running, key: dict[str, str], **params: Any) -> dict[str, Any]:
    answer = running.http.get("/v1/streams/typed/rejected", headers=key, params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_who_published_what_breaks_the_schema_finds_it(running: Running, publishers: dict[str, dict[str, str]]) -> None:
    owner, guest = publishers["owner"], publishers["guest"]
    assert rejected(running, guest)["rejected"] == 0
    wrong = ({"id": "g1", "x": "much"}, {"id": "g2", "x": 1}, {"id": "g3", "at": {"price": []}, "x": 1})
    answer = publish(running, guest, *wrong).json()
    assert (answer["accepted"], answer["duplicates"]) == (3, 0)  # as ever: nobody asked to be told
    publish(running, owner, {"id": "o1", "tags": {"a": "b", "c": 3}})
    publish(running, {}, {"id": "nobody's", "x": 1.5})
    found = rejected(running, guest)
    assert (found["stream"], found["rejected"]) == ("typed", 2)
    assert [(one["tenant"], one["kind"], one["rejected"]) for one in found["counts"]] == [("guest", "schema", 2)]
    assert [(one["id"], one["attribute"], one["event"]) for one in found["latest"]] == [
        ("g3", "at.price", {"id": "g3", "at": {"price": []}, "x": 1}),
        ("g1", "x", {"id": "g1", "x": "much"}),
    ]
    assert found["latest"][1]["reason"] == "'much' is not a whole number"
    for key in (owner, BY_ADMIN):
        every = rejected(running, key)
        assert every["rejected"] == 4
        assert [(one["tenant"], one["id"]) for one in every["latest"]] == [
            (None, "nobody's"),
            ("owner", "o1"),
            ("guest", "g3"),
            ("guest", "g1"),
        ]
    assert [one["id"] for one in rejected(running, owner, limit=1)["latest"]] == ["nobody's"]
    metrics = running.http.get("/metrics", headers=BY_ADMIN).text
    assert 'vedette_events_set_aside_total{kind="schema",stream="typed",tenant="guest"} 2.0' in metrics


def test_what_is_to_be_validated_is_accepted_as_a_whole_or_not(
    running: Running, publishers: dict[str, dict[str, str]]
) -> None:
    guest = publishers["guest"]
    before = rejected(running, guest)
    some: list[dict[str, Any]] = [{"id": "v1", "x": 1}, {"id": "v2", "x": "no"}, {"id": "v3", "tags": {"deep.er": 1}}]
    said = problem(publish(running, guest, *some, validate=True), 422, "breaks-schema")
    assert [(one["event"], one["id"], one["attribute"]) for one in said["mistakes"]] == [
        (1, "v2", "x"),
        (2, "v3", "tags.deep.er"),
    ]
    assert said["mistakes"][0]["reason"] == "'no' is not a whole number"
    assert "event 1, attribute 'x'" in said["detail"]
    assert "nothing was accepted" in said["detail"]
    assert rejected(running, guest) == before
    assert publish(running, guest, some[0], validate=True).json()["accepted"] == 1  # the good one was not, either
    assert publish(running, guest, *some).json() == {"accepted": 2, "duplicates": 1, "ids": ["v1", "v2", "v3"]}
    anything = running.http.post("/v1/events", params={"validate": True}, json={"x": []}, headers=guest)
    assert anything.status_code == 202  # a stream without a schema takes everything


def test_the_client_and_the_command_ask_to_be_told(
    running: Running, publishers: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    key = publishers["guest"]["Authorization"].removeprefix("Bearer ")
    with Client(running.url, key) as client:
        with pytest.raises(Refused, match=r"event 0, attribute 'x'.*nothing was accepted") as refused:
            client.publish({"x": "no"}, stream="typed", validate=True)
        assert refused.value.status == 422
        assert client.publish({"x": "no"}, stream="typed")["accepted"] == 1
        settled(running.service)
        assert client.rejected(stream="typed", limit=1)["latest"][0]["reason"] == "'no' is not a whole number"
        assert {one["name"] for one in client.streams()} >= {"default", "typed"}
    file = tmp_path / "events.jsonl"
    file.write_text('{"id": "c1", "x": 1}\n{"id": "c2", "x": []}\n')
    command = ("publish", str(file), "--stream", "typed", "--url", running.url, "--key", key)
    told = vedette(*command, "--validate")
    assert (told.exit_code, "event 1, attribute 'x'" in told.stderr) == (1, True)
    assert "2 events accepted" in vedette(*command).stderr


def test_grants_by_the_client(running: Running, publishers: dict[str, dict[str, str]]) -> None:
    with Client(running.url, publishers["owner"]["Authorization"].removeprefix("Bearer ")) as client:
        assert client.grant("ann", ["read"], stream="typed") == {"tenant": "ann", "rights": ["read"]}
        assert {"tenant": "ann", "rights": ["read"]} in client.grants(stream="typed")["grants"]
        client.revoke("ann", stream="typed")
        assert [one["tenant"] for one in client.grants(stream="typed")["grants"]] == ["guest"]


# ---------------------------------------------------------------- without HTTP


def test_the_latest_are_kept_and_all_are_counted(service: Service) -> None:
    service.add_stream("typed", schema={"x": "int"}, anonymous=False, lateness=0)
    for first in (0, KEPT):
        published(service, *({"id": f"e{n}", "x": "no"} for n in range(first, first + KEPT)), stream="typed")
    published(service, {"id": "large", "x": "no", "y": "y" * 20_000}, stream="typed")
    (count,) = service.set_aside.counts("typed")
    assert (count.tenant, count.kind, count.rejected) == ("", "schema", 2 * KEPT + 1)
    latest = service.set_aside.latest("typed", limit=2 * KEPT)
    assert [one.id for one in latest] == ["large", *(f"e{n}" for n in range(2 * KEPT - 1, KEPT, -1))]
    assert [one.body is None for one in latest[:2]] == [True, False]
    assert service.set_aside.forget(latest[0].moment + 1) == KEPT
    assert service.set_aside.latest("typed") == []
    assert service.set_aside.counts("typed") == [count]


def test_what_a_crash_lets_match_again_counts_once(tmp_path: Path) -> None:
    streams = {"typed": {"schema": {"x": "int"}}}
    with Service(settings_in(tmp_path, streams=streams)) as service:
        service.registry.subscribe(service.tenants.add("acme"), SubscriptionRequest("x = 1", stream="typed"))
        published(service, {"x": "no"}, {"x": 1}, stream="typed")
        service.pump.close()
        service.store.write(lambda c: c.execute(sa.update(progress).values(state_event=0)))  # as a crash leaves it
    with Service(settings_in(tmp_path, streams=streams)) as service:
        settled(service)
        published(service, {"x": "neither"}, stream="typed")
        assert [one.rejected for one in service.set_aside.counts("typed")] == [2]


def test_what_breaks_the_schema_tells_nobody_whoever_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @operator(reads=("y",))
    def odd(event: Any) -> bool:
        return bool(event["y"] % 2)

    monkeypatch.setattr(Operators, "installed", classmethod(lambda cls: Operators(odd)))
    with Service(settings_in(tmp_path, streams={"typed": {"schema": {"x": "int", "y": "int"}}})) as service:
        acme = service.tenants.add("acme")
        texts = ("y > 0", "[y > 0]", "odd()")
        some = [
            service.registry.subscribe(acme, SubscriptionRequest(when, stream="typed")).subscription for when in texts
        ]
        events = {"id": "good", "y": 1}, {"id": "bad", "x": "no", "y": 1}, {"id": "last", "y": 3}
        published(service, *events, stream="typed")
        for one in some:
            told = [orjson.loads(each.body)["event"]["id"] for each in service.outbox.pending(one.number, 0, 9)]
            assert told == ["good", "last"]
            samples = dry_run(service.registry.grounds("typed"), one.when, None, events, None).events
            assert [each.matches for each in samples] == [True, False, True]
            assert samples[1].why == "attribute 'x': 'no' is not a whole number"
        (count,) = service.set_aside.counts("typed")
        assert (count.kind, count.rejected) == ("schema", 1)


@pytest.mark.parametrize(
    ("event", "attribute"),
    [
        ({}, None),
        ({"x": 3, "at": {"price": 2}, "tags": {"a": "b"}}, None),
        ({"x": None, "at": None, "tags": None}, None),
        ({"unknown": object}, None),
        ({"x": "3"}, "x"),
        ({"at.price": "much"}, "at.price"),
        ({"at": {"price": "much"}, "tags": {"a": 1}}, "at.price"),
        ({"tags": {"a": "b", "c": ["d"]}}, "tags.c"),
        ({"tags": "no map"}, None),
    ],
)
def test_what_breaks_a_schema(event: dict[str, Any], attribute: str | None) -> None:
    found = schema_violations([{}, event], Schema.of(SCHEMA, closed=False))
    assert [(one.row, one.attribute) for one in found] == ([] if attribute is None else [(1, attribute)])
    assert schema_violations([event], Schema({}, closed=False)) == []


VALUES: tuple[Any, ...] = (
    *(None, 0, 1, -1, True, 1.0, 1.5, 2**53 + 1, 2**63 - 1, 2**63, -(2**70), 1e308, "", "a", "1", "1.5", "true", "🦊"),
    *([], [1], ["a"], [1, "a"], [None], {}, {"a": 1}, {"b": {"c": "d"}}, "2026-01-01T00:00:00Z", "10.0.0.1"),
)
TYPES = ("int", "float", "string", "bool", "timestamp", "ip", "mixed", "list of int", "list of string")


@given(st.lists(st.fixed_dictionaries({}, optional={"a": st.sampled_from(VALUES)}), max_size=6), st.sampled_from(TYPES))
def test_a_glance_tells_what_matching_would(events: list[dict[str, Any]], spelling: str) -> None:
    for attributes in ({"a": spelling}, {"a": {"b": {"c": spelling}}}):
        schema = Schema.of(attributes, closed=False)
        columns = [Column(path, type_) for path, type_ in schema.attributes.items()]
        assert schema_violations(events, schema) == encode(events, columns, schema).rejects
