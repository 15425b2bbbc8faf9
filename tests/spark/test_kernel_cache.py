"""Workers of Spark have a folder for compiled kernels that is theirs alone, where the machine has no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def test_workers_know_a_safe_folder(spark: SparkSession) -> None:
    def look(_: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from vedette.kernels.kernel_cache import spark_folder

        yield pa.RecordBatch.from_pydict({"folder": [str(spark_folder())]})

    folders = {row.folder for row in spark.range(2, numPartitions=2).mapInArrow(look, "folder string").collect()}
    local = Path(spark.conf.get("spark.local.dir", "") or "")
    assert len(folders) == 1
    assert local in Path(folders.pop()).parents
