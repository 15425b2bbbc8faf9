"""Sends operators to the workers, and brings their statistics back to the driver.

They travel as the text of the file they come from, pickled by Spark, or as installed. Statistics come by an accumulator
of Spark, and are used for the next plan: a task hands in one report when it ends. A task that Spark runs twice, or
whose result is not used, may be counted twice or not at all: statistics are estimates. A client of Spark Connect has no
accumulators: there every worker learns for itself.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark import cloudpickle
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from vedette.errors import InputError
from vedette.operators.calling import Calling
from vedette.operators.operator import Operator
from vedette.operators.operator_report import OperatorReport, absorb
from vedette.operators.registry import OperatorFile, Operators
from vedette.operators.statistics import Statistics

Handed: TypeAlias = "Operators | Calling | str | Path | None"
_ALIVE: Final = 64
_latest: deque[Calling] = deque(maxlen=_ALIVE)  # kept alive, so that their failures are reported


@dataclass(frozen=True, slots=True)
class Carried:
    """Operators as they are sent; workers that get the same `key` have the same operators."""

    key: str
    written: OperatorFile | None = None
    pickled: bytes | None = None  # None, as `written`: the installed ones

    def operators(self) -> Operators:
        """The operators themselves, in a worker."""
        if self.written is not None:
            return Operators.read_again(self.written)
        if self.pickled is not None:
            made: Operators = pickle.loads(self.pickled)  # noqa: S301 - it comes from our own driver
            return made
        return Operators.installed()


def calling_of(given: Any, known: Statistics | None = None) -> Calling:
    """A Calling of the operators that were handed in, with `known` statistics; a Calling has its own."""
    if isinstance(given, Calling):
        return given
    if isinstance(given, str | Path):
        given = Operators.read(given)
    if given is not None and not isinstance(given, Operators):
        raise InputError(
            f"operators are handed in as Operators, a Calling or the path of a file, not as {type(given).__name__}\n"
            "Hint: vedette.Operators(one, other) makes them of single ones"
        )
    made = Calling(given, statistics=known)
    _latest.append(made)
    return made


def carried(calling: Calling) -> Carried:
    """The operators of a calling, ready to be sent; InputError names one that cannot be."""
    if calling.installed:
        return Carried("installed")
    operators = calling.operators
    if operators.written is not None:
        return Carried(_digest(repr(operators.written).encode()), written=operators.written)
    pickled = _pickled(operators)
    return Carried(_digest(pickled), pickled=pickled)


def _pickled(operators: Operators) -> bytes:
    try:
        return _dumped(operators)
    except Exception as whole:
        for name, operator in operators.items():
            try:
                _dumped(operator)
            except Exception as error:
                raise InputError(
                    f"operator {name!r} cannot be sent to Spark's workers: {error}\n"
                    "Hint: make what it holds on to when it is first called, or hand in the path of the file that has "
                    "it, which the workers run themselves"
                ) from error
        raise InputError(f"the operators cannot be sent to Spark's workers: {whole}") from whole


def _dumped(thing: Operators | Operator) -> bytes:
    made: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    return made


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class _Reports(AccumulatorParam[Any]):
    """Accumulates reports: a list in a worker; in the driver they are absorbed as they come in."""

    def __init__(self, calling: Calling | None = None) -> None:
        self._calling = None if calling is None else weakref.ref(calling)  # Spark keeps accumulators for ever

    def zero(self, value: Any) -> list[OperatorReport]:
        return []

    def addInPlace(self, value1: Any, value2: Any) -> list[OperatorReport]:  # noqa: N802 - Spark's name
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
    """All that a worker needs to call operators; it is sent with a task."""

    carried: Carried
    planner: str
    stamp: str  # the same for the same statistics
    statistics: dict[str, Any]
    reports: Accumulator[Any] | None

    @property
    def key(self) -> tuple[str, str]:
        """A key that is the same for tasks that call the same operators in the same way."""
        return self.carried.key, self.planner


class _Known:
    """What the driver keeps of a calling: its name, its form for sending, its accumulators."""

    def __init__(self, calling: Calling) -> None:
        self.name = secrets.token_hex(8)
        self.operators = len(calling.operators)
        self.carried = carried(calling)
        self.accumulators: dict[str, Accumulator[Any]] = {}  # by application


_known: weakref.WeakKeyDictionary[Calling, _Known] = weakref.WeakKeyDictionary()
_one_at_a_time = threading.Lock()


def caller(calling: Calling, spark: SparkSession) -> Caller:
    """A calling with its present statistics, for the tasks of a session."""
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
