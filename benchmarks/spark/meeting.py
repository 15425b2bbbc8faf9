"""(f) Meeting beside the join that a Spark user would write: ranges of three attributes on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from vedette.schema.schema import Schema
from vedette.spark.meeting.facts import facts_of
from vedette.spark.meeting.join import conditions, encoded, joined
from vedette.spark.meeting.meet import meet, plan_of

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
    made: dict[str, object] = {"id": [f"{'ps'[seed % 2]}{number}" for number in range(count)]}
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
        seconds = {way: _once(made) for way, made in (("join", sides.joined), ("nested", sides.nested))}
        if seconds["join"][1:] != seconds["nested"][1:]:
            raise ArithmeticError(f"the answers differ: {seconds}")
        for way, name in (("join", "join by cells, rows in memory"), ("nested", f"{NESTED}, rows in memory")):
            took, pairs, _ = seconds[way]
            result.rows.append({"way": name, "each side": plan.meet_nested, "pairs": pairs, "s": took})
        sides = Sides(spark, plan.meet)
        took, pairs, _ = _once(sides.met)
        result.rows.append({"way": "meet, from texts", "each side": plan.meet, "pairs": pairs, "s": took})
    ratio = seconds["nested"][0] / seconds["join"][0]
    result.ratios.append(Ratio(f"times as fast as a {NESTED}, {plan.meet_nested:,} on each side", ratio, AIM))
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
