"""Covering on Spark: subscriptions in, a row for each out that says which others make it redundant."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from vedette.covering.cover_judge import BUDGET, CoverSettings, Method
from vedette.covering.cover_set import CoverAnswer, CoveringSet, CoverInput
from vedette.errors import FilterError, InputError, NotSupported
from vedette.filters.subscription_set import schema_of
from vedette.io.cover_records import cover_input_of, table_of
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem, set_aside
from vedette.io.subscription_rows import SourceLine, SubscriptionRecord, SubscriptionRows
from vedette.io.subscriptions import columns_of, read_subscriptions, record_of
from vedette.schema.schema import Schema
from vedette.spark.covering.box_reading import COLUMNS as READ
from vedette.spark.covering.box_reading import reading
from vedette.spark.covering.cover_rounds import CoverRounds
from vedette.spark.covering.judge_task import COLUMNS as VERDICTS
from vedette.spark.covering.judge_task import JudgeTask, judging
from vedette.spark.file_job import cores
from vedette.spark.spark_session import session
from vedette.spark.versions import from_arrow, is_frame, to_arrow

_log = logging.getLogger("vedette.spark")

CoverSource: TypeAlias = "DataFrame | str | os.PathLike[str] | Mapping[str, str] | Iterable[Mapping[str, Any]]"


def cover(
    subscriptions: CoverSource,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    method: Method = "auto",
    error: float = 1e-6,
    budget: int = BUDGET,
    witnesses: bool = False,
    order: str = "id",
    spark: SparkSession | None = None,
    strict: bool = False,
) -> DataFrame:
    """Find which subscriptions others make redundant, with the same answers as `vedette.CoveringSet` one by one.

    `subscriptions` are a DataFrame with `id` and `when`, which come in the order of the column `order`, the path of a
    file, records, or id -> text. The result has a row for each, in any order: `subscription`, `covered`, `by`,
    `method`, `certain`, `error` (of sampling), and `witness`, a JSON object, if `witnesses`.

    What is wrong is logged with its reason and left out, unless all of it is; where it is `strict`, that is an error.

    The answers are found before this returns. Workers read all texts and judge them; the driver holds all of them, and
    decides in which order they count.
    """
    settings = CoverSettings(method, error, budget)
    known = schema_of(schema)
    found = CoveringSet(known, method=method, error=error, budget=budget, witnesses=witnesses)
    rows = _rows(subscriptions, order)
    records = list(rows)
    running = spark or (subscriptions.sparkSession if is_frame(subscriptions) else session())
    answers: list[CoverAnswer] = []
    problems = list(map(SubscriptionProblem.of_reject, rows.rejects))
    for record, answer in zip(
        records, decided(records, CoverRounds(CoverJobs(running), found, known, settings)), strict=True
    ):
        if isinstance(answer, CoverAnswer):
            answers.append(answer)
        else:
            problems.append(SubscriptionProblem.of_error(record, answer))
    if problems and (strict or rows.cut_off is not None or not answers):
        raise BadSubscriptions(rows.name, problems, "nothing was decided")
    if problems:
        _log.warning("%s", set_aside(rows.name, problems))
    return from_arrow(running, table_of(answers, witness=witnesses))


def decided(
    records: Sequence[SubscriptionRecord], rounds: CoverRounds
) -> Iterator[CoverAnswer | FilterError | NotSupported]:
    """An answer for every record, in their order, or what is wrong with it."""
    said: list[CoverInput | NotSupported] = [_said(record) for record in records]
    good = [number for number, each in enumerate(said) if not isinstance(each, NotSupported)]
    answers = rounds.answers(
        [records[number].id for number in good], [each for each in said if not isinstance(each, NotSupported)]
    )
    for each in said:
        yield each if isinstance(each, NotSupported) else next(answers)


def _said(record: SubscriptionRecord) -> CoverInput | NotSupported:
    try:
        return cover_input_of(record)
    except NotSupported as error:
        return error


def _rows(given: CoverSource, order: str) -> SubscriptionRows:
    if isinstance(given, str | os.PathLike):
        return read_subscriptions(given)
    if is_frame(given):
        return _numbered("the DataFrame of subscriptions", _frame_rows(given, order))
    if isinstance(given, Mapping):
        return _numbered("the subscriptions", ({"id": id_, "when": when} for id_, when in given.items()))
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        forms = "a DataFrame with `id` and `when`, the path of a file, records, or id -> text"
        raise InputError(f"the subscriptions are a {type(given).__name__}\nHint: hand in {forms}")
    return _numbered("the subscriptions", given)


def _numbered(name: str, rows: Iterable[Any]) -> SubscriptionRows:
    placed: Iterator[SourceLine] = ((number, row, None) for number, row in enumerate(rows, 1))
    return SubscriptionRows(name, placed, dt.datetime.now(dt.UTC))


def _frame_rows(frame: DataFrame, order: str) -> Iterator[dict[str, Any]]:
    missing = [name for name in ("id", "when", order) if name not in frame.columns]
    if missing:
        raise InputError(
            f"the DataFrame of subscriptions has no column {missing[0]}\n"
            f"Hint: it has the columns {', '.join(frame.columns) or 'none'}; order='…' names the one to go by"
        )
    if frame.isStreaming:
        raise InputError("the DataFrame of subscriptions is a stream\nHint: read it as a table")
    chosen = frame.orderBy(f"`{order}`").select([f"`{name}`" for name in columns_of(frame.columns)])
    for batch in to_arrow(chosen).to_batches():
        yield from map(record_of, batch.to_pylist())


class CoverJobs:
    """Spark's jobs, as `vedette.spark.covering.cover_rounds` needs them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.parts = cores(spark)

    def read(self, texts: Sequence[str | None], schema: Schema) -> Any:
        """The boxes of texts, in their order."""
        given = pa.table({"number": pa.array(range(len(texts)), pa.int64()), "when": pa.array(texts, pa.string())})
        return to_arrow(from_arrow(self._spark, given).mapInArrow(reading(schema), READ)).sort_by("number")

    def judge(self, task: JudgeTask) -> Any:
        """Verdicts on a block, in any order."""
        parts = self._spark.range(0, task.parts, 1, task.parts)
        return to_arrow(parts.mapInArrow(judging(task), VERDICTS))
