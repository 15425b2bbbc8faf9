"""Outcomes of filters for the events of a DataFrame: columns in, for every event a list of its matches.

These are the outcomes of the engine's step, with what operators bound. Where they bind nothing, `vedette.spark.texts`
is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from vedette.engine.engine import Engine
from vedette.io.chunk_stepper import ChunkStepper, SliceOutcome
from vedette.spark.engines import Sent
from vedette.spark.operators.attributes import sent_for
from vedette.spark.readers import ID, ReadChunk, TableReader, sent_as
from vedette.spark.texts import gathered, unbroken
from vedette.spark.versions import with_answers
from vedette.spark.worker import WorkerTask, Writer

_TOLD: Final = "struct<subscription: string, subscriber: string, bindings: map<string, string>>"
_RETURNED: Final = f"`found` array<{_TOLD}>, `reason` string"
_MOST: Final = 250_000  # matches of one array that goes back, about


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
    decoder = partial(TableReader, tuple(each.name for each in looked.sent))
    task = WorkerTask(sent, decoder, partial(EventLists, subscribers))
    arguments = [each.column for each in looked.sent]
    if named:
        arguments.append((F.lit(None) if id_ is None else id_).cast("string"))
    columns = [*(sent_as(number) for number in range(len(looked.sent))), *([ID] if named else [])]
    told = with_answers(events, carried, "told", telling(task, columns), arguments, _RETURNED)
    found, reason = F.col("told")["found"], F.col("told")["reason"]
    if rejects:
        found = F.when(reason.isNull(), found).otherwise(F.array(F.lit(None).cast(_TOLD)))
    else:
        told = unbroken(told, reason.isNotNull(), reason)
    one = told.select(*carried, F.explode(found).alias("one"), reason.alias("reason"))
    return one.select(*carried, "one.subscription", "one.subscriber", "one.bindings", "reason"), looked.nowhere


def telling(task: WorkerTask, columns: Sequence[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all its batches: each a tuple of these columns."""

    # Spark sees by these type hints what kind of function it is.
    def tell(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        yield from task.run(gathered(batches, columns))

    return tell


class EventLists(Writer):
    """For every event a list of its matches, and the reason if it is rejected."""

    def __init__(self, subscribers: bool, stepper: ChunkStepper) -> None:
        self._whose = stepper.engine.subscribers if subscribers else None

    def write(self, read: ReadChunk, found: SliceOutcome) -> Iterator[pa.Array]:
        """The lists of a slice, in one array or several."""
        reasons = {int(one.row) - found.begin: one.reason for one in found.rejects}
        outcomes, events = found.outcomes, found.size
        start = np.searchsorted(outcomes.event - found.first, np.arange(events + 1)).astype(np.int32)
        whose = pa.nulls(len(outcomes), pa.string())
        if self._whose is not None:
            whose = self._whose.take(pa.array(outcomes.place)).cast(pa.string())
        columns = [outcomes.subscriptions(), whose, outcomes.bound()]
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
