"""What goes wrong in Spark, said in one line to those who did not ask for Spark's own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from vedette.errors import RunError
from vedette.spark.pipeline.failures import explained


@contextmanager
def told_plainly() -> Iterator[None]:
    """RunError instead of what Spark raises."""
    try:
        yield
    except PySparkException as error:
        raise RunError(f"Spark did not get through: {explained(error)}") from error
