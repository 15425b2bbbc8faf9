"""(b) Matching beside what a Spark user would write: joins with a table of subscriptions, a WHERE for each of them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks import forms
from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.timing import in_turns
from vedette.spark.dataframe_match import match
from vedette.spark.snapshots import ship

AIM = 100.0
NESTED, HASHED = "broadcast nested-loop join", "broadcast hash join on the symbol"
_BOUNDS = "price >= least_price AND price <= most_price AND volume >= least_volume AND volume <= most_volume"


def measure(plan: Plan) -> Result:
    """Events a second of each way; the answers are compared first."""
    constraints = data.W2.subscriptions(plan.join_filters)
    with data.started() as spark, tempfile.TemporaryDirectory(prefix="vedette-bench-") as name:
        folder = Path(name)
        pq.write_table(data.bounds_table(constraints), folder / "subscriptions.parquet")
        few = spark.read.parquet(str(data.write_events(folder / "few", plan.join_events)))
        many = spark.read.parquet(str(data.write_events(folder / "many", plan.where_events))).cache()
        wanted = spark.read.parquet(str(folder / "subscriptions.parquet"))
        shipped = ship(data.engine(plan.join_filters), spark)
        # A null symbol would stand for any, as in a table that has to hold all kinds of subscriptions: this also keeps
        # Spark from hashing it.
        nested = few.join(
            F.broadcast(wanted), F.expr(f"(wanted_symbol IS NULL OR wanted_symbol = symbol) AND {_BOUNDS}")
        )
        hashed = few.join(F.broadcast(wanted), F.expr(f"wanted_symbol = symbol AND {_BOUNDS}"))
        _check_plan(nested, "BroadcastNestedLoopJoin")
        _check_plan(hashed, "BroadcastHashJoin")
        digests = {
            "match": _digest(match(few, shipped)),
            HASHED: _digest(hashed),
            NESTED: _digest(nested),
        }
        if len(set(digests.values())) != 1:
            raise ArithmeticError(f"the answers differ: {digests}")
        columns = [*data.COLUMNS, "subscription"]
        ours = in_turns(
            {
                "same": lambda: data.to_nowhere(match(few, shipped)),
                "many": lambda: data.to_nowhere(match(many, shipped)),
                HASHED: lambda: data.to_nowhere(hashed.select(*columns)),
            },
            plan.repetitions,
        )
        theirs = in_turns({NESTED: lambda: data.to_nowhere(nested.select(*columns))}, 1)[NESTED]
        texts = list(forms.texts(constraints))
        each, checked = _wheres(many, texts[: plan.wheres], match(many, shipped))
    found, _ = digests["match"]
    rows = {
        "match, as many events as the joins": (plan.join_events, ours["same"]),
        "match": (plan.where_events, ours["many"]),
        HASHED: (plan.join_events, ours[HASHED]),
        NESTED: (plan.join_events, theirs),
        f"a WHERE each ({plan.wheres} timed, times {plan.join_filters / plan.wheres:g})": (
            plan.where_events,
            each * plan.join_filters,
        ),
    }
    title = f"W2, {plan.join_filters:,} filters, on all cores"
    result = Result("b", title)
    best = plan.where_events / ours["many"]
    for what, (events, seconds) in rows.items():
        rate = events / seconds
        result.rows.append({"way": what, "events": events, "s": seconds, "events/s": rate, "match is x": best / rate})
    result.ratios += [
        Ratio(f"times as fast as a {NESTED}", best / (plan.join_events / theirs), AIM),
        Ratio("times as fast as a WHERE for each subscription", each * plan.join_filters / ours["many"], AIM),
        Ratio(
            f"times as fast as a {HASHED}, where all subscriptions name one", best / (plan.join_events / ours[HASHED])
        ),
    ]
    result.notes += [
        f"the joins and match give the same {found:,} pairs (count and digest); the WHEREs as many rows as match, "
        f"{checked:,}",
        "the WHEREs were run one after the other over cached events, and their time taken to grow with their number",
    ]
    return result


def _digest(pairs: DataFrame) -> tuple[int, int]:
    """How many pairs, and a sum of their hashes, which does not depend on their order."""
    hashed = F.xxhash64("id", "subscription").cast("decimal(38,0)")
    [row] = pairs.select(F.count("*"), F.sum(hashed)).collect()
    return int(row[0]), int(row[1] or 0)


def _check_plan(frame: DataFrame, operator: str) -> None:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    if operator not in plan:
        raise AssertionError(f"Spark does not run this as a {operator}:\n{plan}")


def _wheres(events: DataFrame, texts: list[str], matches: DataFrame) -> tuple[float, int]:
    """Seconds for one WHERE, and how many rows all of them gave, which must be what `match` gives."""
    data.to_nowhere(events.where(texts[0]))
    begin = time.perf_counter()
    for text in texts:
        data.to_nowhere(events.where(text))
    each = (time.perf_counter() - begin) / len(texts)
    names = [f"s{number}" for number in range(len(texts))]
    found = {
        row[0]: row[1]
        for row in matches.where(F.col("subscription").isin(names)).groupBy("subscription").count().collect()
    }
    for name, text in zip(names, texts, strict=True):
        count = events.where(text).count()
        if count != found.get(name, 0):
            raise ArithmeticError(f"WHERE {text} gives {count:,} events, match {found.get(name, 0):,}")
    return each, sum(found.values())
