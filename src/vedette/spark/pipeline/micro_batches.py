"""Runs one micro-batch, from its events to all sinks, in `STAGES`; a run that is no stream is one micro-batch, too."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

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
    _read: EventCounter | None = None
    _known: tuple[str, DataFrame] | None = None  # where the subscriptions of a version come from

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
        """Match the events of a micro-batch and hand the notifications to the sinks, in `STAGES`."""
        begin = time.perf_counter()
        with ExitStack() as ends:
            micro = MicroBatch(self, events, number, ends)
            for stage in STAGES:
                stage(micro)
        micro.report.total_s = time.perf_counter() - begin
        self.report.step(number, "written")
        return micro.report

    def reading(self, spark: SparkSession) -> EventCounter:
        """The counter of events of all micro-batches."""
        if self._read is None:
            self._read = EventCounter(self.source, spark)
        return self._read

    def origins(self, use: BatchVersion, spark: SparkSession) -> DataFrame | None:
        """The origins of subscriptions, if notifications have them; made once for every version."""
        if not self.pipeline.subscriptions.with_origin:
            return None
        if self._known is None or self._known[0] != use.version:
            self._known = use.version, origins_of(use.origins, spark)
        return self._known[1]


@dataclass
class MicroBatch:
    """One micro-batch on its way through the stages: each adds what later ones need."""

    work: MicroBatches
    events: DataFrame
    number: int | None
    ends: ExitStack  # what is to be done at its end, whatever happens
    use: BatchVersion = field(init=False)
    report: BatchReport = field(init=False)
    told: DataFrame | None = None  # the outcomes of patterns
    outcomes: DataFrame | None = None
    came: row_counters.PassCounter = field(default_factory=row_counters.PassCounter)
    has_state: bool = False  # its events were kept with the outcomes of patterns, whose state changes only once
    shared: bool = False  # outcomes are kept, because they are read more than once

    def __post_init__(self) -> None:
        ledger = self.work.ledger
        self.batch = Batch(self.work.pipeline.name, self.number, "" if ledger is None else ledger.stream)
        self.spark = self.events.sparkSession

    @contextmanager
    def doing(self, name: str, job: str) -> Iterator[None]:
        """Time some work, and describe its jobs on Spark's pages."""
        with _timed(self.report, name), described(self.spark, self.batch.doing(job)):
            yield

    @property
    def made(self) -> DataFrame:
        """The outcomes, after they were made."""
        if self.outcomes is None:
            raise RuntimeError("a stage came before those that it needs")
        return self.outcomes


def write_down_version(micro: MicroBatch) -> None:
    """Write down which version of the subscriptions it uses; if it began before, it is the one that it began with."""
    work, number = micro.work, micro.number
    current = work.versions.current()
    if work.ledger is None or number is None:
        micro.use = BatchVersion.of(0, current, {})
    else:
        work.report.step(number, "begun")
        micro.use = work.ledger.begin(number, current)
        work.report.step(number, "in the ledger")
    use = micro.use
    micro.report = BatchReport(number, use.version, len(use.engine), use.again, set_aside=use.set_aside)


def watch_operators(micro: MicroBatch) -> None:
    """Count the failures of operators from here on, and write their statistics at the end."""
    if micro.work.operators is not None:
        micro.ends.enter_context(micro.work.operators.counting(micro.report))


def follow_patterns(micro: MicroBatch) -> None:
    """Get the outcomes of patterns: along with the events of a stream, or else of all events."""
    patterns = micro.work.patterns
    if patterns is None:
        return
    with micro.doing("prepare", "read"):
        if micro.work.ledger is None:
            told = patterns.over(micro.events, micro.use)
        else:
            patterns.say(micro.use, micro.spark)
            # Events and outcomes of patterns come together, and are separated here: stateful work must run only once.
            kept = micro.events.persist(StorageLevel.MEMORY_AND_DISK)
            micro.ends.callback(kept.unpersist)
            micro.has_state = True
            micro.events, told = patterns.parted(kept)
        micro.told = patterns.outcomes(told, micro.use.version)


def match_events(micro: MicroBatch) -> None:
    """Match the events; outcomes of patterns come along."""
    work, use = micro.work, micro.use
    keep = tuple(work.pipeline.keep)
    with micro.doing("prepare", "read"):
        read = work.reading(micro.spark)
        found = work.source.outcomes(read.on(micro.events), use.engine, keep, read=read.accumulator)
        if work.patterns is not None or work.operators is not None:
            found = with_pattern_columns(found, use.version, keep)
        micro.outcomes = found if micro.told is None else found.unionAll(micro.told)


def count_outcomes(micro: MicroBatch) -> None:
    """Count outcomes and rejects as they pass."""
    micro.outcomes = micro.came.on(
        micro.made,
        matches=row_counters.matches(),
        predictions=row_counters.predictions(),
        rejects=row_counters.rejects(),
        late=row_counters.late(LATE_REASON),
        examples=row_counters.first_rejects(EXAMPLES),
    )
    micro.work.report.step(micro.number, "matching")


def keep_outcomes(micro: MicroBatch) -> None:
    """Keep outcomes that are read more than once, so that they are not computed again.

    Where patterns are followed they are computed in any case: sinks that have written a micro-batch before do not
    read it, and Spark commits none whose state was not written. (Lines of JSON are counted first, which is enough.)
    """
    asking = [config for config, _ in micro.work.sinks]
    if micro.work.pipeline.quarantine is not None:
        asking.append(micro.work.pipeline.quarantine)
    micro.shared = micro.has_state or len(asking) > 1 or any(each.reads_twice for each in asking)
    if not micro.shared:
        return
    micro.outcomes = kept = micro.made.persist(StorageLevel.MEMORY_AND_DISK)
    micro.ends.callback(kept.unpersist)
    with micro.doing("match", "match"):
        kept.write.format("noop").mode("overwrite").save()


def write_notifications(micro: MicroBatch) -> None:
    """Route notifications to the sinks, and write them."""
    told = notifications(micro.made, micro.work.origins(micro.use, micro.spark))
    for config, sink in micro.work.sinks:
        with _timed(micro.report, sink.name):
            sink.write(routed(told, config), micro.batch)
        micro.work.report.step(micro.number, f"written to {sink.name}")


def put_aside(micro: MicroBatch) -> None:
    """Write the rows that were set aside."""
    quarantine = micro.work.quarantine
    if quarantine is not None:
        with _timed(micro.report, quarantine.name):
            quarantine.write(rejected(micro.made), micro.batch)
        micro.work.report.step(micro.number, f"written to {quarantine.name}")


def settle(micro: MicroBatch) -> None:
    """Put the counts into the report."""
    found = micro.came.found(ran=micro.shared or not micro.use.again)
    if found is not None:
        events = micro.work.reading(micro.spark).events()
        micro.report.counts = {"events": events, **{name: found[name] for name in _COUNTED}}
        micro.report.examples = tuple(f"{each['place']}: {each['reason']}" for each in found["examples"] or ())


STAGES: Final[tuple[Callable[[MicroBatch], None], ...]] = (
    write_down_version,
    watch_operators,
    follow_patterns,
    match_events,
    count_outcomes,
    keep_outcomes,
    write_notifications,
    put_aside,
    settle,
)


class EventCounter:
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
