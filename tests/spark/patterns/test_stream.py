"""Patterns over a streaming DataFrame tell what the local engine tells, wherever micro-batches end."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from pyspark.sql import functions as F

from tests.patterns.generate import patterns, shuffled
from tests.spark.patterns.imitation import plain
from tests.spark.patterns.test_together import _COLUMNS, _NAMES, events_of, local, subscribed
from vedette.engine.stream_matcher import StreamMatcher
from vedette.spark.dataframe_match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BEGIN = 1_700_000_000  # Spark's watermark begins at 1970
_LAST = 10_000_000  # long after all others
_PREDICTED = (
    "[kind = 'a'] ; [kind = 'b'] , [kind = 'c'] by s within 20 s",
    "[u = 1] , [u = 2] by r, kind",
    "[kind = 'a'] ; not [kind = 'c'] ; [kind = 'b']",
)


class Micro:
    """Events cut into micro-batches, each a file that comes when its turn is."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder, self._files = spark, folder, 0
        (folder / "in").mkdir()

    def add(self, events: list[dict[str, Any]]) -> None:
        """One more micro-batch."""
        beside = self._folder / "next.json"
        beside.write_bytes(b"\n".join(orjson.dumps({name: event.get(name) for name in _NAMES}) for event in events))
        self._files += 1
        os.utime(beside, (_BEGIN + self._files,) * 2)  # Spark takes the oldest first
        beside.rename(self._folder / "in" / f"{self._files:06}.json")

    def end(self) -> None:
        """One more, far in the future, so that nothing is held back any more."""
        self.add([{"id": "last", "time": _BEGIN + _LAST, "kind": "nothing"}])

    def stream(self) -> DataFrame:
        """The stream of all of them, one after the other."""
        reader = self._spark.readStream.schema(_COLUMNS.replace("time timestamp", "time bigint"))
        return reader.option("maxFilesPerTrigger", 1).json(str(self._folder / "in"))

    def run(self, found: DataFrame, name: str = "told") -> list[dict[str, Any]]:
        """All that is told when everything that is there has been read."""
        rows: list[dict[str, Any]] = []

        def take(batch: DataFrame, number: int) -> None:
            rows.extend(row.asDict() for row in batch.collect() if row["id"] != "last")

        query = (
            found.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(self._folder / name))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return rows


@pytest.fixture
def micro(spark: SparkSession, tmp_path: Path) -> Micro:
    return Micro(spark, tmp_path)


def cut(random: Random, events: list[dict[str, Any]], parts: int) -> list[list[dict[str, Any]]]:
    """The events in so many runs, which end at random places."""
    ends = sorted(random.sample(range(1, len(events)), parts - 1))
    return [events[begin:end] for begin, end in zip([0, *ends], [*ends, len(events)], strict=True)]


def at(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events in times that Spark has a watermark for; those without a time have none."""
    return [event if event.get("time") is None else {**event, "time": _BEGIN + event["time"]} for event in events]


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows as those of the local engine, sorted."""
    return sorted(plain(row, row["id"]) for row in rows)


@pytest.mark.long
def test_random_patterns_over_random_micro_batches_with_a_restart_among_them(micro: Micro) -> None:
    random = Random(5)
    events = at(shuffled(random, events_of(1, 400)))
    texts = [text for seed in range(4) for text in patterns(Random(seed), 20, "6 s")]
    subscriptions = subscribed([*texts, "kind = 'a' and u = 1", "[kind = 'a'] , [kind = 'b'] by s"])
    assert len(subscriptions.patterns) > 60
    wait = dt.timedelta(seconds=40)
    rows: list[dict[str, Any]] = []
    for number, part in enumerate(cut(random, events, 6)):
        micro.add(part)
        if number in (2, 5):
            if number == 5:
                micro.end()
            found = match(micro.stream(), subscriptions, keep="id", schema=subscriptions.schema, lateness=wait)
            rows += micro.run(found)
    expected = local(subscriptions, events)
    assert told(rows) == expected
    assert len(expected) > 1000


def test_forecasts_by_a_model_with_subscribers_and_names_of_their_own(micro: Micro) -> None:
    subscriptions = subscribed([*_PREDICTED, "u = 2"], within=6, threshold=0.1)
    learnt = StreamMatcher(subscriptions, lateness=None)
    learnt.process(at(events_of(3, 400, timeless=False)))
    learnt.finish()
    model = learnt.model()
    events = sorted(at(events_of(4, 200, timeless=False)), key=lambda event: event["time"])
    for part in cut(Random(1), events, 4):
        micro.add(part)
    micro.end()
    found = match(
        micro.stream(),
        subscriptions,
        keep=["id", F.upper("kind").alias("LOUD"), "u"],
        schema=subscriptions.schema,
        subscribers=True,
        id=F.concat(F.lit("n"), "id"),
        model=model,
    )
    assert found.columns[:5] == ["id", "LOUD", "u", "subscription", "subscriber"]
    rows = micro.run(found)
    named = [{**event, "id": f"n{event['id']}"} for event in events]
    expected = local(subscriptions, named, model)
    assert sorted(plain(row, f"n{row['id']}") for row in rows) == expected
    assert {row[2] for row in expected} == {"match", "prediction"}
    kept = {event["id"]: ((event.get("kind") or "").upper() or None, event.get("u")) for event in events}
    assert all((row["LOUD"], row["u"]) == kept[row["id"]] for row in rows)
    assert all(row["subscriber"] == f"who{int(row['subscription'][1:]) % 3}" for row in rows)


def test_events_that_come_too_late_have_one_row_each(micro: Micro) -> None:
    random = Random(9)
    events = at(shuffled(random, shuffled(random, events_of(6, 200, timeless=False))))
    subscriptions = subscribed(
        ["[kind = 'a'] ; [kind = 'b'] within 9 s", "[u = 1] , [u = 2] by s", "[v = 1] ; [v = 2] by r"]
    )
    late, greatest, watermark = [], 0, 0
    for part in cut(random, events, 12):
        micro.add(part)
        late += [event["id"] for event in part if event["time"] * 1000 < watermark]
        greatest = max(greatest, *(event["time"] for event in part))
        watermark = greatest * 1000 - 1001  # a second, and a millisecond more
    micro.end()
    wait = dt.timedelta(seconds=1)
    found = match(
        micro.stream(), subscriptions, keep=["id", "u"], schema=subscriptions.schema, lateness=wait, late="keep"
    )
    rows = micro.run(found)
    assert late
    assert sorted(row["id"] for row in rows if row["kind"] == "late") == sorted(late)
    values = {event["id"]: event.get("u") for event in events}
    for row in rows:
        assert row["u"] == values[row["id"]]
        assert row["kind"] != "late" or row["subscription"] is row["steps"] is row["bindings"] is None
    in_time = [event for event in events if event["id"] not in late]
    assert told([row for row in rows if row["kind"] != "late"]) == local(subscriptions, in_time)
