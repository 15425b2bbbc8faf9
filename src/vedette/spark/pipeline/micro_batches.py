"""Runs one micro-batch, from its events to all sinks; a run that is no stream is one micro-batch, too."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.schema.schema import Schema
from vedette.spark.engine_versions import EngineVersions
from vedette.spark.pipeline import row_counters
from vedette.spark.pipeline.checkpoint import BatchVersion, CheckpointLedger
from vedette.spark.pipeline.config import Pipeline, SinkConfig
from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.operator_stage import OperatorStage
from vedette.spark.pipeline.pattern_stage import LATE_REASON, PatternStage, with_pattern_columns
from vedette.spark.pipeline.progress import EXAMPLES, BatchReport, ProgressReport
from vedette.spark.pipeline.routing import notifications, origins_of, rejected, routed
from vedette.spark.pipeline.sinks.base import Batch, Sink
from vedette.spark.pipeline.sources import Source

_COUNTED = ("matches", "predictions", "rejects", "late")


class StreamStopped(Exception):
    """The stream is to end: this micro-batch, which has not begun, is left to the next run."""


@dataclass
class MicroBatches:
    """Runs the micro-batches of a pipeline."""

    pipeline: Pipeline
    source: Source
    schema: Schema
    versions: EngineVersions
    sinks: Sequence[tuple[SinkConfig, Sink]]
    quarantine: Sink | None
    report: ProgressReport
    ledger: CheckpointLedger | None = None  # None: no stream
    patterns: PatternStage | None = None  # None: only filters are matched
    operators: OperatorStage | None = None  # None: these call no operators
    stopping: Callable[[], bool] = lambda: False
    busy: bool = False
    done: deque[BatchReport] = field(default_factory=deque)  # until somebody takes them away
    failure: BaseException | None = None
    _read: _EventCounter | None = None
    _known: tuple[str, DataFrame] | None = None  # where the subscriptions of a version come from
    _kept: DataFrame | None = None  # the rows of a micro-batch that are asked for more than once

    def __call__(self, events: DataFrame, number: int) -> None:
        """Called by Spark for each micro-batch; an error is kept, because Spark hands on only its text."""
        self.busy = True  # set before the check: a thread that asks to stop and sees it unset can be sure
        try:
            if self.stopping():
                raise StreamStopped
            self.done.append(self.process(events, number))
        except StreamStopped:
            raise
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self.busy = False

    def process(self, events: DataFrame, number: int | None) -> BatchReport:
        """Match the events of a micro-batch and hand the notifications to the sinks."""
        begin = time.perf_counter()
        use = self._use(number)
        report = BatchReport(number, use.version, len(use.engine), use.again, set_aside=use.set_aside)
        with nullcontext() if self.operators is None else self.operators.counting(report):
            self._process(events, number, use, report)
        report.total_s = time.perf_counter() - begin
        self.report.step(number, "written")
        return report

    def _process(self, events: DataFrame, number: int | None, use: BatchVersion, report: BatchReport) -> None:
        batch = Batch(self.pipeline.name, number, "" if self.ledger is None else self.ledger.stream)
        spark = events.sparkSession
        with _timed(report, "prepare"), described(spark, batch.doing("read")):
            read, came = self._reading(spark), row_counters.PassCounter()
            events, told = self._told(events, use)
            found = self.source.outcomes(read.on(events), use.engine, tuple(self.pipeline.keep), read=read.accumulator)
            if self.patterns is not None or self.operators is not None:
                found = with_pattern_columns(found, use.version, tuple(self.pipeline.keep))
            if told is not None:
                found = found.unionAll(told)
            outcomes = came.on(
                found,
                matches=row_counters.matches(),
                predictions=row_counters.predictions(),
                rejects=row_counters.rejects(),
                late=row_counters.late(LATE_REASON),
                examples=row_counters.first_rejects(EXAMPLES),
            )
        self.report.step(number, "matching")
        shared = self._is_shared()
        if shared:
            outcomes = outcomes.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            if shared:
                with _timed(report, "match"), described(spark, batch.doing("match")):
                    outcomes.write.format("noop").mode("overwrite").save()
            self._write(outcomes, batch, report, self._origins(use, spark))
        finally:
            if shared:
                outcomes.unpersist()
            if self._kept is not None:
                self._kept.unpersist()
                self._kept = None
        self._count(report, read, came, ran=shared or not use.again)

    def _told(self, events: DataFrame, use: BatchVersion) -> tuple[DataFrame, DataFrame | None]:
        """The events of a micro-batch, and the outcomes of patterns, if any."""
        if self.patterns is None:
            return events, None
        if self.ledger is None:
            return events, self.patterns.outcomes(self.patterns.over(events, use), use.version)
        self.patterns.say(use, events.sparkSession)
        # Events and outcomes of patterns come together, and are separated here: stateful work must run only once.
        self._kept = events.persist(StorageLevel.MEMORY_AND_DISK)
        events, told = self.patterns.parted(self._kept)
        return events, self.patterns.outcomes(told, use.version)

    def _reading(self, spark: SparkSession) -> _EventCounter:
        if self._read is None:
            self._read = _EventCounter(self.source, spark)
        return self._read

    def _use(self, number: int | None) -> BatchVersion:
        current = self.versions.current()
        if self.ledger is None or number is None:
            return BatchVersion.of(0, current, {})
        self.report.step(number, "begun")
        use = self.ledger.begin(number, current)
        self.report.step(number, "in the ledger")
        return use

    def _is_shared(self) -> bool:
        """Whether the outcomes are read more than once, so that they are cached instead of being computed again.

        Where patterns are followed they are computed in any case: sinks that have written a micro-batch before do not
        read it, and Spark commits none whose state was not written. (Lines of JSON are counted first, which is enough.)
        """
        if self._kept is not None:
            return True
        asking = [config for config, _ in self.sinks]
        if self.pipeline.quarantine is not None:
            asking.append(self.pipeline.quarantine)
        return len(asking) > 1 or any(each.reads_twice for each in asking)

    def _origins(self, use: BatchVersion, spark: SparkSession) -> DataFrame | None:
        """The origins of subscriptions, if notifications have them; made once for every version."""
        if not self.pipeline.subscriptions.with_origin:
            return None
        if self._known is None or self._known[0] != use.version:
            self._known = use.version, origins_of(use.origins, spark)
        return self._known[1]

    def _write(self, outcomes: DataFrame, batch: Batch, report: BatchReport, origins: DataFrame | None) -> None:
        told = notifications(outcomes, origins)
        for config, sink in self.sinks:
            with _timed(report, sink.name):
                sink.write(routed(told, config), batch)
            self.report.step(batch.number, f"written to {sink.name}")
        if self.quarantine is not None:
            with _timed(report, self.quarantine.name):
                self.quarantine.write(rejected(outcomes), batch)
            self.report.step(batch.number, f"written to {self.quarantine.name}")

    @staticmethod
    def _count(report: BatchReport, read: _EventCounter, came: row_counters.PassCounter, *, ran: bool) -> None:
        found = came.found(ran=ran)
        if found is None:
            return
        report.counts = {"events": read.events(), **{name: found[name] for name in _COUNTED}}
        report.examples = tuple(f"{each['place']}: {each['reason']}" for each in found["examples"] or ())


class _EventCounter:
    """Counts the events of each micro-batch: its rows, unless the source counts itself."""

    def __init__(self, source: Source, spark: SparkSession) -> None:
        # One for all micro-batches: Spark never forgets an accumulator.
        self.accumulator = spark.sparkContext.accumulator(0) if source.counts_itself else None
        self._before = 0
        self._counter = row_counters.PassCounter()

    def on(self, events: DataFrame) -> DataFrame:
        """Count the events of the next micro-batch."""
        if self.accumulator is not None:
            self._before = self.accumulator.value
            return events
        self._counter = row_counters.PassCounter()
        return self._counter.on(events, events=F.count(F.lit(1)))

    def events(self) -> int:
        """The number of events, after a job that read them all."""
        if self.accumulator is not None:
            return self.accumulator.value - self._before
        found = self._counter.found(ran=True)
        return 0 if found is None else int(found["events"])


@contextmanager
def _timed(report: BatchReport, name: str) -> Iterator[None]:
    begin = time.perf_counter()
    try:
        yield
    finally:
        report.seconds[name] = report.seconds.get(name, 0.0) + time.perf_counter() - begin
