"""Outcomes of filters for the events of a DataFrame: columns in, for every event a list of its matches.

These are the outcomes of the engine's step, with what operators bound. Where they bind nothing, `vedette.spark.texts`
is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from vedette.engine.engine import Engine
from vedette.engine.outcomes import Outcomes
from vedette.engine.slicing import Slicer
from vedette.engine.step import filter_rows
from vedette.errors import VedetteError
from vedette.operators.event_sources import EventSource
from vedette.schema.encode import Reject
from vedette.spark.engines import Sent, engine_here
from vedette.spark.operators.attributes import sent_for
from vedette.spark.texts import gathered, unbroken

_TOLD: Final = "struct<subscription: string, subscriber: string, bindings: map<string, string>>"
_RETURNED: Final = f"`found` array<{_TOLD}>, `reason` string"
_BOUND: Final = pa.map_(pa.string(), pa.string())
_FIRST: Final = 256  # events that are matched before it is known how many matches they have
_MOST: Final = 250_000  # matches of one array that goes back, about


@dataclass(frozen=True, slots=True)
class Task:
    """All that is sent to a worker."""

    sent: Sent
    names: tuple[str, ...]  # of the columns that it gets
    named: bool  # behind them comes what each event is called
    subscribers: bool  # are wanted


def told_of(
    events: DataFrame,
    stored: StructType,
    engine: Engine,
    sent: Sent,
    carried: Sequence[Column],
    *,
    subscribers: bool,
    rejects: bool,
    id_: Column | None,
) -> tuple[DataFrame, list[str]]:
    """The `carried` columns, subscription, subscriber, bindings and reason; and the attributes that lead nowhere.

    The columns of `events` go by their numbers, _0, _1, …; the first of them are those of `stored`.
    """
    looked = sent_for(engine.called_at_once, engine.columns, engine.schema, stored, lambda number: F.col(f"_{number}"))
    named = id_ is not None or not looked.sent  # Python has to know how many events there are, at least
    task = Task(sent, tuple(each.name for each in looked.sent), named, subscribers)
    arguments = [each.column for each in looked.sent]
    if named:
        arguments.append((F.lit(None) if id_ is None else id_).cast("string"))
    # Else Spark may call operators twice, once to see whether there is anything.
    function: Callable[..., Column] = arrow_udf(telling(task), _RETURNED).asNondeterministic()  # type: ignore[call-overload]
    told = events.select(*carried, function(*arguments).alias("told"))
    found, reason = F.col("told")["found"], F.col("told")["reason"]
    if rejects:
        found = F.when(reason.isNull(), found).otherwise(F.array(F.lit(None).cast(_TOLD)))
    else:
        told = unbroken(told, reason.isNotNull(), reason)
    one = told.select(*carried, F.explode(found).alias("one"), reason.alias("reason"))
    return one.select(*carried, "one.subscription", "one.subscriber", "one.bindings", "reason"), looked.nowhere


def telling(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all its batches: each a tuple of columns."""

    # Spark sees by these type hints what kind of function it is.
    def tell(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        try:
            with engine_here(task.sent) as engine:
                worker = _Worker(task, engine)
                for batch in gathered(batches, (*task.names, *([""] if task.named else []))):
                    yield from worker.told(batch)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return tell


class _Worker:
    """Matches the batches of a task."""

    def __init__(self, task: Task, engine: Engine) -> None:
        self._task, self._engine = task, engine
        self._subscribers = engine.subscribers if task.subscribers else None
        self._slicer = Slicer(_FIRST)
        self._begun = 0

    def told(self, batch: pa.RecordBatch) -> Iterator[pa.Array]:
        """Matches of all events of a batch, in one array or several."""
        for _, part in self._slicer.cut(batch):
            assert isinstance(part, pa.RecordBatch)  # as the batch is
            called = self._called(part)
            events = part.select(range(len(self._task.names)))
            rejects: list[Reject] = []
            source = EventSource(events, self._engine.schema, called)
            outcomes = Outcomes(filter_rows(self._engine, events, source, rejects=rejects), self._engine.ids)
            self._slicer.learn(part.num_rows, len(outcomes))
            yield from self._arrays(outcomes, rejects, part.num_rows)

    def _called(self, part: pa.RecordBatch) -> Sequence[str]:
        """Names of events for failures of operators: their ids, or their numbers within the task."""
        numbers = range(self._begun, self._begun + part.num_rows)
        self._begun += part.num_rows
        given = part.column(part.num_columns - 1).to_pylist() if self._task.named else [None] * part.num_rows
        return [f"number {number}" if id_ is None else id_ for number, id_ in zip(numbers, given, strict=True)]

    def _arrays(self, outcomes: Outcomes, rejects: list[Reject], events: int) -> Iterator[pa.Array]:
        """The matches of each event, and the reason if it is rejected."""
        reasons = {one.row: f"attribute {one.attribute!r}: {one.reason}" for one in rejects}
        start = np.searchsorted(outcomes.event, np.arange(events + 1)).astype(np.int32)
        told = outcomes.pairs(bindings=True)
        whose = pa.nulls(len(told), pa.string())
        if self._subscribers is not None:
            whose = self._subscribers.take(pa.array(outcomes.place)).cast(pa.string())
        columns = [told.column("subscription").combine_chunks(), whose, told.column("bindings").combine_chunks()]
        rows = pa.StructArray.from_arrays(columns, ["subscription", "subscriber", "bindings"])
        begin = 0
        while begin < events:
            most = int(np.searchsorted(start, start[begin] + _MOST, "right")) - 1
            end = min(events, max(begin + 1, most))
            some = rows.slice(start[begin], start[end] - start[begin])
            lists = pa.ListArray.from_arrays(pa.array(start[begin : end + 1] - start[begin]), some)
            why = pa.array([reasons.get(row) for row in range(begin, end)] if reasons else [None] * (end - begin))
            yield pa.StructArray.from_arrays([lists, why.cast(pa.string())], ["found", "reason"])
            begin = end
