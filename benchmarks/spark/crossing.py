"""(a) Matching beside pipelines that only cross to Python and back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from benchmarks.spark import data, lines
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.timing import in_turns
from vedette.engine.engine import Engine
from vedette.spark.dataframe_match import match
from vedette.spark.snapshots import ship
from vedette.spark.texts import SEPARATOR

AIM = 0.6
MATCH = "match"
Pipeline = Callable[[DataFrame, list[str]], DataFrame]


def measure(plan: Plan) -> Result:
    """Rows a second of each, and matching's share of them."""
    engine = data.engine(plan.filters)
    per_event = _matches_per_event(engine, min(plan.events, 50_000))
    texts = [f"s{number}" for number in range(plan.filters // 2, plan.filters // 2 + max(1, round(per_event)))]
    with data.started() as spark, tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
        events = spark.read.parquet(str(data.write_events(Path(folder) / "events", plan.events)))
        shipped = ship(engine, spark)
        ways: dict[str, Callable[[], object]] = {MATCH: partial(data.to_nowhere, match(events, shipped))}
        for name, made in {**SAME_COLUMNS, **SAME_ANSWERS}.items():
            ways[name] = partial(data.to_nowhere, made(events, texts))
        seconds = in_turns(ways, plan.repetitions)
        result = _result(plan, per_event, seconds)
        lines.compare(plan, spark, shipped, result)
    result.notes.append(f"as many texts: {len(texts)} for every event, always the same")
    return result


def _result(plan: Plan, per_event: float, seconds: Mapping[str, float]) -> Result:
    result = Result("a", f"W2, {plan.filters:,} filters, {per_event:.1f} matches per event, on all cores")
    for name, took in seconds.items():
        share = took / seconds[MATCH]
        result.rows.append(
            {"pipeline": name, "events": plan.events, "s": took, "events/s": plan.events / took, "match is": share}
        )
    for kind, names in (("that only crosses", SAME_COLUMNS), ("that brings as much back", SAME_ANSWERS)):
        fastest = min(seconds[name] for name in names)
        result.ratios.append(Ratio(f"events/s of match, to the faster one {kind}", fastest / seconds[MATCH], AIM))
    return result


def _matches_per_event(engine: Engine, sample: int) -> float:
    return len(engine.match_rows(data.events_table(sample)).subscription) / sample


def _all_and_back(events: DataFrame, _: list[str]) -> DataFrame:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return events.mapInArrow(same, events.schema)


def _number_back(events: DataFrame, _: list[str]) -> DataFrame:
    def number(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for columns in batches:
            yield columns[2]  # the volume

    crossed = arrow_udf(number, "long").asNondeterministic()  # type: ignore[call-overload]
    return events.select("*", crossed("symbol", "price", "volume").alias("number"))


def _rows_back(events: DataFrame, texts: list[str]) -> DataFrame:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answer = pa.array(texts)
        for batch in batches:
            repeated = pa.array(np.tile(np.arange(len(texts)), batch.num_rows))
            ids = pa.array(np.repeat(batch.column("id").to_numpy(), len(texts)))
            yield pa.RecordBatch.from_arrays([ids, answer.take(repeated)], ["id", "subscription"])

    return events.mapInArrow(rows, "id long, subscription string")


def _texts_back(events: DataFrame, texts: list[str]) -> DataFrame:
    """What `match` does, with an answer that is known beforehand."""
    answer = SEPARATOR.join(texts)

    def joined(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for columns in batches:
            yield pa.repeat(answer, len(columns[0]))

    crossed = arrow_udf(joined, "string").asNondeterministic()  # type: ignore[call-overload]
    named = events.select("*", crossed("symbol", "price", "volume").alias("text"))
    matches = named.select(*data.COLUMNS, F.explode(F.split("text", SEPARATOR)).alias("subscription"))
    return matches.withColumn("version", F.lit("0123456789ab"))


SAME_COLUMNS: dict[str, Pipeline] = {
    "mapInArrow: 4 columns there and back": _all_and_back,
    "arrow_udf: 3 columns there, a number back": _number_back,
}
SAME_ANSWERS: dict[str, Pipeline] = {
    "mapInArrow: 4 columns there, as many rows (number, text) back": _rows_back,
    "arrow_udf: 3 columns there, as many texts back": _texts_back,
}
