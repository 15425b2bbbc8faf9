"""How what workers learn gets to the driver, and from there to the next plan: by an accumulator of Spark.

A task hands in one report when it ends. A task that Spark runs twice, or whose result nobody waits for, may be counted
twice or not at all: what is learned is an estimate, and stays one. A client of Spark Connect has no accumulators: there
every worker learns for itself.
"""

from __future__ import annotations

import secrets
import threading
import weakref
from dataclasses import dataclass
from typing import Any

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from vedette.operators.calling import Calling
from vedette.operators.reporting import Report, absorb
from vedette.spark.operators.carried import Carried, carried


class _Reports(AccumulatorParam[Any]):
    """In a worker a list of reports; in the driver they are absorbed as they come in."""

    def __init__(self, calling: Calling | None = None) -> None:
        self._calling = None if calling is None else weakref.ref(calling)  # Spark keeps accumulators for ever

    def zero(self, value: Any) -> list[Report]:
        return []

    def addInPlace(self, value1: Any, value2: Any) -> list[Report]:  # noqa: N802 - Spark's name
        if self._calling is None:
            return [*value1, *value2]
        calling = self._calling()
        if calling is not None:
            for report in value2:
                absorb(calling, report)
        return []

    def __reduce__(self) -> tuple[type[_Reports], tuple[()]]:
        return _Reports, ()


@dataclass(frozen=True, slots=True)
class Caller:
    """All that a worker needs to call operators: it travels with a task."""

    carried: Carried
    planner: str
    stamp: str  # the same for the same statistics
    statistics: dict[str, Any]
    reports: Accumulator[Any] | None

    @property
    def key(self) -> tuple[str, str]:
        """Tasks with the same one call the same operators in the same way."""
        return self.carried.key, self.planner


class _Known:
    """What the driver keeps of a calling: its name, how it travels, where its reports come in."""

    def __init__(self, calling: Calling) -> None:
        self.name = secrets.token_hex(8)
        self.operators = len(calling.operators)
        self.carried = carried(calling)
        self.accumulators: dict[str, Accumulator[Any]] = {}  # by application


_known: weakref.WeakKeyDictionary[Calling, _Known] = weakref.WeakKeyDictionary()
_one_at_a_time = threading.Lock()


def caller(calling: Calling, spark: SparkSession) -> Caller:
    """A calling as it is now, for the tasks of a session: their plans begin with all that has been reported."""
    with _one_at_a_time:
        known = _known.get(calling)
        if known is None or known.operators != len(calling.operators):
            known = _known[calling] = _Known(calling)
        reports = _accumulator(known, calling, spark)
    statistics = calling.known()
    stamp = f"{known.name}-{calling.statistics.revision}"
    return Caller(known.carried, calling.planner, stamp, statistics.plain(), reports)


def _accumulator(known: _Known, calling: Calling, spark: SparkSession) -> Accumulator[Any] | None:
    if getattr(spark, "session_id", None) is not None:  # of Spark Connect
        return None
    context = spark.sparkContext
    name = str(context.applicationId)
    if name not in known.accumulators:
        known.accumulators[name] = context.accumulator([], _Reports(calling))
    return known.accumulators[name]
