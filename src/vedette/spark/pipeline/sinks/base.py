"""What a sink is: a place that takes the notifications of one micro-batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

from pyspark.sql import DataFrame, SparkSession

from vedette.spark.pipeline.config import (
    ConsoleSink,
    JdbcSink,
    JsonlSink,
    KafkaSink,
    ParquetSink,
    SinkConfig,
    WebhookSink,
)
from vedette.spark.pipeline.jobs import description

Delivery = Literal["exactly once", "at least once"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Which part of which run is written: what makes it possible to know a batch that was written before."""

    pipeline: str
    number: int | None  # of the micro-batch; None: all there is, in one run
    checkpoint: str = ""  # the stream's own name of itself: batch 3 of another stream is another batch

    def doing(self, what: str) -> str:
        """How Spark's pages describe a job that does this for the batch."""
        return description(self.pipeline, self.number, what)

    def __str__(self) -> str:
        return "the run" if self.number is None else f"batch {self.number}"


class Sink(Protocol):
    """Takes batches. A batch that comes again after a crash has the same rows and the same number.

    `write` returns when all rows are where they should be, and raises if any is not. With "exactly once" a batch that
    comes again changes nothing; with "at least once" its rows are sent again, with the ids they had.
    """

    @property
    def name(self) -> str: ...
    @property
    def delivery(self) -> Delivery: ...
    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Raise now what would be in the way of the first batch, before anything is read or matched."""

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Take the rows of one batch: notifications, or what `routing.rejected` gives."""


def sink_of(config: SinkConfig, *, quiet: bool = False) -> Sink:
    """The sink that a pipeline file describes; each kind is loaded when it is used."""
    name = config.name or config.type
    match config:
        case ParquetSink() | JsonlSink():
            from vedette.spark.pipeline.sinks.files import FolderSink

            return FolderSink(name, config.path, format=config.type, replace=config.if_exists == "replace")
        case ConsoleSink():
            from vedette.spark.pipeline.sinks.console import TerminalSink

            return TerminalSink(name, rows=config.rows, quiet=quiet)
        case KafkaSink():
            from vedette.spark.pipeline.sinks.kafka import TopicSink

            return TopicSink.of(name, config)
        case JdbcSink():
            from vedette.spark.pipeline.sinks.jdbc import TableSink

            return TableSink.of(name, config)
        case WebhookSink():
            from vedette.spark.pipeline.sinks.webhook import RequestSink

            return RequestSink.of(name, config)
        case _:
            assert_never(config)
