"""(g) Covering in rounds of Spark's workers beside one process, which takes one subscription after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks import forms
from benchmarks.covering_workloads import COVERING
from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.spent import spent
from vedette.covering.cover_judge import CoverSettings
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.filters.subscription_set import schema_of
from vedette.schema.schema import Schema

WORKLOADS = ("few", "stock", "apart")


def measure(plan: Plan) -> Result:
    """Both at every size, one after the other; before that Spark has had a set that counts for nothing."""
    from vedette.spark.covering.cover import CoverJobs
    from vedette.spark.covering.cover_rounds import CoverRounds

    result = Result("g", f"covering of {', '.join(f'{size:,}' for size in plan.cover)} subscriptions, workers warm")
    with data.started() as spark:
        jobs = CoverJobs(spark)

        def rounds(ids: Sequence[str], texts: Sequence[str], schema: Schema) -> tuple[list[Any], int]:
            made = CoverRounds(jobs, CoveringSet(schema), schema, CoverSettings())
            return list(made.answers(ids, texts)), made.judged_again

        rounds(*_subscriptions("stock", plan.cover_warm_up))
        for name in WORKLOADS:
            for size in plan.cover:
                given = _subscriptions(name, size)
                (found, again), on_spark, spark_cpu = _timed(partial(lambda given: rounds(*given), given))
                wanted, here, here_cpu = _timed(partial(lambda given: _one_by_one(*given), given))
                if found != wanted:
                    raise ArithmeticError(f"{name}: Spark finds other answers")
                covered = sum(answer.covered for answer in wanted)
                result.rows.append(
                    {
                        "workload": name,
                        "subscriptions": size,
                        "covered": covered,
                        "one process s": here,
                        "Spark s": on_spark,
                        "one process CPU s": here_cpu,
                        "Spark CPU s": spark_cpu,
                        "judged again": again,
                    }
                )
                result.ratios.append(Ratio(f"{name}, {size:,}: Spark, times as fast as one process", here / on_spark))
        result.notes.append(f"Spark has {jobs.parts} cores")
    return result


def _subscriptions(name: str, size: int) -> tuple[list[str], list[str], Schema]:
    constraints = COVERING[name].subscriptions(size)
    texts = list(forms.texts(constraints))
    return [f"s{number}" for number in range(size)], texts, schema_of(forms.schema(constraints.attributes))


def _one_by_one(ids: Sequence[str], texts: Sequence[str], schema: Schema) -> list[CoverAnswer]:
    found = CoveringSet(schema)
    return [found.add(id_, text) for id_, text in zip(ids, texts, strict=True)]


def _timed(way: Callable[[], Any]) -> tuple[Any, float, float]:
    """What comes of it, and the seconds by the clock and of all processors."""
    begin, before = time.perf_counter(), spent()
    made = way()
    return made, time.perf_counter() - begin, spent() - before
