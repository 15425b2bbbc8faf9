"""Counts rows of each kind as they pass a point of a query plan, without reading them twice."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import orjson
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from vedette.spark.versions import first_by

_PATIENCE_S = 2.0  # for counts of a job that has ended: Spark hands them over a moment later


class PassCounter:
    """Counts rows that pass; the counts are there once a job has run."""

    def __init__(self) -> None:
        self._observation = Observation()

    def on(self, rows: DataFrame, **counts: Column) -> DataFrame:
        """The same rows, with these aggregates computed over them."""
        return rows.observe(self._observation, *(column.alias(name) for name, column in counts.items()))

    def found(self, *, ran: bool) -> dict[str, Any] | None:
        """The counts; None if no job read the rows. `ran`: one surely did."""
        # Asking Spark for the counts waits for a job, for ever if there was none: a batch that had been written
        # before is not read again. So a thread asks, which is left to itself then.
        told: list[dict[str, Any]] = []

        def ask() -> None:
            with suppress(PySparkException, Py4JError, OSError):  # the session may end while it waits
                told.append(self._observation.get)

        asking = threading.Thread(target=ask, name="counts", daemon=True)
        asking.start()
        asking.join(_PATIENCE_S if not ran else 10 * _PATIENCE_S)
        if not told or not told[0]:  # Connect does not wait, and tells nothing
            return None
        return {name: orjson.loads(value) if isinstance(value, str) else value for name, value in told[0].items()}


def matches() -> Column:
    """Number of matches."""
    return F.count_if(F.col("kind") == F.lit("match"))


def predictions() -> Column:
    """Number of predictions."""
    return F.count_if(F.col("kind") == F.lit("prediction"))


def late(reason: str) -> Column:
    """Number of rows that were set aside as too late, with a reason that begins so."""
    return F.count_if(F.coalesce(F.col("reason").startswith(reason), F.lit(False)))


def rejects() -> Column:
    """Number of rows that were set aside."""
    return F.count(F.col("reason"))


def first_rejects(most: int) -> Column:
    """The first rows that were set aside, ordered by their places, so that they are always the same."""
    # A place ends in a number, of a line or of a record: as texts, 11 would come before 2.
    number = F.regexp_extract("place", r"(?s)([0-9]*)\z", 1)
    ahead = F.substr(F.col("place"), F.lit(1), F.length("place") - F.length(number))
    order = F.struct(ahead, F.length(number), number, F.col("reason"))
    # As a text: before 4.0, lists of what was counted do not reach Python.
    found = first_by(F.struct("place", "reason"), F.when(F.col("reason").isNotNull(), order), most)
    return F.to_json(found, {"ignoreNullFields": "false"})
