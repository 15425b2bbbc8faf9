"""A Spark session with settings that suit matching, where none is running yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.shuffle.partitions": "4",
}


def session(
    *, app: str = "vedette", master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """The session that is running, or a new one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    for name, value in {**_DEFAULTS, **(conf or {})}.items():
        builder = builder.config(name, value)
    return builder.master(master or "local[*]").getOrCreate()
