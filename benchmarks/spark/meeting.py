"""(f) Meeting beside the join that a Spark user would write: ranges of three attributes on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.timing import in_turns
from vedette.schema.schema import Schema
from vedette.spark.meeting.join import conditions, encoded, joined
from vedette.spark.meeting.meet import meet, plan_of
from vedette.spark.meeting.side_facts import facts_of

AIM = 50.0
ATTRIBUTES = ("x", "y", "z")
SCHEMA = dict.fromkeys(ATTRIBUTES, "int")
_SPAN = 1_000_000  # of values
_MET = 1e-4  # of all pairs at 100,000 a side: about a million
_REFERENCE = 100_000
NESTED = "nested-loop join"


def bounds(count: int, seed: int) -> pa.Table:
    """Ranges, drawn so that a publication meets about ten subscriptions, however many there are."""
    random = np.random.default_rng(seed)
    # Two ranges meet on an attribute with the mean sum of their widths, as a share of all values.
    share = (_MET * _REFERENCE / count) ** (1 / len(ATTRIBUTES))
    made: dict[str, Any] = {"id": [f"{'ps'[seed % 2]}{number}" for number in range(count)]}
    for attribute in ATTRIBUTES:
        least = random.integers(0, _SPAN, count)
        made[f"least_{attribute}"] = least
        made[f"most_{attribute}"] = least + random.integers(0, max(1, int(_SPAN * share)), count)
    return pa.table(made)


def texts(table: pa.Table) -> pa.Table:
    """The same as constraints."""
    columns = [table.column(f"{end}_{a}").to_pylist() for a in ATTRIBUTES for end in ("least", "most")]
    form = " and ".join(f"{a} between {{}} and {{}}" for a in ATTRIBUTES)
    return pa.table({"id": table.column("id"), "when": [form.format(*row) for row in zip(*columns, strict=True)]})


def measure(plan: Plan) -> Result:
    """Seconds from texts to pairs; and of the join alone, beside a nested loop over the same rows in memory."""
    result = Result("f", "meeting: ranges of three attributes on both sides, on all cores")
    with data.started() as spark:
        Sides(spark, plan.meet_warm_up).warm_up()
        sides = Sides(spark, plan.meet_nested)
        first, nested = _once(sides.joined), _once(sides.nested)
        if first[1:] != nested[1:]:
            raise ArithmeticError(f"the answers differ: {first[1:]} and {nested[1:]}")
        again = in_turns({"join": lambda: _once(sides.joined)}, plan.repetitions)["join"]
        texts_first = _once(Sides(spark, plan.meet).met)
    for way, count, pairs, took in (
        ("join by cells, rows in memory, the first time", plan.meet_nested, first[1], first[0]),
        ("join by cells, rows in memory", plan.meet_nested, first[1], again),
        (f"{NESTED}, rows in memory", plan.meet_nested, nested[1], nested[0]),
        ("meet, from texts", plan.meet, texts_first[1], texts_first[0]),
    ):
        result.rows.append({"way": way, "each side": count, "pairs": pairs, "s": took})
    than = f"times as fast as a {NESTED}, {plan.meet_nested:,} on each side"
    result.ratios += [Ratio(than, nested[0] / again, AIM), Ratio(f"the first time: {than}", nested[0] / first[0])]
    if plan.meet == plan.meet_nested:
        result.ratios.append(Ratio(f"texts read twice and all: {than}", nested[0] / texts_first[0]))
    result.notes.append("both joins have the same rows, in memory, and the same pairs (count and digest)")
    return result


class Sides:
    """Constraints of both sides, as texts and as the rows that are joined."""

    def __init__(self, spark: SparkSession, count: int) -> None:
        self._schema = Schema.of(SCHEMA)
        self._texts = [spark.createDataFrame(texts(bounds(count, seed))).repartition(4).cache() for seed in (0, 1)]
        names = ("publication", "subscription")
        facts = [facts_of(side, self._schema, name) for side, name in zip(self._texts, names, strict=True)]
        made = plan_of("publication", (facts[0], facts[1]), self._schema)
        if made is None:
            raise ArithmeticError("nothing can meet")
        self._plan = made
        self._rows = [encoded(side, made, self._schema, number).cache() for number, side in enumerate(self._texts)]
        for frame in self._rows:
            frame.count()

    def warm_up(self) -> None:
        """Start workers, and compile."""
        for way in (self.met, self.joined, self.nested):
            _once(way)

    def met(self) -> DataFrame:
        """All of it."""
        return meet(self._texts[0], self._texts[1], schema=self._schema)

    def joined(self) -> DataFrame:
        """The rows by their cells."""
        return joined(self._rows[0], self._rows[1], self._plan)

    def nested(self) -> DataFrame:
        """The rows by nothing but what has to hold."""
        pair = self._rows[0].join(self._rows[1], F.expr(" AND ".join(conditions(self._plan))))
        return pair.select(F.col("p_id").alias("publication"), F.col("s_id").alias("subscription"))


def _once(made: Callable[[], DataFrame]) -> tuple[float, int, int]:
    """Seconds to make all pairs, planning and all; how many they are, and a digest of them."""
    begin = time.perf_counter()
    digest = F.bit_xor(F.xxhash64("publication", "subscription"))
    [row] = made().agg(F.count("*"), F.coalesce(digest, F.lit(0))).collect()
    return time.perf_counter() - begin, int(row[0]), int(row[1])
