"""The pipeline file: `load` reads one, or reports every mistake in it at once, each with its line.

The models are in `models.py` (the whole), `source_config.py` and `sink_config.py`, and are all to be had from here.
Nothing of this needs Spark, so that a file is checked in a moment.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from pydantic import ValidationError

from vedette.errors import PipelineError
from vedette.spark.pipeline.durations import Duration
from vedette.spark.pipeline.models import Pipeline, SparkConfig, SubscriptionsConfig
from vedette.spark.pipeline.sink_config import (
    SINKS,
    ConsoleSink,
    JdbcSink,
    JsonlSink,
    KafkaSink,
    ParquetSink,
    SinkConfig,
    WebhookSink,
)
from vedette.spark.pipeline.source_config import (
    LINES,
    SOURCES,
    TABLES,
    CsvSource,
    DeltaSource,
    JdbcPartition,
    JdbcSource,
    JsonlSource,
    KafkaSource,
    ParquetSource,
    RateSource,
    SourceConfig,
)

__all__ = [
    "LINES",
    "SINKS",
    "SOURCES",
    "TABLES",
    "ConsoleSink",
    "CsvSource",
    "DeltaSource",
    "Duration",
    "JdbcPartition",
    "JdbcSink",
    "JdbcSource",
    "JsonlSink",
    "JsonlSource",
    "KafkaSink",
    "KafkaSource",
    "ParquetSink",
    "ParquetSource",
    "Pipeline",
    "RateSource",
    "SinkConfig",
    "SourceConfig",
    "SparkConfig",
    "SubscriptionsConfig",
    "WebhookSink",
    "load",
]


def load(path: str | os.PathLike[str]) -> Pipeline:
    """The pipeline of a file; PipelineError names every mistake in it and in the files it names."""
    file = Path(path)
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    raw.setdefault("name", re.sub(r"[^A-Za-z0-9_.-]+", "-", file.stem)[:64])
    try:
        return Pipeline.model_validate(raw, context={"folder": file.resolve().parent})
    except ValidationError as error:
        raise PipelineError(str(error)) from None
