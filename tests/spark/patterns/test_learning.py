"""Workers count what one process counts, however partitions, batches and shards are cut; here without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.patterns.generate import patterns, shuffled
from tests.seeds import some
from tests.spark.patterns.imitation import sent
from tests.spark.patterns.test_together import events_of, subscribed
from tests.spark.patterns.test_training import learnt
from vedette.engine.pattern_shards import PatternSet
from vedette.engine.subscriptions import Subscriptions
from vedette.patterns.forecasts import counts, partition_tracks, pattern_nodes
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.spark.patterns.coded import GROUP, SHARD
from vedette.spark.patterns.coded import TIME as MOMENT
from vedette.spark.patterns.coding import Reading
from vedette.spark.patterns.learning import MODEL, PARTITION, SHED, Lesson, learning, placing, summing
from vedette.spark.readers import ARRIVAL, ID, TableReader, sent_as

COLUMNS = ("time", "kind", "u", "v", "f", "s", "r")
WIDE = [pa.float64(), pa.string(), pa.int64(), pa.int64(), pa.float64(), pa.string(), pa.string()]


class Cut:
    """How a history is cut, and what comes of it."""

    def __init__(self, random: Random, shards: int, rows: int, cap: int = 10_000) -> None:
        self.random, self.shards, self.rows, self.cap = random, shards, rows, cap
        self.passes = self.shed = 0

    def learn(self, subscriptions: Subscriptions, events: list[dict[str, Any]]) -> Model:
        """As Spark does it: read, placed, sorted, counted in shards, summed."""
        records = list(subscriptions.patterns.values())
        patterns_ = PatternSet(tuple(records), subscriptions.schema, self.shards, cap=self.cap)
        reading = Reading(partial(TableReader, COLUMNS), sent=sent(patterns_), strict=True, told=False)
        table = pa.table(
            {
                **{
                    sent_as(number): pa.array([event.get(name) for event in events], type_)
                    for number, (name, type_) in enumerate(zip(COLUMNS, WIDE, strict=True))
                },
                ID: pa.nulls(len(events), pa.string()),
                ARRIVAL: pa.array(range(len(events)), pa.int64()),
            }
        )
        batches = table.to_batches(max_chunksize=90)
        self.random.shuffle(batches)
        placed = pa.Table.from_batches(placing(reading)(iter(batches)))
        order = [(name, "ascending") for name in (GROUP, SHARD, PARTITION, MOMENT, ARRIVAL)]
        model = self._counted(placed.sort_by(order), Lesson(sent(patterns_), ForecastSettings()))
        if model.exhausted:
            model = self._counted(
                placed.sort_by(order),
                Lesson(sent(patterns_), ForecastSettings(), numbering=model.numbering().to_bytes()),
            )
        return model.whole(records)

    def _counted(self, placed: pa.Table, lesson: Lesson) -> Model:
        self.passes += 1
        rows = pa.Table.from_batches(learning(lesson)(self._batches(placed))).to_pylist()
        total = Model(lesson.settings)
        for group in sorted({row[GROUP] for row in rows}):
            mine = [row for row in rows if row[GROUP] == group]
            assert len(mine) <= self.shards
            self.random.shuffle(mine)
            blocks: dict[int, list[Any]] = {}
            for row in mine:
                blocks.setdefault(row[SHARD] // 3, []).append(row)
            for together in (3, self.shards):
                sums = [summing(together)(pa.Table.from_pylist(block)) for block in blocks.values()]
                blocks = {0: pa.concat_tables(sums).to_pylist()}
            assert len(blocks[0]) == 1
            total += Model.from_bytes(blocks[0][0][MODEL])
            self.shed += blocks[0][0][SHED]
        return total

    def _batches(self, placed: pa.Table) -> Iterator[pa.RecordBatch]:
        begin = 0
        placed = placed.combine_chunks()
        while begin < placed.num_rows:
            size = self.random.randint(1, self.rows)
            yield from placed.slice(begin, size).to_batches()
            begin += size


@pytest.mark.parametrize("seed", some(6, usual=2))
def test_how_a_history_is_cut_makes_no_difference(seed: int) -> None:
    random = Random(seed)
    events = shuffled(random, events_of(seed, 250, timeless=False))
    subscriptions = subscribed(patterns(random, 12), within=4, features=["v = 1"])
    expected = learnt(subscriptions, [{**event, "id": None} for event in events]).to_bytes()
    for shards, rows in ((1, 1_000), (7, 9), (3, 60)):
        assert Cut(random, shards, rows).learn(subscriptions, events).to_bytes() == expected


def test_more_states_than_have_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_nodes, "_MOST_STATES", 6)
    monkeypatch.setattr(pattern_nodes, "_MOST_SYMBOLS", 5)
    random = Random(8)
    events = shuffled(random, events_of(8, 400, timeless=False))
    text = "([kind = 'a'] ; [u = 1] or [kind = 'c']) and ([kind = 'b'] ; [u = 2]) by s, r, v"
    subscriptions = subscribed([text, "[u = 0] ; [u = 1] by s"], within=4, features=["v = 1", "f = 1"])
    expected = learnt(subscriptions, [{**event, "id": None} for event in events])
    cut = Cut(random, 5, 30)
    assert cut.learn(subscriptions, events).to_bytes() == expected.to_bytes()
    assert cut.passes == 2
    assert expected.exhausted


def test_large_combinations_are_learnt_by_their_parts() -> None:
    random = Random(9)
    events = events_of(9, 400, timeless=False)
    asked = (("kind = 'a'", "u = 1"), ("kind = 'b'", "v = 1"), ("kind = 'c'", "f = 1"), ("u = 2", "v = 2"))
    legs = [f"([{one}] ; [{other}] ; [{one} and {other}])" for one, other in (*asked, ("u = 0", "v = 0"))]
    subscriptions = subscribed([f"{' and '.join(legs)} by s within 40 s", f"{' or '.join(legs)} by r"], within=4)
    expected = learnt(subscriptions, [{**event, "id": None} for event in events])
    assert any(expected.counts(name).parts for name in expected)
    assert Cut(random, 4, 50).learn(subscriptions, events).to_bytes() == expected.to_bytes()


def test_few_partitions_are_remembered_and_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = subscribed(["[kind = 'a'] ; [kind = 'b'] ; [kind = 'c'] by s, r, u, v"], within=4)
    events = events_of(10, 600, timeless=False)
    expected = learnt(subscriptions, [{**event, "id": None} for event in events])
    monkeypatch.setattr(partition_tracks.PartitionTracks.__init__, "__kwdefaults__", {"most": 4})
    assert Cut(Random(10), 3, 25).learn(subscriptions, events).to_bytes() == expected.to_bytes()


def test_the_rarest_moves_are_dropped_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = subscribed(["[kind = 'a'] ; [kind = 'b'] by s, r"], within=4, features=["u = 1", "v = 1"])
    events = events_of(11, 700, timeless=False)
    events = [{**event, "id": None} for event in events]
    whole = learnt(subscriptions, events)
    name = next(iter(whole))
    before = whole.counts(name).moves().weight
    monkeypatch.setattr(counts, "MOST_MOVES", 300)
    expected = learnt(subscriptions, events)
    assert before.size > expected.counts(name).moves().weight.size == 300
    assert Cut(Random(11), 6, 40).learn(subscriptions, events).to_bytes() == expected.to_bytes()


def test_what_is_given_up_is_counted() -> None:
    subscriptions = subscribed(["[kind = 'a' and u = $x] ; [kind = 'b' and v = $x] ; [kind = 'c'] by s"], within=4)
    events = events_of(12, 300, timeless=False)
    enough, few = (Cut(Random(12), 2, 40, cap) for cap in (10_000, 2))
    assert enough.learn(subscriptions, events).to_bytes() != few.learn(subscriptions, events).to_bytes()
    assert enough.shed == 0
    assert few.shed > 0
