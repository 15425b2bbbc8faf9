"""Pieces of a file become coded events: as if the whole file had been read at once, in one process."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.patterns.generate import SCHEMA, patterns, stream
from tests.spark.patterns.imitation import sent
from vedette.engine.pattern_shards import PatternSet, unknown_keys
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import VedetteError
from vedette.io import byte_sources, pieces
from vedette.io.events import read_events
from vedette.io.pieces import PieceSizes, cut
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.shares import shard_of
from vedette.patterns.witness_names import asked_columns
from vedette.schema.encode import Reject
from vedette.spark.engines import Sent
from vedette.spark.file_job import match_cuts
from vedette.spark.patterns.coded import batch_of
from vedette.spark.patterns.file_match import reading_of
from vedette.spark.patterns.live import made_ready
from vedette.spark.patterns.survey import Looking, Survey, frame_of
from vedette.spark.patterns.tables import coded_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = ["jsonl", "csv", "parquet"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are cut as if they were large."""
    monkeypatch.setattr(byte_sources, "BLOCK", 1 << 11)
    monkeypatch.setattr(pieces, "_LEAST_ROWS", 10)
    monkeypatch.setattr(pieces, "_LEAST_BYTES", 1 << 9)


def made(seed: int, count: int) -> list[dict[str, Any]]:
    """Random events: some without an id, some with one that was there before, not in the order of time."""
    random = Random(seed)
    events = stream(random, count)
    for number, event in enumerate(events):
        if random.random() < 0.8:
            event["id"] = f"e{random.randrange(number + 1) if random.random() < 0.1 else number}"
    random.shuffle(events)
    return events


def write(events: list[dict[str, Any]], place: Path) -> Path:
    """A file of the format that its name says; lines of JSON with some that are none, and blank ones."""
    names = ["id", *SCHEMA]
    if place.suffix == ".parquet":
        columns = {name: [event.get(name) for event in events] for name in names}
        pq.write_table(pa.table(columns), place, row_group_size=37)
    elif place.suffix == ".csv":
        rows = [",".join("" if event.get(name) is None else str(event[name]) for name in names) for event in events]
        place.write_text("\n".join([",".join(names), *rows, "too,few", ""]))
    else:
        lines = [json.dumps(event) for event in events]
        lines[5:5] = ["", "nonsense", '{"id": "e7", "time": "never"}', '{"u": "many"}', "  "]
        place.write_text("\n".join(lines))
    return place


def surveyed(spark: SparkSession, place: Path, subscriptions: Subscriptions) -> tuple[Survey, list[int]]:
    """What is known of the pieces of a file, and the rows that were rejected."""
    schema, records = subscriptions.schema, subscriptions.patterns.values()
    events = read_events(place, schema=schema)
    sending = partial(Sent.of, Subscriptions(schema).compile("scan"), spark)
    survey, rejected = Survey(), []
    cuts, at = cut(events, PieceSizes(12, 40)), Looking(schema, unknown_keys(records, schema))
    for found in match_cuts(
        spark, cuts, sending, asked_columns(records, schema).columns, rejects=None, looking=at, survey=survey
    ):
        rejected += [one.row for one in found.rejects]
    survey.find_repeated(spark)
    return survey, rejected


def subscribed(seed: int) -> Subscriptions:
    """Random patterns; time is in seconds."""
    found = Subscriptions({**SCHEMA, "time": "float"})
    for number, text in enumerate([*patterns(Random(seed), 12, "6 s"), "[kind = 'a'] , [u = 1] by s"]):
        try:
            found.add(f"p{number}", text, predict={"within": 3, "threshold": 0.5} if number % 4 == 0 else None)
        except VedetteError:
            continue
    return found


def expected(place: Path, subscriptions: Subscriptions, followed: PatternSet) -> tuple[list[Any], set[int]]:
    """All at once: the coded events, and the rows that are rejected."""
    schema = subscriptions.schema
    whole = PatternMatcher(subscriptions.patterns.values(), schema, lateness=None)
    events: list[Any] = []
    rejected: set[int] = set()
    ids: list[str | None] = []
    rows: list[int] = []
    for chunk in read_events(place, schema=schema):
        rejected |= {one.row for one in chunk.rejects}
        events += chunk.events if isinstance(chunk.events, list) else chunk.events.to_pylist()
        ids += chunk.own_ids.to_pylist()
        rows += chunk.rows.tolist()
    refused: list[Reject] = []
    batch, _ = whole.read(events, rejects=refused)
    rejected |= {rows[one.row] for one in refused}
    seen: set[str | None] = {None}
    fine = []
    for number in batch.number.tolist():
        if ids[number] not in seen or ids[number] is None:
            fine.append(number)
        seen.add(ids[number])
    times = dict(zip(batch.number.tolist(), batch.time.tolist(), strict=True))
    found = []
    ready = made_ready(followed)
    for place_, group in enumerate(ready.groups):
        coded, timed = ready.matchers[place_].read(events, rejects=[])
        shard = shard_of(coded.key[0], group.shards) if group.keys else np.zeros(coded.size, np.int32)
        for row, number in enumerate(coded.number.tolist()):
            if number in fine and (not group.keys or coded.keyed[0, row]):
                primitives = coded.primitive[coded.start[row] : coded.start[row + 1]].tolist()
                where = (place_, int(shard[row]), times[number], rows[number], bool(timed[row]))
                found.append((*where, ids[number], primitives, coded.value[:, row].ravel().tolist()))
    return sorted(found, key=str), rejected


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("format_", _FORMATS)
def test_as_if_read_at_once(format_: str, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    place = write(made(seed, 300), tmp_path / f"events.{format_}")
    subscriptions = subscribed(seed)
    survey, rejected = surveyed(spark, place, subscriptions)
    assert len(survey.placed) > 3
    followed = PatternSet(tuple(subscriptions.patterns.values()), subscriptions.schema, 3)
    assert len(followed.groups()) > 2
    told = coded_events(frame_of(spark, survey.placed), reading_of(sent(followed))).toArrow()
    names = ("group", "shard", "time", "arrival", "timed", "id")
    rows = []
    for number in range(told.num_rows):
        one = told.slice(number, 1).combine_chunks().to_batches()[0]
        read, _ = batch_of(one, 0)
        plain = one.to_pylist()[0]
        rows.append((*(plain[name] for name in names), read.primitive.tolist(), read.value[:, 0].ravel().tolist()))
    coded, bad = expected(place, subscriptions, followed)
    assert rejected == sorted(bad)
    assert sorted(rows, key=str) == coded
    assert survey.repeated > 10
    assert len(rejected) == {"jsonl": 3, "csv": 1, "parquet": 0}[format_]


def test_values_that_variables_are_told_by_are_json(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "events.jsonl"
    place.write_text("\n".join(json.dumps({"x": x, "k": k}) for x, k in ((1, "é"), (1.5, None), (2, '"'))))
    subscriptions = Subscriptions({"x": "float", "k": "string"})
    subscriptions.add("p", "[x = $n and k = $t] ; [x > $n and k != $t]")
    survey, _ = surveyed(spark, place, subscriptions)
    followed = PatternSet(tuple(subscriptions.patterns.values()), subscriptions.schema, 3)
    told = coded_events(frame_of(spark, survey.placed), reading_of(sent(followed))).toArrow().sort_by("arrival")
    assert told.column("b:k").to_pylist() == ['"é"', None, '"\\""']
    assert told.column("b:x").to_pylist() == ["1", "1.5", "2"]
