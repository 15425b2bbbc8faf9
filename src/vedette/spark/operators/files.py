"""Filters that call operators over the events of a file: what travels to its tasks, and what they say of bindings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from vedette.files.notices import MATCH, Notice, Notices, json_of
from vedette.files.operator_filters import OperatorFilters
from vedette.operators.calling import Calling
from vedette.spark.operators.hosted import hosted
from vedette.spark.operators.match import warm_up
from vedette.spark.operators.reports import Caller, caller
from vedette.spark.operators.tasks import Filters, filters_of


class FileFilters(NamedTuple):
    """Filters with operators, on the driver: every round of tasks begins with what has been learned by then."""

    filters: Filters
    calls: NDArray[np.bool_]  # which of all filters call operators
    calling: Calling

    @staticmethod
    def of(made: OperatorFilters, calling: Calling) -> FileFilters:
        """Those that were made ready for one process."""
        warm_up()
        return FileFilters(filters_of(made.matcher.plan.records, made.matcher.schema), made.calls, calling)

    def now(self, spark: SparkSession) -> FileTask:
        """As the next tasks get it."""
        return FileTask(self.filters, self.calls, caller(self.calling, spark))


class FileTask(NamedTuple):
    """All that travels to a worker."""

    filters: Filters
    calls: NDArray[np.bool_]
    caller: Caller


@contextmanager
def filters_here(task: FileTask | None) -> Iterator[OperatorFilters | None]:
    """In a worker, while a task runs: its filters, planned; None where there are none."""
    if task is None:
        yield None
        return
    with hosted(task.caller) as host:
        yield host.kept(
            (task.filters.version, "file"),
            lambda calling: OperatorFilters.placed(task.filters.matcher(calling), task.calls),
        )


def told(notices: Notices | None) -> bytes:
    """What matches say beyond ids, as bytes: values that JSON has no type for are texts, as they are written."""
    if notices is None or not len(notices.rows):
        return b""
    parts = []
    for row, notice in zip(notices.rows.tolist(), notices.notices, strict=True):
        said = ",".join(f"{json_of(str(name))}:{json_of(value)}" for name, value in notice.bindings.items())
        parts.append(f"[{row},{{{said}}}]")
    return f"[{','.join(parts)}]".encode()


def heard(said: bytes) -> Notices | None:
    """What `told` wrote."""
    if not said:
        return None
    rows = orjson.loads(said)
    return Notices(np.array([row for row, _ in rows], np.int64), [Notice(MATCH, {}, found) for _, found in rows])
