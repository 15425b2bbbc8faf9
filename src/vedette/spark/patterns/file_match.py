"""Patterns over the events of a file: outcomes for the driver, or tallied in the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from vedette.engine.outcomes import OutcomeDetails
from vedette.io.backtest_tally import UNTIMED, BacktestTally
from vedette.io.row_details import TYPES, json_object
from vedette.io.step_tally import take_outcomes
from vedette.spark.engines import Sent
from vedette.spark.patterns.coding import Reading, Step
from vedette.spark.patterns.survey import PieceReader, Placed, frame_of
from vedette.spark.patterns.tables import WHEN, Course, Heard, coded_events, followed, hear
from vedette.spark.versions import to_arrow

_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("event", pa.string()),
        ("subscription", pa.string()),
        ("kind", pa.int8()),
        ("steps", TYPES["steps"]),
        ("bindings", pa.string()),  # in JSON
        ("probability", TYPES["probability"]),
        ("within", TYPES["within"]),
        ("shed", pa.int64()),
    ]
)
_ROWS = (
    "number bigint, event string, subscription string, kind tinyint, steps map<string, string>, bindings string, "
    "probability double, within bigint, shed bigint"
)
_TALLIES = "tally binary, shed bigint, learnt bigint"


class FoundPatterns(NamedTuple):
    """Matches and predictions: rows and names of their events, subscriptions, and all details."""

    row: NDArray[np.int64]
    event: pa.Array
    subscription: pa.Array
    details: OutcomeDetails
    shed: int  # partial matches that were given up


class Tallied(NamedTuple):
    """Tally of patterns, with the partial matches given up, and the rows that forecasts have learnt from."""

    tally: BacktestTally
    shed: int
    learnt: int


def match_patterns(spark: SparkSession, placed: Sequence[Placed], course: Course) -> FoundPatterns:
    """All matches and predictions, those of one event and pattern in their order."""
    found = to_arrow(_followed(spark, placed, course, partial(_rows, course=course), _ROWS))
    shed = pc.sum(found.column("shed")).as_py() or 0
    found = found.filter(pc.is_valid(found.column("number")))
    number, event, subscription, kind, steps, bound, *beyond = (one.combine_chunks() for one in found.columns[:-1])
    bindings = [None if each is None else orjson.loads(each) for each in bound.to_pylist()]
    details = OutcomeDetails(np.arange(len(found)), kind.to_numpy(), steps, bindings, *beyond)
    return FoundPatterns(number.to_numpy(), event, subscription, details, shed)


def tally_patterns(
    spark: SparkSession,
    placed: Sequence[Placed],
    course: Course,
    ids: Sequence[str],
    samples: int,
) -> Tallied:
    """The tally of all events; `ids` are those of all subscriptions, filters among them."""
    tallies = partial(_tallies, course=course, ids=tuple(ids), samples=samples)
    found = to_arrow(_followed(spark, placed, course, tallies, _TALLIES))
    parts = [BacktestTally.from_bytes(data) for data in found.column("tally").to_pylist()]
    shed, learnt = (sum(found.column(name).to_pylist()) for name in ("shed", "learnt"))
    return Tallied(reduce(add, parts, BacktestTally(ids, samples)), shed, learnt)


def reading_of(sent: Sent, *, told: bool = True) -> Reading:
    """How pieces of a file are read; rows that cannot be read were found before."""
    return Reading(PieceReader, sent=sent, in_json=True, told=told)


def _followed(spark: SparkSession, placed: Sequence[Placed], course: Course, host: Step, columns: str) -> DataFrame:
    return followed(coded_events(frame_of(spark, placed), reading_of(course.sent)), course.sent, host, columns)


def _rows(batches: Iterator[pa.RecordBatch], course: Course) -> Iterator[pa.RecordBatch]:
    for one in hear(batches, course):
        details = one.outcomes.in_detail()
        if details is not None:  # as every outcome of a pattern
            told = one.outcomes.pairs()
            bindings = [json_object(each) if each else None for each in details.bindings]
            columns = [
                pa.array(one.outcomes.event),
                told.column("event").combine_chunks(),
                told.column("subscription").combine_chunks(),
                pa.array(details.kind),
                details.steps,
                pa.array(bindings, pa.string()),
                details.probability,
                details.within,
                pa.nulls(len(told), pa.int64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
        if one.events is None:
            yield pa.RecordBatch.from_pylist([{"shed": one.follower.shed}], _SCHEMA)


def _tallies(
    batches: Iterator[pa.RecordBatch], course: Course, ids: tuple[str, ...], samples: int
) -> Iterator[pa.RecordBatch]:
    tally, places = BacktestTally(ids, samples), {id_: place for place, id_ in enumerate(ids)}
    shed = learnt = ended = 0
    for one in hear(batches, course):
        _take(tally, one, places)
        if one.events is None:
            tally.score(dict(one.follower.scores))
            shed, learnt, ended = shed + one.follower.shed, learnt + one.follower.learnt, ended + 1
    if ended:
        yield pa.RecordBatch.from_pylist([{"tally": tally.to_bytes(), "shed": shed, "learnt": learnt}])


def _take(tally: BacktestTally, one: Heard, places: Mapping[str, int]) -> None:
    outcomes = one.outcomes
    if len(outcomes):
        place = np.array([places[id_] for id_ in outcomes.ids.to_pylist()], np.int64)[outcomes.place]
        times = one.follower.find(outcomes).column(WHEN).fill_null(UNTIMED).to_numpy()
        take_outcomes(tally, outcomes, place, times, outcomes.event)
