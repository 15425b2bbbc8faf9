"""Operators in a pipeline: their calling, their statistics from run to run, their failures in each micro-batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import orjson

from vedette.errors import InputError
from vedette.io.operator_calls import OperatorCalls
from vedette.operators.calling import Calling
from vedette.operators.failures import FailureKind
from vedette.operators.statistics import Statistics
from vedette.patterns.forecasts.model import Model
from vedette.spark.pipeline.config import Pipeline
from vedette.spark.pipeline.content_checks import operator_calls
from vedette.spark.pipeline.progress import EXAMPLES, BatchReport
from vedette.spark.pipeline.storage import Storage

STATISTICS: Final = "vedette/operators.json"  # in a checkpoint
_THINGS: Final = 10_000  # predicates and evaluations that are remembered

_log = logging.getLogger("vedette.operators")


class OperatorStage:
    """The operators of a pipeline, with statistics that all micro-batches of a run share."""

    def __init__(self, calls: OperatorCalls, calling: Calling, storage: Storage | None) -> None:
        self.calls, self.calling = calls, calling
        self.notes: tuple[str, ...] = ()  # notes to be shown before the start
        self._storage = storage
        self._kept = calling.statistics.revision

    @classmethod
    def of(cls, pipeline: Pipeline, storage: Storage | None, model: Model | None) -> OperatorStage | None:
        """The operators of a pipeline, with statistics of its checkpoint, or else of the model; None if it has none."""
        config = pipeline.operators
        if config is None:
            return None
        calls = operator_calls(config.file)
        known: Statistics | None = None
        notes: tuple[str, ...] = ()
        try:
            known = None if storage is None else remembered(storage)
        except InputError as error:  # statistics only save time
            notes = (f"what was known of operators is forgotten: {error}",)
        if known is None and model is not None:
            known = model.operators
        made = cls(calls, Calling(None if config.file is None else calls.operators, statistics=known), storage)
        made.notes = notes
        return made

    @contextmanager
    def counting(self, report: BatchReport) -> Iterator[None]:
        """Count the failures of a micro-batch in its report, and write the statistics afterwards."""
        before, heard = _flat(self.calling.failures), _TaskFailures()
        _log.addHandler(heard)
        try:
            yield
        finally:
            _log.removeHandler(heard)
        now = _flat(self.calling.failures)
        report.failures = _nested({key: count - before.get(key, 0) for key, count in now.items()})
        report.failed = tuple(heard.lines)
        self._keep()

    def _keep(self) -> None:
        if self._storage is None or self._kept == self.calling.statistics.revision:
            return
        self._kept = self.calling.statistics.revision
        self._storage.write(STATISTICS, orjson.dumps(self.calling.known().most(_THINGS).plain()))


def remembered(storage: Storage) -> Statistics | None:
    """The statistics of operators in a checkpoint; None if there are none, InputError if they are damaged."""
    text = storage.read(STATISTICS)
    if text is None:
        return None
    name = f"{storage.name}/{STATISTICS}"
    try:
        return Statistics.from_plain(orjson.loads(text), name)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{name} is damaged ({error})") from None


class _TaskFailures(logging.Handler):
    """Keeps the first log messages on failures in the tasks of a micro-batch."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, if it is one of the first."""
        if len(self.lines) < EXAMPLES:
            self.lines.append(record.getMessage())


def _flat(counts: Mapping[str, Mapping[FailureKind, int]]) -> dict[tuple[str, str], int]:
    return {(name, kind): count for name, kinds in counts.items() for kind, count in kinds.items()}


def _nested(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    made: dict[str, dict[str, int]] = {}
    for (name, kind), count in counts.items():
        if count:
            made.setdefault(name, {})[kind] = count
    return made
