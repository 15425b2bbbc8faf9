"""Pipelines between topics of a real Kafka broker: `make test-kafka`.

Messages are put in and taken out with Kafka's own client; who is to be told what is the local engine's word.
"""

from __future__ import annotations

import json
import random
import signal
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.connectors import pipelines, trades
from tests.connectors.processes import PATIENCE_S, kill, wait_until
from tests.connectors.topics import Topics

SUBSCRIPTIONS = trades.subscriptions()
MALFORMED = [b"no JSON at all", b'{"price": 1', b"[1, 2]", b'{"symbol": "\xff"}', b"", None]


@pytest.fixture
def names(topics: Topics) -> tuple[str, str]:
    """A topic of two partitions for events, and one for notifications."""
    tag = uuid.uuid4().hex[:8]
    return topics.create(f"trades-{tag}", partitions=2), topics.create(f"told-{tag}")


def _pipeline(folder: Path, topics: Topics, jars: list[Path], names: tuple[str, str], **more: Any) -> Path:
    trades.write_lines(folder / "subscriptions.jsonl", SUBSCRIPTIONS)
    source: dict[str, Any] = {"type": "kafka", "servers": [topics.servers], "topics": [names[0]]}
    sink = {"type": "kafka", "servers": [topics.servers], "topic": names[1]}
    parts = {
        "mode": "available-now",
        "checkpoint": "state",
        "keep": ["price"],
        "subscriptions": {"file": "subscriptions.jsonl"},
        "quarantine": {"type": "jsonl", "path": "bad"},
        **more,
        "source": {**source, **more.get("source", {})},
        "sinks": [sink],
    }
    return pipelines.write(folder, jars, **{name: part for name, part in parts.items() if part is not None})


def _told(topics: Topics, names: tuple[str, str]) -> list[dict[str, Any]]:
    return [json.loads(message.value or b"") for message in topics.get(names[1])]


def _pairs(told: list[dict[str, Any]]) -> list[trades.Pair]:
    return [(one["event"], one["subscription"]) for one in told]


@pytest.mark.parametrize("mode", ["batch", "available-now"])
def test_from_topic_to_topic(
    mode: str, tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    events = trades.trades(400)
    topics.put(names[0], trades.lines(events))
    topics.put(names[0], MALFORMED, partition=1)
    pipeline = _pipeline(
        tmp_path, topics, kafka_jars, names, mode=mode, checkpoint="state" if mode != "batch" else None
    )
    pipelines.run(pipeline)

    told = _told(topics, names)
    expected = trades.pairs(events, SUBSCRIPTIONS)
    assert len(expected) > 400
    assert sorted(_pairs(told)) == sorted(expected)
    assert len({one["id"] for one in told}) == len(told)
    price = {event["id"]: event["price"] for event in events}
    subscriber = {record["id"]: record["subscriber"] for record in SUBSCRIPTIONS}
    for one in told:
        assert one["price"] == json.dumps(price[one["event"]])  # without a schema, what is kept is text
        assert one["subscriber"] == subscriber[one["subscription"]]
        assert one["kind"] == "match"
    assert len({one["version"] for one in told}) == 1
    keys = [(message.key or b"").decode() for message in topics.get(names[1])]
    assert keys == [one["id"] for one in told]

    # Each malformed message is set aside with its place, and the place is that of the message.
    bad = {row["place"]: row for row in pipelines.rows_of(tmp_path / "bad")}
    values = {f"{names[0]}/{m.partition}/{m.offset}": m.value for m in topics.get(names[0])}
    assert sorted(bad) == sorted(place for place, value in values.items() if value in MALFORMED)
    for place, row in bad.items():
        assert row["reason"]
        assert (row["raw"] or "") == (values[place] or b"").decode(errors="replace")


def test_each_run_takes_what_is_new(
    tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    first, second = trades.trades(100), trades.trades(50, first=100)
    pipeline = _pipeline(tmp_path, topics, kafka_jars, names)
    topics.put(names[0], trades.lines(first))
    pipelines.run(pipeline)
    assert sorted(_pairs(_told(topics, names))) == sorted(trades.pairs(first, SUBSCRIPTIONS))
    topics.put(names[0], trades.lines(second))
    pipelines.run(pipeline)
    pipelines.run(pipeline)  # nothing is new, nobody is told again
    assert sorted(_pairs(_told(topics, names))) == sorted(trades.pairs(first + second, SUBSCRIPTIONS))


def test_events_without_ids_are_called_by_their_place(
    tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    events = trades.trades(60)
    topics.put(names[0], trades.lines([{**event, "id": None} for event in events[:30]]))
    topics.put(names[0], trades.lines([{k: v for k, v in event.items() if k != "id"} for event in events[30:]]))
    pipelines.run(_pipeline(tmp_path, topics, kafka_jars, names))
    there = topics.get(names[0])
    placed = [{**json.loads(m.value or b""), "id": f"{names[0]}/{m.partition}/{m.offset}"} for m in there]
    assert sorted(_pairs(_told(topics, names))) == sorted(trades.pairs(placed, SUBSCRIPTIONS))


def test_events_that_break_the_schema_go_to_a_topic_of_their_own(
    tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    aside = topics.create(f"{names[1]}-bad")
    (tmp_path / "schema.json").write_text(json.dumps(trades.SCHEMA))
    good = trades.trades(40)
    bad = [{**event, "price": "cheap"} for event in trades.trades(5, first=40)]
    topics.put(names[0], trades.lines(good + bad))
    quarantine = {"type": "kafka", "servers": [topics.servers], "topic": aside}
    pipelines.run(_pipeline(tmp_path, topics, kafka_jars, names, schema="schema.json", quarantine=quarantine))
    assert sorted(_pairs(_told(topics, names))) == sorted(trades.pairs(good, SUBSCRIPTIONS))
    rejected = [json.loads(message.value or b"") for message in topics.get(aside)]
    values = {f"{names[0]}/{m.partition}/{m.offset}": (m.value or b"").decode() for m in topics.get(names[0])}
    assert all(row["raw"] == values[row["place"]] for row in rejected)
    assert all("price" in row["reason"] for row in rejected)
    assert sorted(json.loads(row["raw"])["id"] for row in rejected) == [event["id"] for event in bad]
    price = {event["id"]: event["price"] for event in good}
    assert all(one["price"] == price[one["event"]] for one in _told(topics, names))
    # Whoever runs it again with the same schema gets the same version: that of the compiled set.
    assert {one["version"] for one in _told(topics, names)} == {trades.version(SUBSCRIPTIONS)}


def test_messages_and_subscriptions_that_come_while_it_runs(
    tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    later = trades.subscriptions(40, seed=2)
    expected = [trades.version(SUBSCRIPTIONS), trades.version(later)]
    (tmp_path / "schema.json").write_text(json.dumps(trades.SCHEMA))
    pipeline = _pipeline(
        tmp_path,
        topics,
        kafka_jars,
        names,
        mode="continuous",
        trigger="1 second",
        schema="schema.json",
        subscriptions={"file": "subscriptions.jsonl", "refresh": "1 second"},
    )
    sent = trades.trades(50)
    topics.put(names[0], trades.lines(sent))
    with pipelines.started(pipeline) as process:

        def seen(wanted: set[trades.Pair]) -> None:
            log = pipelines.log_of(pipeline)
            wait_until(lambda: set(_pairs(_told(topics, names))) >= wanted, f"{len(wanted)} matches", process, log)

        seen(trades.pairs(sent, SUBSCRIPTIONS))
        new = trades.trades(50, first=50)
        topics.put(names[0], trades.lines(new))
        sent += new
        seen(trades.pairs(sent, SUBSCRIPTIONS))

        # New subscriptions: events keep coming until one of them is matched by the new version.
        trades.write_lines(tmp_path / "subscriptions.jsonl", later)
        end = time.monotonic() + PATIENCE_S
        while expected[1] not in {one["version"] for one in _told(topics, names)}:
            assert time.monotonic() < end, "the new subscriptions were not taken"
            new = trades.trades(20, first=len(sent))
            topics.put(names[0], trades.lines(new))
            sent += new
            time.sleep(1)
        last = trades.trades(20, first=len(sent))
        topics.put(names[0], trades.lines(last))
        seen(trades.pairs(last, later))

        process.send_signal(signal.SIGINT)
        process.wait(60)
    told = _told(topics, names)
    assert list(dict.fromkeys(one["version"] for one in told)) == expected
    # An event's notifications are of one version, and are all that this version says.
    answers = [_by_event(trades.pairs(sent + last, records)) for records in (SUBSCRIPTIONS, later)]
    got = _by_event(_pairs(told))
    made_by = {one["event"]: expected.index(one["version"]) for one in told}
    for number, event in enumerate(sent + last):
        id_ = event["id"]
        if number < 100:
            possible = [answers[0].get(id_)]
        elif number >= len(sent):
            possible = [answers[1].get(id_)]
        else:
            possible = [answers[made_by[id_]].get(id_)] if id_ in got else [one.get(id_) for one in answers]
        assert got.get(id_) in possible, id_


def _by_event(pairs: Iterable[trades.Pair]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for event, subscription in sorted(pairs):
        found.setdefault(event, []).append(subscription)
    return found


def test_killed_again_and_again_nothing_is_lost_and_what_comes_twice_is_the_same(
    tmp_path: Path, topics: Topics, kafka_jars: list[Path], names: tuple[str, str]
) -> None:
    drawn = random.Random(7)
    events = trades.trades(600)
    topics.put(names[0], trades.lines(events))
    topics.put(names[0], MALFORMED)
    pipeline = _pipeline(tmp_path, topics, kafka_jars, names, source={"max_offsets_per_trigger": 40})
    kills = 0
    for _ in range(2):
        before = len(topics.get(names[1]))
        with pipelines.started(pipeline) as process:
            log = pipelines.log_of(pipeline)

            def further(before: int = before, process: Any = process) -> bool:
                return len(topics.get(names[1])) > before or process.poll() is not None

            wait_until(further, "no further notification", log=log)
            time.sleep(drawn.random() * 2)
            kills += process.poll() is None
            kill(process)
    assert kills >= 1, "the runs were over too soon to be killed"
    pipelines.run(pipeline)

    told = _told(topics, names)
    assert set(_pairs(told)) == trades.pairs(events, SUBSCRIPTIONS)
    by_id: dict[str, list[dict[str, Any]]] = {}
    for one in told:
        by_id.setdefault(one["id"], []).append(one)
    assert len(by_id) == len(set(_pairs(told)))
    for copies in by_id.values():
        assert all(copy == copies[0] for copy in copies)
    # Files are written exactly once, whatever happened.
    places = Counter(row["place"] for row in pipelines.rows_of(tmp_path / "bad"))
    assert len(places) == len(MALFORMED)
    assert set(places.values()) == {1}
