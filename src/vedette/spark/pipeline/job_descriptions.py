"""Descriptions of a pipeline's jobs on Spark's own pages: pipeline, batch, what is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"


def description(pipeline: str, number: int | None, doing: str) -> str:
    """One line such as `fraud · batch 12 · write alerts`; a run that is no stream has no number."""
    return " · ".join([pipeline, *([] if number is None else [f"batch {number}"]), doing])


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts inside the context; afterwards the old description is back."""
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        # Spark takes null for "no longer set"; its signature in Python does not say so.
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]
