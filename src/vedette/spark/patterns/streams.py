"""Patterns over a stream of Spark: packets of events are followed by an operator that keeps state.

It gets them by shard, keeps one value for each, read once and written once in a micro-batch, and returns packets of
outcomes. Nothing else crosses between Spark and Python.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from vedette.engine.pattern_shards import PatternSet
from vedette.errors import InputError, SnapshotError, VedetteError
from vedette.spark.engines import Sent
from vedette.spark.patterns import live
from vedette.spark.patterns.coded import AT, CLOCK, PACKET, PLACE, REJECTED, opened, written
from vedette.spark.patterns.coding import Step
from vedette.spark.patterns.following import Former
from vedette.spark.patterns.live import Ready, ready
from vedette.spark.patterns.rows import filled
from vedette.spark.patterns.shard import Shard
from vedette.spark.readers import ARRIVAL
from vedette.spark.versions import StatefulProcessor, check_states, to_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

STATE, PATTERNS = "state", "patterns"
_DRIVER = "pyspark.sql.streaming.transform_with_state_driver_worker"
_VALUE = "data binary"
_KEPT = 64  # shards that a process keeps as they are, in case it meets them again
_MILLISECOND = 1_000
# Bytes that a process wrote last for a shard, and the shard itself. Whoever takes one, takes it out: bytes that a task
# wrote are found again only if they were committed.
_warm: OrderedDict[tuple[str, str], tuple[bytes, Shard]] = OrderedDict()


def follow_packets(read: DataFrame, sent: Sent | None, lateness: int, told: StructType) -> DataFrame:
    """Outcomes of packets of events: rows with the columns of `told`. `lateness` is in microseconds."""
    check_states()
    check_store(read.sparkSession)
    # Spark's watermark is a whole millisecond, rounded down: one more, so that nothing that is in time is behind it.
    delay = 0 if lateness == 0 else -(-lateness // 1000) + 1
    # Without the column of the watermark Spark does not drop what it takes to be late: it is reported here.
    timed = read.withWatermark(AT, f"{delay} milliseconds").select(PLACE, PACKET)
    followed = timed.groupBy(PLACE).transformWithStateInPandas(
        Following(sent, delay), f"`{PACKET}` binary", "Append", "EventTime"
    )
    return followed.mapInArrow(_unpacking(to_arrow_schema(told)), told)


def check_store(spark: SparkSession) -> None:
    """InputError if the session's state store cannot be used for patterns."""
    if spark.conf.get(_STORE, None) != _ROCKSDB:
        raise InputError(
            "patterns over a stream need Spark's state store RocksDB\n"
            f'Hint: spark.conf.set("{_STORE}", "{_ROCKSDB}"), or let vedette.spark.session() set it'
        )


class Following(StatefulProcessor):
    """Stateful operator: packets of events in, packets of outcomes out."""

    def __init__(self, sent: Sent | None, delay: int) -> None:
        self._sent = sent and sent.called_by(None)  # None: every micro-batch brings its own
        self._delay = delay  # milliseconds that the watermark stays behind the greatest time

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if _DRIVER in sys.orig_argv:
            # Spark makes one on the driver to see what it keeps, and says on standard error how that goes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for a task."""
        self._handle = handle
        self._state = handle.getValueState(STATE, _VALUE)
        self._former = handle.getValueState(PATTERNS, _VALUE)

    def handleInputRows(  # noqa: N802 - so it is called by Spark
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Take the events of a shard, and follow those that the watermark has passed."""
        try:
            (place,) = key
            values = [value for frame in rows for value in frame[PACKET]]
            if place == REJECTED:
                yield _frame(values)
            elif place != CLOCK:
                yield _frame(self._done(place, values, timerValues))
        except VedetteError as error:
            raise error.with_traceback(None) from None

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """No event came, but the watermark has advanced."""
        try:
            (place,) = key
            yield _frame(self._done(place, [], timerValues, fired=expiredTimerInfo.getExpiryTimeInMs()))
        except VedetteError as error:
            raise error.with_traceback(None) from None

    def close(self) -> None:
        """Nothing to close."""

    def _done(self, place: str, values: list[bytes], times: TimerValues, fired: int | None = None) -> list[bytes]:
        now = ready(live.now(self._sent, None))
        shard = self._shard(place, now)
        if shard is None:
            return []
        if fired is not None and shard.timer == fired:
            shard.timer = None
        watermark = times.getCurrentWatermarkInMs() * _MILLISECOND or None  # Spark begins at 0, and knows nothing then
        told = []
        if values:
            events = pa.concat_tables([opened(value) for value in values], promote_options="default")
            order = pc.sort_indices(events.column(ARRIVAL))
            latest = None if watermark is None else watermark + self._delay * _MILLISECOND
            told.append(shard.take(events.take(order), watermark, latest))
        told.append(shard.advance(watermark))
        self._wake(shard)
        data = shard.to_bytes()
        self._state.update((data,))
        _warm[place, now.version] = data, shard
        while len(_warm) > _KEPT:
            _warm.popitem(last=False)
        return [written(table) for table in told if table is not None]

    def _shard(self, place: str, now: Ready) -> Shard | None:
        """The shard with its present state; None if its patterns are gone, whose state is deleted then."""
        group = now.group_at(place)
        known = self._state.get()
        data = None if known is None else bytes(known[0])
        warm = _warm.pop((place, now.version), None)
        if group is None:
            self._forget()
            return None
        version = now.versions[group]
        if data is None:
            self._former.update((now.parts[group].to_bytes(),))
            return Shard(version, now.follower(group))
        if warm is not None and warm[0] == data:
            return warm[1]
        return Shard.from_bytes(data, version, now.follower(group), lambda: self._replaced(place, now.parts[group]))

    def _replaced(self, place: str, patterns: PatternSet) -> Former:
        """The patterns that the state of a shard is of; the new ones are written in their place."""
        kept = self._former.get()
        if kept is None:
            raise SnapshotError(f"the state of the patterns at {place!r} does not say which patterns these were")
        self._former.update((patterns.to_bytes(),))
        before = PatternSet.from_bytes(bytes(kept[0]))
        return Former(before.matcher(reads=False), patterns.anew(before))

    def _wake(self, shard: Shard) -> None:
        """Set a timer for when the watermark has passed the events held back, whether events come or not."""
        # Spark wakes it when the watermark has reached that millisecond, and forgets the timer afterwards: one that is
        # asked for meanwhile must be another one.
        wanted = None if shard.next is None else max(1, shard.next // _MILLISECOND)
        if wanted != shard.timer:
            if shard.timer is not None:
                self._handle.deleteTimer(shard.timer)
            if wanted is not None:
                self._handle.registerTimer(wanted)
            shard.timer = wanted

    def _forget(self) -> None:
        self._state.clear()
        self._former.clear()
        for moment in list(self._handle.listTimers()):
            self._handle.deleteTimer(moment)


def _frame(values: list[bytes]) -> pd.DataFrame:
    return pd.DataFrame({PACKET: pd.Series(values, dtype=object)})


def _unpacking(schema: pa.Schema) -> Step:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from (filled(opened(value), schema) for value in batch.column(PACKET).to_pylist())

    return unpack
