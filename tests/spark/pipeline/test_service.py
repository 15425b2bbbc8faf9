"""Subscriptions that are made with the service are those of a pipeline: a real service, a pipeline from its file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.running import Running, over_http, settings_in
from tests.spark.pipeline.workplace import Workplace, pairs
from vedette.errors import FileError, PipelineError
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.run import run
from vedette.spark.stores import ServiceStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "KEY_OF_TEST"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    folder = tmp_path / "service"
    folder.mkdir()
    with over_http(settings_in(folder, streams={"default": {}, "other": {}})) as running:
        yield running


def told(store: ServiceStore) -> dict[str, dict[str, Any]]:
    records = store.rows(dt.datetime.now(dt.UTC))
    return {record.id: {"when": record.when, "subscriber": record.subscriber} for record in records}


def test_those_of_the_tenant_on_the_stream(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.spark.stores._PAGE", 2)  # so that several pages are read
    made = [running.subscribe(f"price < {number}", subscriber="ann")["id"] for number in range(5)]
    rule = running.subscribe({"price": [{"numeric": ["<", 5]}]}, dialect="eventbridge")["id"]
    running.subscribe("price < 1", stream="other")
    running.subscribe("price < 1", want=True)
    other = running.new_key("rival")
    store = ServiceStore(running.url, key=running.key)
    assert list(told(store)) == [*made, rule]
    assert told(store)[made[3]] == {"when": "price < 3", "subscriber": "ann"}
    assert list(told(ServiceStore(running.url, key=other))) == []
    assert len(told(ServiceStore(running.url, key=running.key, stream="other"))) == 1


def test_only_what_is_subscribed_to_makes_a_new_version(running: Running) -> None:
    store = ServiceStore(running.url, key=running.key)
    mine = running.subscribe("price < 1")
    ticket = {"Vedette-Ticket": mine["ticket"]}
    before = store.digest()
    running.call("POST", f"/v1/subscriptions/{mine['id']}/renew", json={}, headers=ticket).raise_for_status()
    assert store.digest() == before
    running.call("PUT", f"/v1/subscriptions/{mine['id']}", json={"when": "price < 2"}, headers=ticket)
    assert store.digest() != before


def test_a_service_that_refuses_or_is_not_there(running: Running) -> None:
    with pytest.raises(FileError, match="cannot read the subscriptions of stream default of http"):
        ServiceStore(running.url, key="vk_wrong").digest()
    with pytest.raises(FileError, match="Hint: "):
        ServiceStore("http://127.0.0.1:9", key="vk_wrong").digest()


def test_a_pipeline_follows_the_service(
    running: Running, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, running.key)
    place = Workplace(tmp_path / "place")
    place.describe(
        mode="available-now",
        checkpoint="checkpoint",
        subscriptions={"service": running.url, "key_env": VARIABLE},
        schema="schema.yaml",
    )
    (place.folder / "schema.yaml").write_text("price: int\n")
    cheap = running.subscribe("price < 20")
    place.publish("1.jsonl", [{"id": "e1", "price": 10}, {"id": "e2", "price": 90}])
    run(load(place.pipeline), spark=spark)
    assert pairs(place.rows()) == [("e1", cheap["id"])]
    ticket = {"Vedette-Ticket": cheap["ticket"]}
    running.call("DELETE", f"/v1/subscriptions/{cheap['id']}", headers=ticket).raise_for_status()
    dear = running.subscribe("price > 80")
    place.publish("2.jsonl", [{"id": "e3", "price": 10}, {"id": "e4", "price": 90}])
    run(load(place.pipeline), spark=spark)
    assert pairs(place.rows()) == [("e1", cheap["id"]), ("e4", dear["id"])]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"service": "127.0.0.1:8080", "key_env": VARIABLE}, "is no address of a service"),
        ({"service": "http://127.0.0.1:8080"}, "needs the key of a tenant"),
        ({"service": "http://127.0.0.1:8080", "key_env": VARIABLE, "dialect": "cesql"}, "translated its rules already"),
        ({"service": "http://ann:hush@127.0.0.1:8080", "key_env": VARIABLE}, "holds a password"),
        ({"file": "subscriptions.jsonl", "stream": "default"}, "`stream` goes with `service`"),
        ({"file": "subscriptions.jsonl", "service": "http://127.0.0.1:8080", "key_env": VARIABLE}, "cannot both"),
    ],
)
def test_mistakes(given: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "vk_1")
    place = Workplace(tmp_path)
    place.subscribe()
    place.describe(subscriptions=given)
    with pytest.raises(PipelineError, match=told):
        load(place.pipeline)
