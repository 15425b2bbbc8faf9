"""Matching on Spark: DataFrame in, DataFrame out; and pipelines from a file. Thin hosts of the packages below."""

from __future__ import annotations

import importlib.util

from vedette.errors import NotInstalled

if importlib.util.find_spec("pyspark") is None:
    raise NotInstalled("vedette.spark needs PySpark, which is not installed\nHint: pip install 'vedette[spark]'")

# Imported at once, since their modules have the same names: the function is what the package shows.
from vedette.spark.match import match
from vedette.spark.session import session

__all__ = [
    "match",
    "session",
]
