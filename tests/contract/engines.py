"""The engines, behind one protocol: events and subscriptions in, (row, subscription) out."""

from __future__ import annotations

from collections import Counter
from typing import Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.engine.engine import Engine as Compiled
from vedette.engine.subscriptions import Subscriptions
from vedette.spark import match

ROW = "the row"  # a name that no filter speaks of
SubscriptionSet: TypeAlias = Subscriptions | Compiled


class Engine(Protocol):
    """What matches."""

    def match(self, events: pa.Table, subscriptions: SubscriptionSet) -> set[tuple[int, str]]:
        """Which subscriptions match the event in which row."""
        ...


class Local:
    """The library itself, in this process."""

    def match(self, events: pa.Table, subscriptions: SubscriptionSet) -> set[tuple[int, str]]:
        """By `match_batch`."""
        compiled = subscriptions.compile() if isinstance(subscriptions, Subscriptions) else subscriptions
        found = compiled.match_batch(events)
        return once_each(zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True))


class OnSpark:
    """A DataFrame, in workers."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def match(self, events: pa.Table, subscriptions: SubscriptionSet) -> set[tuple[int, str]]:
        """By `vedette.spark.match`."""
        numbered = events.append_column(ROW, pa.array(range(len(events)), pa.int64()))
        frame = self._spark.createDataFrame(numbered)
        found = match(frame, subscriptions, keep=[ROW]).toArrow()
        return once_each(zip(found[ROW].to_pylist(), found["subscription"].to_pylist(), strict=True))


def once_each(pairs: zip[tuple[int, str]]) -> set[tuple[int, str]]:
    """The pairs as a set; none may be there twice."""
    counted = Counter(pairs)
    assert counted.total() == len(counted), f"more than once: {counted.most_common(1)}"
    return set(counted)
