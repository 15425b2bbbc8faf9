"""How Spark reads what is a table to it: files, of which a stream takes some at a time, and databases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from vedette.errors import PipelineError
from vedette.spark.pipeline.sinks.database import driver_of


def file_reader(spark: SparkSession, max_files: int | None, *, streaming: bool) -> Any:
    """What reads files: all of them, or in a stream at most so many in one micro-batch."""
    if not streaming:
        return spark.read
    reader = spark.readStream
    return reader if max_files is None else reader.option("maxFilesPerTrigger", max_files)


def stored_columns(spark: SparkSession, path: str) -> StructType:
    """The columns of Parquet files; PipelineError if there are none."""
    try:
        return spark.read.parquet(path).schema
    except AnalysisException as error:
        raise PipelineError(
            f"{path} does not say which columns its events have: {str(error).splitlines()[0]}\n"
            "Hint: a stream of Parquet files begins with at least one file there"
        ) from None


def read_jdbc(spark: SparkSession, options: Mapping[str, Any]) -> DataFrame:
    """A table of a database, or what a query finds; unless a driver is named, by the one that the address suggests."""
    suggested = driver_of(options["url"])
    drivers = {} if suggested is None else {"driver": suggested}
    return spark.read.format("jdbc").options(**{**drivers, **options}).load()
