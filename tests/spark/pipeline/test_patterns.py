"""Pipelines that follow patterns beside filters tell what one process tells, whatever the source and the changes."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.patterns.generate import SCHEMA, patterns, shuffled
from tests.spark.patterns.imitation import Told, plain
from tests.spark.patterns.test_together import events_of
from tests.spark.pipeline.test_run import Heard, running, until
from tests.spark.pipeline.workplace import Record, Workplace, compiled
from vedette.cli.run import _lines
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import PipelineError, VedetteError
from vedette.patterns.forecasts.model import Model
from vedette.spark.engine_versions import EngineVersion
from vedette.spark.pipeline.checkpoint import CheckpointLedger, SparkLog
from vedette.spark.pipeline.checkpoint_report import inspect
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.run import run
from vedette.spark.pipeline.storage import LocalStorage

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

Event = dict[str, Any]
_BEGIN = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
_YAML = "".join(f"{name}: {SCHEMA.spelling(name)}\n" for name in SCHEMA)
FILTER: Record = {"id": "busy", "subscriber": "alice", "when": "u = 2 and f > 0"}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    (tmp_path / "schema.yaml").write_text(_YAML)
    return made


def moment(seconds: float) -> str:
    """A time as events have it."""
    return (_BEGIN + dt.timedelta(seconds=seconds)).isoformat()


def some_events(seed: int, count: int, *, timeless: bool = False) -> list[Event]:
    """Random events that have an id, and most or all of them a time."""
    made = [event for event in events_of(seed, count) if timeless or event.get("time") is not None]
    return [event if event.get("time") is None else {**event, "time": moment(event["time"])} for event in made]


def some_patterns(seed: int, count: int, **more: Any) -> list[Record]:
    """Random patterns that make sense."""
    made = Subscriptions(SCHEMA)
    for number, text in enumerate(patterns(Random(seed), count, "8 s")):
        try:
            made.add(f"p{number}", text)
        except VedetteError:
            continue
    return [
        {"id": id_, "subscriber": f"who{number % 3}", "when": record.text, **more}
        for number, (id_, record) in enumerate(made.patterns.items())
    ]


def local(records: Sequence[Record], events: Sequence[Event], model: Model | None = None) -> list[Told]:
    """What one process tells, once all events are there."""
    subscriptions = Subscriptions(SCHEMA)
    for record in records:
        subscriptions.add(record["id"], record["when"], predict=record.get("predict"))
    stream = StreamMatcher(subscriptions, lateness=None, model=model, learn=False)
    told = pa.concat_tables([stream.process(list(events), ids=[event["id"] for event in events]), stream.finish()])
    return sorted(plain(row, row["event"]) for row in told.to_pylist())


def told(rows: Iterable[Record]) -> list[Told]:
    """The same of a sink's rows."""
    nothing = dict.fromkeys(("steps", "bindings", "probability", "within"))
    return sorted(plain({**nothing, **row}, row["event"]) for row in rows)


def available(place: Workplace, **more: Any) -> None:
    place.describe(
        mode="available-now",
        checkpoint="state",
        schema="schema.yaml",
        quarantine={"type": "jsonl", "path": "bad"},
        **{"source": {"type": "jsonl", "path": "events", "max_files_per_trigger": 1}, **more},
    )


def publish(place: Workplace, name: str, events: Iterable[Event | str], second: int) -> None:
    """A file of events; Spark takes the oldest first."""
    place.publish(name, events)
    os.utime(place.events / name, (second, second))


# ---------------------------------------------------------------- in one go


@pytest.mark.parametrize("schema", [None, "schema.yaml"])
def test_what_cannot_be_read_is_told_once(schema: str | None, place: Workplace, spark: SparkSession) -> None:
    records: list[Record] = [
        FILTER,
        {"id": "all", "subscriber": "bob", "when": "[v = 1] ; [v = 2] within 8 s"},
        {"id": "by-s", "subscriber": "bob", "when": "[kind = 'a'] , [kind = 'b'] by s"},
        {"id": "by-2", "subscriber": "carl", "when": "x:[kind = 'a'] ; y:[kind = 'b'] @ (t(y) - t(x) < 4 s) by s, r"},
    ]
    good = shuffled(Random(1), some_events(1, 200, timeless=True))
    bad: list[Event] = [
        {"id": "filters", "u": "two", "kind": "-", "time": moment(5)},
        {"id": "patterns", "v": "one", "kind": "-", "time": moment(5)},
        {"id": "both", "u": "two", "v": "one", "kind": "-", "time": moment(5)},
    ]
    timeless: Event = {"id": "timeless", "kind": "a", "u": 2, "f": 1.5, "time": "tomorrow"}
    lines: list[Event | str] = [*good[:100], "{", *bad, timeless, *good[100:]]
    place.subscribe(*records)
    place.publish("1.jsonl", lines)
    place.describe(patterns={}, quarantine={"type": "jsonl", "path": "bad"}, keep=["u", "s"], schema=schema)
    summary = run(load(place.pipeline), spark=spark)
    rows = place.rows()
    if schema is None:
        # Values are what they are; but a time must be one, and only patterns ask for it.
        wrong = ["timeless", "{"]
        unread = [{"id": event["id"], "kind": event["kind"], "time": event["time"]} for event in bad]
        expected = local(records, [*good[:100], *unread, *good[100:]])
        assert told(rows) == sorted([*expected, ("timeless", "busy", "match", [], [], "", "")])
    else:
        wrong = ["filters", "patterns", "both", "timeless", "{"]
        assert told(rows) == local(records, good)
    assert {row["subscription"] for row in rows} == {record["id"] for record in records}
    who = {record["id"]: record["subscriber"] for record in records}
    values = {event["id"]: event for event in [*good, timeless]}
    for row in rows:
        assert row.get("subscriber") == who[row["subscription"]]
        kept = [values[row["event"]].get(name) for name in ("u", "s")]
        said = kept if schema else [value if value is None else str(value) for value in kept]
        assert [row.get(name) for name in ("u", "s")] == said
    aside = [json.loads(row["raw"])["id"] if row["raw"] != "{" else "{" for row in place.rows("bad")]
    assert sorted(aside) == sorted(wrong)
    assert (summary.events, summary.matches, summary.rejects, summary.late) == (205, len(rows), len(wrong), 0)


def test_forecasts_over_parquet_by_a_model(place: Workplace, spark: SparkSession) -> None:
    records = [FILTER, *some_patterns(5, 8, predict={"within": 5, "threshold": 0.1})]
    subscriptions = Subscriptions(SCHEMA)
    for record in records[1:]:
        subscriptions.add(record["id"], record["when"], predict=record["predict"])
    learnt = StreamMatcher(subscriptions, lateness=None)
    learnt.process(some_events(7, 400))
    learnt.finish()
    model = learnt.model()
    model.save(place.folder / "model")
    events = shuffled(Random(2), some_events(8, 200))
    types = {"u": pa.int64(), "v": pa.int64(), "f": pa.float64(), "time": pa.timestamp("us", "UTC")}
    columns = {
        name: pa.array(
            [dt.datetime.fromisoformat(event[name]) if name == "time" else event.get(name) for event in events],
            types.get(name, pa.string()),
        )
        for name in ("id", *SCHEMA)
    }
    pq.write_table(pa.table(columns), place.events / "1.parquet")
    place.subscribe(*records)
    place.describe(patterns={"model": "model"}, source={"type": "parquet", "path": "events"})
    summary = run(load(place.pipeline), spark=spark)
    expected = local(records, events, model)
    assert told(place.rows()) == expected
    kinds = Counter(row[2] for row in expected)
    assert kinds["prediction"] > 10
    assert (summary.matches, summary.predictions) == (kinds["match"], kinds["prediction"])


# ---------------------------------------------------------------- streams


def test_a_stream_of_csv_with_late_events_other_subscriptions_and_other_shuffles(
    place: Workplace, spark: SparkSession
) -> None:
    events = shuffled(Random(4), some_events(11, 250))
    early, late = events[:120], {"id": "old", "kind": "a", "u": 1, "v": 1, "f": 1.5, "s": "x", "time": moment(0)}
    more = [*events[120:180], late, *events[180:]]
    last = {"id": "last", "kind": "nothing", "time": moment(9_999_999)}
    stay = [FILTER, *some_patterns(13, 10)]
    gone: Record = {"id": "gone", "when": "[kind = 'a' and v < 77] ; [kind = 'b' and v < 77] by r"}
    new: Record = {"id": "new", "when": "[kind = 'a' and v < 88] ; [kind = 'b' and v < 88]"}
    source = {"type": "csv", "path": "events", "max_files_per_trigger": 1}
    available(place, source=source, patterns={"lateness": "60 s"})

    def write(name: str, several: list[Event], second: int) -> None:
        with (place.folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", *SCHEMA])
            writer.writeheader()
            writer.writerows([{key: event.get(key) for key in ("id", *SCHEMA)} for event in several])
        os.utime(place.folder / name, (second, second))
        (place.folder / name).rename(place.events / name)

    write("1.csv", early[:70], 1)
    write("2.csv", early[70:], 2)
    place.subscribe(*stay, gone)
    first = run(load(place.pipeline), spark=spark)
    assert (first.events, first.late) == (120, 0)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        place.subscribe(*stay, new)
        write("3.csv", more, 3)
        write("4.csv", [last], 4)
        second = run(load(place.pipeline), spark=spark)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))
    assert (second.events, second.late, second.rejects) == (len(more) + 1, 1, 1)
    (row,) = place.rows("bad")
    assert "it came too late for patterns: its time is 2024-05-01T00:00:00" in row["reason"]
    rows = [row for row in place.rows() if row["event"] not in ("last", "old")]
    told_by = {id_: [row for row in told(rows) if row[1] == id_] for id_ in ("gone", "new")}
    assert [row for row in told(rows) if row[1] not in told_by] == local(stay, events)
    assert told_by["new"] == local([new], events[120:])
    passed = max(dt.datetime.fromisoformat(event["time"]) for event in early) - dt.timedelta(seconds=60)
    times = {event["id"]: dt.datetime.fromisoformat(event["time"]) for event in early}
    assert told_by["gone"] == [row for row in local([gone], early) if times[row[0]] < passed]
    assert told_by["gone"]
    assert told_by["new"]
    found = inspect(str(place.folder / "state"), lambda: spark)
    assert json.loads(json.dumps(found)) == found
    assert found["shards"] == int(str(before))
    assert found["subscriptions"]["patterns"] == [record["id"] for record in [*stay[1:], new]]
    (alone,) = [each for each in found["state"] if each["by"] == []]
    assert (alone["events"], alone["held back"], alone["duplicates"]) == (len(events) + 1, 1, 0)
    text = "\n".join(_lines("state", found))
    assert "the checkpoint of the pipeline watch" in text
    assert f"{len(stay)} patterns (p" in text
    assert f"without a partition: {len(events) + 1} events in 1 shard" in text


def test_patterns_that_change_while_the_stream_runs(place: Workplace, spark: SparkSession) -> None:
    """A pattern stays, one goes away and comes back; meanwhile nothing comes to the shard of s = "b"."""
    stays: Record = {"id": "stays", "when": "[kind = 'a'] ; [kind = 'b'] by s"}
    back: Record = {"id": "back", "when": "[kind = 'a' and v = 1] ; [kind = 'b' and v = 1] by s"}
    place.subscribe(stays, back)
    place.describe(
        mode="continuous",
        trigger="100 ms",
        checkpoint="state",
        schema="schema.yaml",
        subscriptions={"file": "subscriptions.jsonl", "refresh": "100 ms"},
        patterns={},
    )

    def event(id_: str, kind: str, s: str, second: int) -> Event:
        return {"id": id_, "kind": kind, "v": 1, "s": s, "time": moment(second)}

    parts = (
        [event("a1", "a", "x", 1), event("a2", "a", "b", 2)],
        [event("b1", "b", "x", 3)],
        [event("b2", "b", "b", 4), event("a3", "a", "x", 5), event("b3", "b", "x", 6)],
    )
    heard = Heard()
    with running(place, spark, heard):
        place.publish("1.jsonl", parts[0])
        until(lambda: len(heard.batches) >= 2, "the first micro-batch, and the one that follows by itself")
        place.subscribe(stays)
        until(lambda: len(heard.notes) >= 1, "the second version")
        place.publish("2.jsonl", parts[1])
        until(lambda: ("b1", "stays") in {(row["event"], row["subscription"]) for row in place.rows()}, "b1")
        place.subscribe(stays, back)
        until(lambda: len(heard.notes) >= 2, "the third version")
        place.publish("3.jsonl", parts[2])
        until(lambda: ("b3", "back") in {(row["event"], row["subscription"]) for row in place.rows()}, "b3")
    found = sorted((row["event"], row["subscription"], row["steps"]["1"]) for row in place.rows())
    expected = local([stays], [each for part in parts for each in part])
    assert [row for row in found if row[1] == "stays"] == [(row[0], row[1], dict(row[3])["1"]) for row in expected]
    assert [row for row in found if row[1] == "back"] == [("b3", "back", "a3")]


def test_a_checkpoint_that_was_made_without_patterns_is_refused(place: Workplace, spark: SparkSession) -> None:
    place.subscribe(FILTER)
    available(place)
    storage = LocalStorage(place.folder / "state")
    engine = compiled([FILTER])
    version = EngineVersion(engine, engine.version, _BEGIN)
    CheckpointLedger.open(storage, load(place.pipeline).facts(), version, SparkLog.of(storage)).close()
    place.subscribe(FILTER, {"id": "p", "when": "[u = 1] ; [u = 2]"})
    available(place, patterns={})
    with pytest.raises(PipelineError, match="whether patterns are followed: not given before, true now"):
        run(load(place.pipeline), spark=spark)
