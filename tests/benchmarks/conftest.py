"""The Spark session that the tests of Spark share."""

from tests.spark.conftest import spark

__all__ = ["spark"]
