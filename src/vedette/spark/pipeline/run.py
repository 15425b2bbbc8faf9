"""Runs a pipeline from start to end: in one go, or micro-batch by micro-batch from a checkpoint."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import NotSupported, RunError, VedetteError
from vedette.patterns.forecasts.model import Model
from vedette.schema.schema import Schema
from vedette.spark.engine_versions import EngineVersion, EngineVersions, VersionRefusal, watch
from vedette.spark.pipeline.checkpoint import CheckpointLedger, SparkLog, shards_in
from vedette.spark.pipeline.config import Pipeline
from vedette.spark.pipeline.micro_batches import MicroBatches
from vedette.spark.pipeline.operator_stage import OperatorStage
from vedette.spark.pipeline.pattern_stage import PatternStage, following_of, model_of
from vedette.spark.pipeline.progress import BatchReport, ProgressReport, RunSummary, counted, lag_of, metrics_line
from vedette.spark.pipeline.routing import unmet
from vedette.spark.pipeline.spark_failures import explained, whole
from vedette.spark.pipeline.startup import session_of, storage_of, store_of
from vedette.spark.pipeline.stop_request import StopRequest, on_signals
from vedette.spark.pipeline.storage import Storage
from vedette.spark.versions import connected, recent_progress

_LOOK_S = 0.5  # between two looks at a stream that runs by itself
_SOON_S = 0.05  # the same while it is to end
_TRACE = "vedette/error.txt"
# Spark refuses a first micro-batch if its folder of plans is not empty, and takes for a plan what a process that was
# killed had half written. Whose checkpoint it is, the ledger knows better.
_VERIFY_EMPTY = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"


def run(
    pipeline: Pipeline,
    *,
    report: ProgressReport | None = None,
    metrics: str | Path | None = None,
    stop: StopRequest | None = None,
    spark: SparkSession | None = None,
) -> RunSummary:
    """Run a pipeline to its end: until all events are read, or until it is asked to stop.

    `metrics` is a file that gets one line of JSON per micro-batch. Signals ask a stream to stop, if this is the main
    thread. A session that is handed in, or is running, is used and left running.
    """
    own = spark is None and SparkSession.getActiveSession() is None
    with ExitStack() as stack:
        running = _Run(pipeline, report or ProgressReport(), stop or StopRequest(), stack)
        if metrics is not None:
            running.metrics = stack.enter_context(Path(metrics).open("ab", buffering=0))
        try:
            session = spark or session_of(pipeline)
            _check_classic(session)
            if own:
                stack.callback(session.stop)
            return running.run(session)
        except (VedetteError, OSError):
            raise
        except Exception as error:
            raise running.failed(error) from error


def _check_classic(spark: SparkSession) -> None:
    if connected(spark):
        raise NotSupported(
            "a pipeline needs a session of its own or a classic one, and this one is of Spark Connect\n"
            "Hint: run it by spark-submit, or without SPARK_REMOTE; vedette.spark.match works on Connect"
        )


class _Run:
    """One run of a pipeline."""

    def __init__(self, pipeline: Pipeline, report: ProgressReport, stop: StopRequest, stack: ExitStack) -> None:
        self._pipeline, self._report, self._stop, self._stack = pipeline, report, stop, stack
        self._storage: Storage | None = None
        self._summary = RunSummary()
        self.metrics: IO[bytes] | None = None

    def run(self, spark: SparkSession) -> RunSummary:
        pipeline = self._pipeline
        source = pipeline.source.source(pipeline.schema_given)
        sinks = [(config, config.sink()) for config in pipeline.sinks]
        quarantine = None if pipeline.quarantine is None else pipeline.quarantine.sink()
        for sink in [*(sink for _, sink in sinks), *([quarantine] if quarantine else [])]:
            sink.check(spark, streaming=pipeline.streaming)
        schema = source.schema(spark)
        source.check_kept(spark, pipeline.keep)
        self._report.step(None, "loading the subscriptions")
        if pipeline.streaming:
            self._storage = storage_of(str(pipeline.checkpoint), spark)
        following = following_of(pipeline, spark, None if self._storage is None else shards_in(self._storage))
        model = model_of(pipeline)
        operators = OperatorStage.of(pipeline, self._storage, model)
        if operators is not None:
            self._stack.enter_context(operators.calling)
            for note in operators.notes:
                self._report.warn(note)
        versions = self._stack.enter_context(self._watch(spark, schema, following, operators, model))
        self._warn_of_unmet(versions.current())
        self._warn_of_left_out(versions.current())
        begun = time.perf_counter()
        work = MicroBatches(pipeline, source, schema, versions, sinks, quarantine, self._report)
        calling = None if operators is None else operators.calling
        work.patterns = None if following is None else PatternStage(pipeline, source, calling)
        work.operators = operators
        self._report.step(None, "reading")
        if pipeline.streaming:
            self._stream(spark, work)
        else:
            self._finished(work.process(source.read(spark, streaming=False), None))
        self._summary.seconds = time.perf_counter() - begun
        self._summary.version = self._summary.version or versions.current().version
        return self._summary

    def _watch(
        self,
        spark: SparkSession,
        schema: Schema,
        following: ShardOptions | None,
        operators: OperatorStage | None,
        model: Model | None,
    ) -> EngineVersions:
        config = self._pipeline.subscriptions
        refresh = config.refresh.seconds if self._pipeline.streaming and config.refresh is not None else None
        store = store_of(config, spark)
        return watch(
            store,
            schema,
            refresh,
            following=following,
            calls=None if operators is None else operators.calls,
            calling=None if operators is None else operators.calling,
            model=model,
            accepted=self._accepted,
            refused=self._refused,
            aside=self._set_aside,
            strict=self._pipeline.subscriptions.strict,
        )

    def _warn_of_unmet(self, version: EngineVersion) -> None:
        """Warn of sinks that no subscription fits: not an error, as these may come later."""
        subscribers, ids = version.engine.subscribers, version.engine.ids
        for sink in self._pipeline.sinks:
            for wanted in unmet(sink, subscribers, ids):
                self._report.warn(f"the sink {sink.name} waits for {wanted}")

    def _warn_of_left_out(self, version: EngineVersion) -> None:
        """Warn of rules that are valid, but contain what cannot be matched."""
        given = self._pipeline.subscriptions
        if version.left_out:
            say, are = ("says", "is") if version.left_out == 1 else ("say", "are")
            self._report.warn(
                f"{counted(version.left_out, 'rule')} {say} what cannot be matched, and {are} left out: "
                f"`vedette check {given.rules} --dialect {given.dialect}` says why",
                lost=True,
            )

    def _accepted(self, version: EngineVersion) -> None:
        self._warn_of_left_out(version)
        self._report.note(
            f"New subscriptions: version {version.version} of {counted(len(version.engine), 'subscription')}, "
            "from the next micro-batch on"
        )

    def _set_aside(self, said: str) -> None:
        self._report.warn(f"{said} `strict = true` under [subscriptions] refuses them", lost=True)

    def _refused(self, refusal: VersionRefusal) -> None:
        self._report.warn(str(refusal), lost=True)

    # ------------------------------------------------------------ streams

    def _stream(self, spark: SparkSession, work: MicroBatches) -> None:
        checkpoint = str(self._pipeline.checkpoint)
        if self._storage is None:
            raise RuntimeError("a stream has a checkpoint")
        self._stack.callback(self._storage.unlock)
        log = SparkLog.of(self._storage)
        work.ledger = CheckpointLedger.open(
            self._storage,
            self._pipeline.facts(),
            work.versions.current(),
            log,
            calls_operators=work.operators is not None,
        )
        for note in work.ledger.notes:
            self._report.note(note[0].upper() + note[1:])
        work.stopping = lambda: self._stop.asked
        with on_signals(self._stop, self._report.note), _py4j_silent(), _setting(spark, _VERIFY_EMPTY, "false"):
            events = work.source.read(spark, streaming=True)
            writer = (
                (events if work.patterns is None else work.patterns.beside(events))
                .writeStream.queryName(self._pipeline.name)
                .option("checkpointLocation", checkpoint)
                .foreachBatch(work)
            )
            query = _triggered(writer, self._pipeline).start()
            try:
                self._follow(query, work)
            finally:
                with contextlib.suppress(Py4JError, PySparkException):  # errors were reported before
                    query.stop()

    def _follow(self, query: StreamingQuery, work: MicroBatches) -> None:
        """Watch the stream, and end it when that is asked for."""
        try:
            while not _ended(query, _SOON_S if self._stop.asked else _LOOK_S):
                self._tell(query, work)
                if self._stop.asked and not work.busy and not work.done:  # what is done is committed, too
                    break
        except PySparkException as error:
            if work.failure is not None:
                raise work.failure from error
            if not self._stop.asked:  # otherwise it is a micro-batch that was refused
                raise
        finally:
            self._tell(query, work, ended=True)
        self._summary.stopped = self._stop.asked

    def _tell(self, query: StreamingQuery, work: MicroBatches, *, ended: bool = False) -> None:
        """Report the micro-batches that Spark has committed."""
        if not work.done:
            return
        reached, told = -1, dict[int, dict[str, Any]]()
        with contextlib.suppress(Py4JError):  # Spark itself may be what came to an end
            for progress in recent_progress(query):
                reached = max(reached, progress["batchId"])
                if "addBatch" in progress["durationMs"]:  # else it only looked for events
                    told[progress["batchId"]] = progress
        while work.done and (ended or int(work.done[0].number or 0) in told or int(work.done[0].number or 0) < reached):
            report = work.done.popleft()
            said = told.get(int(report.number or 0))
            if said is not None:
                report.lag, report.spark = lag_of(said), said["durationMs"]
            self._finished(report)

    # ------------------------------------------------------------ afterwards

    def _finished(self, report: BatchReport) -> None:
        self._summary.add(report)
        self._report.batch(report)
        if self.metrics is not None:
            self.metrics.write(metrics_line(self._pipeline.name, report))

    def failed(self, error: BaseException) -> RunError:
        """The error for people; the whole traceback is written beside the checkpoint."""
        place = "--debug shows everything"
        if self._storage is not None:
            with contextlib.suppress(OSError):
                self._storage.write(_TRACE, whole(error).encode())
                place = f"everything is in {self._storage.name}/{_TRACE}, or run it again with --debug"
        return RunError(f"the pipeline {self._pipeline.name} cannot go on: {explained(error)}\nHint: {place}")


def _triggered(writer: DataStreamWriter, pipeline: Pipeline) -> DataStreamWriter:
    if pipeline.mode == "available-now":
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime="0 seconds" if pipeline.trigger is None else str(pipeline.trigger))


@contextlib.contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


@contextlib.contextmanager
def _py4j_silent() -> Iterator[None]:
    """Silence Py4J's own traces of errors in micro-batches, which are reported better here."""
    logger = logging.getLogger("py4j.clientserver")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _ended(query: StreamingQuery, seconds: float) -> bool:
    """Wait for the end of the stream, so long at most; a failure of the stream is raised."""
    return bool(query.awaitTermination(seconds))  # type: ignore[arg-type]  # fractions are fine
