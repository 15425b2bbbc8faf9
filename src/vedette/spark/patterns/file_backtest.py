"""Patterns over a history: what they find is tallied in the workers, and only tallies come to the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.files.backtest_hearing import take_patterns
from vedette.files.backtest_tally import Tally, Told
from vedette.spark.patterns.file_events import coded_events
from vedette.spark.patterns.file_following import Ended, How, followed, hear, plainly
from vedette.spark.patterns.file_survey import Placed
from vedette.spark.patterns.tasks import Task

_COLUMNS = "tally binary, shed bigint, learnt bigint"


class Tallied(NamedTuple):
    """What patterns would have reported, partial matches given up, and rows that forecasts have learnt from."""

    tally: Tally
    shed: int
    learnt: int


def tally_patterns(
    spark: SparkSession, placed: Sequence[Placed], task: Task, how: How, ids: Sequence[str], samples: int
) -> Tallied:
    """The tally of all events; `ids` are those of all subscriptions, filters among them."""
    host = plainly(partial(_tallies, task=task, how=how, ids=tuple(ids), samples=samples))
    found = followed(coded_events(spark, placed, task, how.filters), task, host, _COLUMNS).toArrow()
    tallies = [Tally.from_bytes(data) for data in found.column("tally").to_pylist()]
    return Tallied(
        reduce(add, tallies, Tally(ids, samples)),
        sum(found.column("shed").to_pylist()),
        sum(found.column("learnt").to_pylist()),
    )


def _tallies(
    batches: Iterator[pa.RecordBatch], task: Task, how: How, ids: tuple[str, ...], samples: int
) -> Iterator[pa.RecordBatch]:
    tally, places = Tally(ids, samples), {id_: place for place, id_ in enumerate(ids)}
    shed = learnt = ended = 0
    for one in hear(batches, task, how):
        if isinstance(one, Ended):
            tally.score(one.scores)
            shed, learnt, ended = shed + one.shed, learnt + (one.learnt or 0), ended + 1
        else:
            subscriptions = np.array([places[id_] for id_ in one.subscription], np.int64)
            take_patterns(tally, one.kind, Told(subscriptions, one.time, one.row), one.said)
    if ended:
        yield pa.RecordBatch.from_pylist([{"tally": tally.to_bytes(), "shed": shed, "learnt": learnt}])
