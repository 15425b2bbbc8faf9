"""Matching on Spark: DataFrame in, DataFrame out; and pipelines from a file. Thin hosts of the packages below.

Everything is imported when it is first used: a worker of Spark loads what matches events, and nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from vedette.errors import NotInstalled
from vedette.spark.version_range import check_version, installed_version

if importlib.util.find_spec("pyspark") is None:
    raise NotInstalled("vedette.spark needs PySpark, which is not installed\nHint: pip install 'vedette[spark]'")

check_version(installed_version())

if TYPE_CHECKING:
    from vedette.operators.calling import Calling
    from vedette.spark.covering.cover import cover
    from vedette.spark.dataframe_match import match
    from vedette.spark.dataframe_training import train
    from vedette.spark.meeting.meet import meet
    from vedette.spark.pipeline.config import load
    from vedette.spark.pipeline.run import run
    from vedette.spark.spark_session import session
    from vedette.spark.sql import register

_PLACES = {
    "Calling": "vedette.operators.calling",
    "cover": "vedette.spark.covering.cover",
    "load": "vedette.spark.pipeline.config",
    "match": "vedette.spark.dataframe_match",
    "meet": "vedette.spark.meeting.meet",
    "register": "vedette.spark.sql",
    "run": "vedette.spark.pipeline.run",
    "session": "vedette.spark.spark_session",
    "train": "vedette.spark.dataframe_training",
}

__all__ = [
    "Calling",
    "cover",
    "load",
    "match",
    "meet",
    "register",
    "run",
    "session",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'vedette.spark' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
