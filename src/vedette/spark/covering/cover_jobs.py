"""The jobs of Spark that read subscriptions and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.schema.schema import Schema
from vedette.spark.covering.box_reading import COLUMNS as READ
from vedette.spark.covering.box_reading import reading
from vedette.spark.covering.judge_task import COLUMNS as VERDICTS
from vedette.spark.covering.judge_task import JudgeTask, judging
from vedette.spark.file_job import cores


class CoverJobs:
    """Spark's jobs, as `vedette.spark.covering.cover_rounds` needs them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.parts = cores(spark)

    def read(self, texts: Sequence[str | None], schema: Schema) -> Any:
        """The boxes of texts, in their order."""
        given = pa.table({"number": pa.array(range(len(texts)), pa.int64()), "when": pa.array(texts, pa.string())})
        return self._spark.createDataFrame(given).mapInArrow(reading(schema), READ).toArrow().sort_by("number")

    def judge(self, task: JudgeTask) -> Any:
        """Verdicts on a block, in any order."""
        parts = self._spark.range(0, task.parts, 1, task.parts)
        return parts.mapInArrow(judging(task), VERDICTS).toArrow()
