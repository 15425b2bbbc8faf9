"""Patterns in a pipeline: what is told of them beside the events of a micro-batch, and as outcomes.

In a stream, patterns are followed before a micro-batch is handed over, since only so Spark keeps their state: what they
tell comes along with the events, in a column of its own. In a run that is no stream, they are followed over all events.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from vedette.errors import PipelineError
from vedette.operators.calling import Calling
from vedette.prediction.model import Model
from vedette.spark.lines import BINDINGS, HEAD, TAIL
from vedette.spark.operators.match import Ready
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.live import PROPERTY, Known, Now, carry
from vedette.spark.patterns.match import TOLD, fields_of, shards_of
from vedette.spark.patterns.packets import PACKETS
from vedette.spark.patterns.raw import EVENT, RAW, REASON, RawTask, packing
from vedette.spark.patterns.raw_tables import MOMENT, SUBSCRIBER, follow_raw, told_schema
from vedette.spark.patterns.shard import LATE
from vedette.spark.patterns.streams import follow_packets
from vedette.spark.patterns.tasks import carried_as
from vedette.spark.pipeline.checkpoint import Use
from vedette.spark.pipeline.config import Pipeline
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.routing import named
from vedette.spark.pipeline.sources import Source
from vedette.spark.snapshots import Shipped
from vedette.spark.versions import Following

# Of outcomes, where patterns are followed or operators are called.
BESIDE: Final = ("steps", "bindings", "probability", "within")
LATE_REASON: Final = "it came too late for patterns"
_KNOWN: Final = 200  # predicates and evaluations of which workers are told: it goes with every task
_COLUMN: Final = "vedette told"  # beside the columns of a source


def following_of(pipeline: Pipeline, spark: SparkSession, shards: int | None) -> Following | None:
    """How a pipeline follows patterns; None if it does not."""
    config = pipeline.patterns
    if config is None:
        return None
    model = None
    if config.model is not None:
        path = local(config.model)
        if path is None:
            raise PipelineError(f"the model {config.model} is not on this machine\nHint: copy it here")
        model = Model.load(Path(path)).to_bytes()
    return Following(shards or shards_of(spark), config.cap, config.learn, model)


def with_beside(outcomes: DataFrame, version: str, *, bound: bool) -> DataFrame:
    """Outcomes of filters, with the columns that patterns fill, and the version of all that is matched.

    Only those of filters that call operators have `bound` something already.
    """
    types = {field.name: field.dataType for field in fields_of(TOLD)}
    beside = {name: F.lit(None).cast(types[name]).alias(name) for name in BESIDE}
    columns = [named(name) for name in outcomes.columns]
    begin = len(HEAD)
    if bound:
        beside[BINDINGS] = columns[begin]
        begin += 1
    same = F.when(columns[len(HEAD) - 1].isNotNull(), F.lit(version)).alias(HEAD[-1])
    return outcomes.select(*columns[: len(HEAD) - 1], same, *beside.values(), *columns[begin:])


class PatternStage:
    """Follows the patterns of a pipeline."""

    def __init__(self, pipeline: Pipeline, source: Source, calling: Calling | None = None) -> None:
        self._source, self._keep = source, tuple(pipeline.keep)
        self._calling = calling  # of the operators that steps call
        self._calls = ("", False)  # which version was looked at last, and whether its steps call some
        config = pipeline.patterns
        wait = None if config is None else config.lateness
        self._lateness = 0 if wait is None else wait.milliseconds * 1000

    # ------------------------------------------------------------ streams

    def beside(self, events: DataFrame) -> DataFrame:
        """A stream of events, and of what patterns tell: each row is one or the other."""
        raw, task, kept = self._raw(events)
        told = told_schema(kept)
        found = follow_packets(raw.mapInArrow(packing(task), PACKETS), None, self._lateness, told)
        nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in events.schema]
        return events.select("*", F.lit(None).cast(told).alias(_COLUMN)).unionAll(
            found.select(*nothing, F.struct("*").alias(_COLUMN))
        )

    @staticmethod
    def parted(batch: DataFrame) -> tuple[DataFrame, DataFrame]:
        """A micro-batch of such a stream: its events, and what patterns tell."""
        told = named(_COLUMN)
        return batch.where(told.isNull()).drop(_COLUMN), batch.where(told.isNotNull()).select(f"`{_COLUMN}`.*")

    def say(self, use: Use, shipped: Shipped, asked: Ready | None, spark: SparkSession) -> None:
        """Tell the workers of this micro-batch which patterns and filters it is done with, and what is known."""
        if use.patterns is None:
            return
        known = None
        if self._calling is not None and self._steps_call(use):
            current = caller(self._calling, spark)
            known = Known(current.stamp, self._calling.known().most(_KNOWN).plain())
        columns = () if asked is None else asked.matcher.columns
        text = Now(carry(use.patterns, spark), shipped, tuple(columns), known).text()
        spark.sparkContext.setLocalProperty(PROPERTY, text)

    def _steps_call(self, use: Use) -> bool:
        if self._calls[0] != use.version:
            self._calls = use.version, use.patterns is not None and use.patterns.calls
        return self._calls[1]

    def _raw(self, events: DataFrame) -> tuple[DataFrame, RawTask, list[DataType]]:
        raw, task, kept = self._source.raw(events, self._keep, whole=self._calling is not None)
        if self._calling is not None:
            task = replace(task, caller=caller(self._calling, events.sparkSession))
        return raw, task, kept

    # ------------------------------------------------------------ no stream

    def over(self, events: DataFrame, use: Use, shipped: Shipped, asked: Ready | None) -> DataFrame:
        """What patterns tell of all events there are."""
        if use.patterns is None:
            raise ValueError("no patterns")
        raw, task, kept = self._raw(events)
        task = replace(task, columns=() if asked is None else tuple(asked.matcher.columns))
        return follow_raw(raw, task, use.patterns, shipped, kept)

    # ------------------------------------------------------------ outcomes

    def outcomes(self, told: DataFrame, version: str) -> DataFrame:
        """What patterns tell, as outcomes: matches and predictions, and what was set aside or came late."""
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
            *BESIDE,
            *(F.col(carried_as(number)).alias(name) for number, name in enumerate(self._keep)),
            F.when(aside, F.col(EVENT)).alias(TAIL[0]),
            F.when(aside, reason).alias(TAIL[1]),
            F.when(aside, F.col(RAW)).alias(TAIL[2]),
        )
