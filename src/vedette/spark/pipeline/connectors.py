"""Packages of Spark's connectors for Kafka and Delta, in the versions for this Spark."""

from __future__ import annotations

from typing import Final

import pyspark

from vedette.spark.pipeline.kinds import Connector

_SCALA = "2.13"
KAFKA: Final = Connector("spark-sql-kafka", f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:{pyspark.__version__}")
DELTA: Final = Connector(
    "delta-spark",
    f"io.delta:delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_{_SCALA}:4.4.0",
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
)
