"""Turns one side of a meeting, in any form that callers may hand in, into a DataFrame of `id` and `when`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.errors import FilterError, InputError
from vedette.io.subscription_problems import TOLD, BadSubscriptions, SubscriptionProblem, refusal, set_aside
from vedette.io.subscriptions import read_subscriptions
from vedette.meeting.given import Rejects, current_records
from vedette.meeting.inference import AttributeUse, Inference
from vedette.schema.schema import Schema
from vedette.spark.versions import from_arrow, is_frame, to_arrow

ConstraintSource: TypeAlias = "DataFrame | str | os.PathLike[str] | Mapping[str, str] | Iterable[Mapping[str, Any]]"

_PAIRS = "publication string, subscription string"
_log = logging.getLogger("vedette.spark")
RANKED = ", rank int, score double"


def side_of(frame: object, side: str) -> DataFrame:
    """`id` and `when` of a DataFrame; expired rows are left out."""
    if not is_frame(frame):
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


def frame_of(given: ConstraintSource, spark: SparkSession, *, strict: bool = False) -> DataFrame:
    """The subscriptions, in any form, as a DataFrame.

    Invalid records are logged and left out, or, if it is strict, an error; texts are parsed later.
    """
    if is_frame(given):
        if given.isStreaming:
            raise InputError(
                "the DataFrame of subscriptions is a stream\n"
                "Hint: read it as a table; vedette.spark.meeting.versions takes changed ones between micro-batches"
            )
        return side_of(given, "subscription")
    if isinstance(given, str | os.PathLike):
        rows = read_subscriptions(given)
        records = list(rows)
        texts: dict[str, str] = {}
        problems: list[SubscriptionProblem] = []
        for record in records:
            error = refusal(record, patterns=True, dialects=False)
            if error is None:
                texts[record.id] = record.when
            else:
                problems.append(SubscriptionProblem.of_error(record, error))
        problems += map(SubscriptionProblem.of_reject, rows.rejects)
        if problems and strict:
            raise BadSubscriptions(rows.name, problems, "nothing was met")
        if problems:
            _log.warning("%s", set_aside(rows.name, problems))
    elif isinstance(given, bytes) or not isinstance(given, Iterable):
        forms = "a DataFrame with `id` and `when`, the path of a file, records, or id -> text"
        raise InputError(f"the subscriptions are a {type(given).__name__}\nHint: hand in {forms}")
    else:
        texts = _texts(given, strict)
    table = pa.table({"id": pa.array(texts.keys(), pa.string()), "when": pa.array(texts.values(), pa.string())})
    return from_arrow(spark, table)


def collected(subscriptions: DataFrame, *, strict: bool = False) -> dict[str, str]:
    """Id -> text, on the driver."""
    table = to_arrow(subscriptions)
    pairs = zip(table.column("id").to_pylist(), table.column("when").to_pylist(), strict=True)
    return _texts(({"id": id_, "when": when} for id_, when in pairs), strict)


def _texts(given: Mapping[str, str] | Iterable[Mapping[str, Any]], strict: bool) -> dict[str, str]:
    rejects: Rejects | None = None if strict else []
    found = current_records(given, "subscription", rejects)
    if rejects:
        told = "\n".join(map(str, rejects[:TOLD]))
        more = f", {TOLD} of which are shown" if len(rejects) > TOLD else ""
        _log.warning("%s\n%s bad subscriptions are set aside%s", told, f"{len(rejects):,}", more)
    return {id_: record.when for id_, record in found.items()}


def empty_pairs(spark: SparkSession, *, ranked: bool) -> DataFrame:
    """A result without pairs."""
    return spark.createDataFrame([], pair_type(ranked))


def pair_type(ranked: bool, *, reasons: bool = False) -> str:
    """The Spark type of the result."""
    return _PAIRS + (RANKED if ranked else "") + (", reason string" if reasons else "")


# ---------------------------------------------------------------- inference where the texts are


def inferred_schema(publications: DataFrame, subscriptions: DataFrame) -> Schema:
    """The schema that the constants of both sides suggest; bad texts are reported by the next step that reads them.

    FilterError if two disagree about the type of an attribute: which of them is right cannot be known.
    """
    found = Inference()
    for side, frame in (("publication", publications), ("subscription", subscriptions)):
        type_ = "path string, use string, is_list boolean, text string, start int, end int, name string"
        for row in sorted(frame.mapInArrow(_hearing(side), type_).collect()):
            found.take([AttributeUse(*row)])
    return found.schema()


def _hearing(side: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def said(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        inference = Inference()
        for batch in batches:
            for id_, text in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if text is None:
                    continue
                try:
                    inference.add(text, f"{side} {id_!r}")
                except FilterError as error:
                    if not inference.disputed:
                        continue
                    raise error.of(f"{side} {id_!r}").with_traceback(None) from None
        rows = [dict(zip(AttributeUse._fields, one, strict=True)) for one in inference.said]
        if rows:
            fields = [("path", pa.string()), ("use", pa.string()), ("is_list", pa.bool_()), ("text", pa.string())]
            fields += [("start", pa.int32()), ("end", pa.int32()), ("name", pa.string())]
            yield pa.RecordBatch.from_pylist(rows, pa.schema(fields))

    return said
