"""Patterns in a pipeline: followed along with the events of a micro-batch, with outcomes like those of filters.

In a stream, patterns are followed before a micro-batch is handed over, since only so Spark keeps their state: their
outcomes come along with the events, in a column of its own. In a run that is no stream, they are followed over all
events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import PipelineError
from vedette.operators.calling import Calling
from vedette.patterns.forecasts.model import Model
from vedette.spark.engines import Sent
from vedette.spark.lines import BINDINGS, HEAD, TAIL
from vedette.spark.operators.carried import caller
from vedette.spark.patterns.coded import PACKETS
from vedette.spark.patterns.coding import packing
from vedette.spark.patterns.live import Known, announce
from vedette.spark.patterns.rows import EVENT, LATE, MOMENT, RAW, REASON, SUBSCRIBER, TOLD, fields_of, told_schema
from vedette.spark.patterns.streams import follow_packets
from vedette.spark.patterns.tables import follow_table
from vedette.spark.pipeline.checkpoint import BatchVersion
from vedette.spark.pipeline.config import Pipeline
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.routing import named
from vedette.spark.pipeline.sources import Source
from vedette.spark.readers import carried_as
from vedette.spark.spark_session import shards_of
from vedette.spark.worker_check import in_worker

# Of outcomes, where patterns are followed or operators are called.
PATTERN_COLUMNS: Final = ("steps", "bindings", "probability", "within")
LATE_REASON: Final = "it came too late for patterns"
_KNOWN: Final = 200  # predicates and evaluations that are sent to workers, with every task
_COLUMN: Final = "vedette told"  # beside the columns of a source


def following_of(pipeline: Pipeline, spark: SparkSession, shards: int | None) -> ShardOptions | None:
    """How a pipeline follows patterns; None if it does not."""
    config = pipeline.patterns
    return None if config is None else ShardOptions(shards or shards_of(spark), config.cap, config.learn)


def model_of(pipeline: Pipeline) -> Model | None:
    """The model of a pipeline's forecasts, if it has one."""
    place = None if pipeline.patterns is None else pipeline.patterns.model
    if place is None:
        return None
    path = local(place)
    if path is None:
        raise PipelineError(f"the model {place} is not on this machine\nHint: copy it here")
    return Model.load(Path(path))


def with_pattern_columns(outcomes: DataFrame, version: str, keep: Sequence[str]) -> DataFrame:
    """Outcomes of filters, with the columns of patterns, and the version of all subscriptions.

    Where operators are called, the column of bindings is there already.
    """
    types = {field.name: field.dataType for field in fields_of(TOLD)}
    beside = {name: F.lit(None).cast(types[name]).alias(name) for name in PATTERN_COLUMNS}
    columns = [named(name) for name in outcomes.columns]
    rest = len(columns) - len(keep) - len(TAIL)
    beside |= dict(zip((BINDINGS,), columns[len(HEAD) : rest], strict=False))
    same = F.when(columns[len(HEAD) - 1].isNotNull(), F.lit(version)).alias(HEAD[-1])
    return outcomes.select(*columns[: len(HEAD) - 1], same, *beside.values(), *columns[rest:])


def _sent(use: BatchVersion, spark: SparkSession) -> Sent:
    if use.options is None:
        raise ValueError("no patterns")
    return Sent.of(use.engine, spark, use.options)


class PatternStage:
    """Follows the patterns of a pipeline."""

    def __init__(self, pipeline: Pipeline, source: Source, calling: Calling | None = None) -> None:
        self._source, self._keep = source, tuple(pipeline.keep)
        self._calling = calling  # of the operators that steps call
        config = pipeline.patterns
        wait = None if config is None else config.lateness
        self._lateness = 0 if wait is None else wait.milliseconds * 1000

    # ------------------------------------------------------------ streams

    def beside(self, events: DataFrame) -> DataFrame:
        """A stream of events and of outcomes of patterns: each row is one or the other."""
        raw, task, kept = self._source.raw(events, self._keep, whole=self._calling is not None)
        if self._calling is not None:
            task = replace(task, caller=caller(self._calling, events.sparkSession))
        told = told_schema(kept)
        found = follow_packets(raw.mapInArrow(in_worker(packing(task)), PACKETS), None, self._lateness, told)
        nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in events.schema]
        return events.select("*", F.lit(None).cast(told).alias(_COLUMN)).unionAll(
            found.select(*nothing, F.struct("*").alias(_COLUMN))
        )

    @staticmethod
    def parted(batch: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Separate a micro-batch of such a stream: its events, and the outcomes of patterns."""
        told = named(_COLUMN)
        return batch.where(told.isNull()).drop(_COLUMN), batch.where(told.isNotNull()).select(f"`{_COLUMN}`.*")

    def say(self, use: BatchVersion, spark: SparkSession) -> None:
        """Send the workers of this micro-batch its engine, and the statistics of operators."""
        known = None
        if self._calling is not None and use.engine.called_on_the_way:
            current = caller(self._calling, spark)
            known = Known(current.stamp, self._calling.known().most(_KNOWN).plain())
        announce(_sent(use, spark), known, spark)

    # ------------------------------------------------------------ no stream

    def over(self, events: DataFrame, use: BatchVersion) -> DataFrame:
        """Rows of pattern outcomes for all events, where there is no stream."""
        raw, task, kept = self._source.raw(events, self._keep, whole=self._calling is not None)
        return follow_table(raw, replace(task, sent=_sent(use, events.sparkSession)), kept)

    # ------------------------------------------------------------ outcomes

    def outcomes(self, told: DataFrame, version: str) -> DataFrame:
        """Rows of patterns as outcomes: matches and predictions, and what was set aside or came late."""
        late = F.col("kind") == F.lit(LATE)
        aside = late | F.col(REASON).isNotNull()
        when = F.date_format(F.timestamp_micros(F.col(MOMENT)), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
        reason = F.when(late, F.concat(F.lit(f"{LATE_REASON}: its time is "), when)).otherwise(F.col(REASON))

        def unless_aside(column: Column, name: str) -> Column:
            return F.when(~aside, column).alias(name)

        return told.select(
            unless_aside(F.col(EVENT), HEAD[0]),
            unless_aside(F.col("subscription"), HEAD[1]),
            unless_aside(F.col(SUBSCRIBER), HEAD[2]),
            unless_aside(F.col("kind"), HEAD[3]),
            unless_aside(F.lit(version), HEAD[4]),
            *PATTERN_COLUMNS,
            *(F.col(carried_as(number)).alias(name) for number, name in enumerate(self._keep)),
            F.when(aside, F.col(EVENT)).alias(TAIL[0]),
            F.when(aside, reason).alias(TAIL[1]),
            F.when(aside, F.col(RAW)).alias(TAIL[2]),
        )
