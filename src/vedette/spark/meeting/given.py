"""What may be handed in as a side of a meeting on Spark, as a DataFrame of `id` and `when`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.errors import FilterError, InputError
from vedette.files.problems import BadSubscriptions, Problem, refusal
from vedette.files.subscriptions import read_subscriptions
from vedette.meeting.given import texts_of
from vedette.meeting.inference import Inference, Said
from vedette.schema.schema import Schema

Given: TypeAlias = "DataFrame | str | os.PathLike[str] | Mapping[str, str] | Iterable[Mapping[str, Any]]"

_PAIRS = "publication string, subscription string"
RANKED = ", rank int, score double"


def side_of(frame: object, side: str) -> DataFrame:
    """`id` and `when` of a DataFrame; what has expired is left out."""
    if not isinstance(frame, DataFrame):
        name = type(frame).__name__
        raise InputError(f"the {side}s are a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    missing = [name for name in ("id", "when") if name not in frame.columns]
    if missing:
        raise InputError(
            f"the DataFrame of {side}s has no column {' and no column '.join(missing)}\n"
            f"Hint: it has the columns {', '.join(frame.columns) or 'none'}; rename them to id and when"
        )
    if "expires" in frame.columns:
        expires = F.col("`expires`").cast("timestamp")
        frame = frame.where(expires.isNull() | (expires > F.current_timestamp()))
    return frame.select(F.col("`id`").cast("string").alias("id"), F.col("`when`").cast("string").alias("when"))


def frame_of(given: Given, spark: SparkSession) -> DataFrame:
    """The subscriptions, however they were handed in."""
    if isinstance(given, DataFrame):
        if given.isStreaming:
            raise InputError(
                "the DataFrame of subscriptions is a stream\n"
                "Hint: read it as a table; vedette.spark.meeting.versions takes changed ones between micro-batches"
            )
        return side_of(given, "subscription")
    if isinstance(given, str | os.PathLike):
        rows = read_subscriptions(given)
        records = list(rows)
        texts = {record.id: record.when for record in records}
        problems = [
            Problem.of_error(record, error)
            for record in records
            if (error := refusal(record, patterns=True, dialects=False)) is not None
        ]
        problems += map(Problem.of_reject, rows.rejects)
        if problems:
            raise BadSubscriptions(rows.name, problems, "nothing was met")
    elif isinstance(given, bytes) or not isinstance(given, Iterable):
        forms = "a DataFrame with `id` and `when`, the path of a file, records, or id -> text"
        raise InputError(f"the subscriptions are a {type(given).__name__}\nHint: hand in {forms}")
    else:
        texts = texts_of(given, "subscription")
    return spark.createDataFrame(
        pa.table({"id": pa.array(texts.keys(), pa.string()), "when": pa.array(texts.values(), pa.string())})
    )


def collected(subscriptions: DataFrame) -> dict[str, str]:
    """Id -> text, on the driver."""
    table = subscriptions.toArrow()
    pairs = zip(table.column("id").to_pylist(), table.column("when").to_pylist(), strict=True)
    return texts_of(({"id": id_, "when": when} for id_, when in pairs), "subscription")


def empty_pairs(spark: SparkSession, *, ranked: bool) -> DataFrame:
    """No pair at all."""
    return spark.createDataFrame([], pair_type(ranked))


def pair_type(ranked: bool) -> str:
    """The type of what comes out."""
    return _PAIRS + RANKED if ranked else _PAIRS


# ---------------------------------------------------------------- inference where the texts are


def inferred_schema(publications: DataFrame, subscriptions: DataFrame) -> Schema:
    """The schema that the constants of both sides suggest; bad texts are told by whoever reads them next."""
    found = Inference()
    for side, frame in (("publication", publications), ("subscription", subscriptions)):
        type_ = "path string, use string, is_list boolean, text string, start int, end int, name string"
        for row in sorted(frame.mapInArrow(_hearing(side), type_).collect()):
            found.take([Said(*row)])
    return found.schema()


def _hearing(side: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def said(batches: Iterator[Any]) -> Iterator[Any]:
        inference = Inference()
        for batch in batches:
            for id_, text in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if text is None:
                    continue
                try:
                    inference.add(text, f"{side} {id_!r}")
                except FilterError as error:
                    raise error.of(f"{side} {id_!r}").with_traceback(None) from None
        rows = [dict(zip(Said._fields, one, strict=True)) for one in inference.said]
        if rows:
            fields = [("path", pa.string()), ("use", pa.string()), ("is_list", pa.bool_()), ("text", pa.string())]
            fields += [("start", pa.int32()), ("end", pa.int32()), ("name", pa.string())]
            yield pa.RecordBatch.from_pylist(rows, pa.schema(fields))

    return said
