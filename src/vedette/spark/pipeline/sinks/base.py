"""The interface of sinks, which take the notifications of one micro-batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pyspark.sql import DataFrame, SparkSession

from vedette.spark.pipeline.job_descriptions import description

Delivery = Literal["exactly once", "at least once"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Identifies a micro-batch of a pipeline, so that a sink recognises one that it has written before."""

    pipeline: str
    number: int | None  # of the micro-batch; None: all there is, in one run
    checkpoint: str = ""  # the stream's own name of itself: batch 3 of another stream is another batch

    def doing(self, what: str) -> str:
        """The description on Spark's pages of a job for this batch."""
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
        """Raise an error now that would fail the first batch, before anything is read or matched."""

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Write the rows of one batch: notifications, or rows of `routing.rejected`."""
