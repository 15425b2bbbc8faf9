"""`vedette train`: learn from history how probably patterns complete, and statistics of operators."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from vedette.cli.choices import EngineChoice as Host
from vedette.cli.event_streams import EventStream, paths_of
from vedette.cli.file_paths import refuse_clashes, refuse_unwritable
from vedette.cli.input_warnings import note_schema, report_learnt, report_lost, report_rejects
from vedette.cli.match_job import InputCounter, JobTally
from vedette.cli.operator_reports import first_failures_logged, report_operators
from vedette.cli.subscription_loading import load_by_events
from vedette.cli.terminal import Terminal, counted, counted_kinds
from vedette.engine.engine import Engine
from vedette.engine.state import StreamOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, NotSupported
from vedette.io.chunk_stepper import ChunkStepper, promised_columns
from vedette.io.operator_calls import OperatorCalls
from vedette.io.output import RejectWriter
from vedette.io.schemas import read_schema
from vedette.io.subscription_rows import PLAINLY, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.matcher import PatternCounts
from vedette.patterns.witness_names import TIME
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """The options of the command line."""

    subscriptions: str
    history: str
    out: str
    context: int = 6
    schema: str | None = None
    operators: str | None = None
    engine: Host = Host.LOCAL
    rejects: str | None = None
    cap: int = 10_000
    subscriptions_format: str | None = None
    written: Written = PLAINLY
    events_format: str | None = None
    quiet: bool = False


def train(options: TrainOptions) -> None:
    """Write a model of all patterns with forecasts, and of all operators that are called."""
    refuse_clashes(
        {
            "SUBSCRIPTIONS": options.subscriptions,
            "HISTORY": options.history,
            "--schema": options.schema,
            "--operators": options.operators,
        },
        {"--output": options.out, "--rejects": options.rejects},
    )
    refuse_unwritable(options.out)
    terminal = Terminal(quiet=options.quiet)
    begin = time.perf_counter()
    tally = JobTally()
    with ExitStack() as stack:
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        history = _history(options, terminal)
        stack.enter_context(history.calling)
        stack.enter_context(first_failures_logged(terminal))
        learner = _learner(history, options, terminal)
        if aside is None:
            history.narrow()
        bar = stack.enter_context(terminal.working("learning", "events"))
        for done in learner.learn(InputCounter(aside, tally)):
            bar.show(done, tally.events)
        if tally.events == tally.rejected:
            why = "all of its events are rejected" if tally.events else "it has no events"
            raise InputError(
                f"nothing can be learnt from {history.events.name}: {why}\n"
                "Hint: a history is events as they happened, with the attributes that the subscriptions speak of"
            )
        model = learner.model()
        with terminal.working("writing the model"):
            model.save(options.out)
    report_rejects(tally, options.rejects, terminal)
    report_lost(learner.counts, None, options.cap, terminal)
    engine = history.engine
    if engine.forecasts:
        report_learnt(engine, model, terminal)
    if engine.calls_operators:
        report_operators(history.calling, terminal)
    elif options.operators is not None:
        terminal.note("Nothing calls an operator: --operators changes nothing here")
    seconds = time.perf_counter() - begin
    terminal.note(
        f"{counted(tally.events, 'event')}, {', '.join(counted_kinds(engine.kinds))}: {options.out} is written; "
        f"{seconds:.1f} s, {tally.events / max(seconds, 1e-9):,.0f} events/s"
    )


def _history(options: TrainOptions, terminal: Terminal) -> TrainingHistory:
    """The history and the subscriptions that learn from it."""
    given = None if options.schema is None else read_schema(options.schema)
    calls = OperatorCalls(options.operators)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    events = EventStream(options.history, options.events_format, given, replayed=options.engine is Host.SPARK)
    if given is None:
        with terminal.working("inferring the schema"):
            _ = events.schema
    learnt = _learnt_of(load_by_events(file, events, terminal, calls), options.subscriptions)
    try:
        engine = learnt.compile(operators=calls.needed(events.schema))
    except (FilterError, NotSupported):
        calls.refuse_wrong(events.schema, file.name)
        raise
    history = TrainingHistory(engine, events, given, options)
    if given is None:
        note_schema(events.schema, events.name, terminal, history.paths)
    return history


def _learner(history: TrainingHistory, options: TrainOptions, terminal: Terminal) -> ModelLearner:
    if options.engine is Host.LOCAL:
        return _LocalLearner(history)
    from vedette.cli.on_spark.train import SparkLearner

    return SparkLearner(history, terminal)


class ModelLearner(Protocol):
    """An engine that trains a model."""

    @property
    def counts(self) -> PatternCounts:
        """Counts of ignored events and of partial matches given up; complete at the end."""

    def learn(self, output: InputCounter) -> Iterator[float | None]:
        """Learn from all events and count them; reports progress from time to time."""

    def model(self) -> Model:
        """The trained model."""


class TrainingHistory:
    """The events of a history, and the subscriptions that learn from it, for this process or Spark."""

    def __init__(self, engine: Engine, events: EventStream, given: Schema | None, options: TrainOptions) -> None:
        self.engine, self.events = engine, events
        self.settings, self.keeps_rejects = ForecastSettings(context=options.context), options.rejects is not None
        self.terms = StreamOptions(None, cap=options.cap, promised=promised_columns(given), train=self.settings)
        self.paths = engine.paths | paths_of(self.terms.promised) | {TIME}
        self.calling = engine.calling

    def narrow(self) -> None:
        """Read only the columns that are needed."""
        if not self.engine.reads_whole_events:
            self.events.only(self.paths)


class _LocalLearner:
    """Trains in this process."""

    def __init__(self, history: TrainingHistory) -> None:
        self._history = history
        self._stepper = ChunkStepper(history.engine, history.terms)

    @property
    def counts(self) -> PatternCounts:
        """The counts of the patterns."""
        return self._stepper.state.patterns.counts

    def learn(self, output: InputCounter) -> Iterator[float | None]:
        """Learn chunk by chunk; patterns learn from all events in the order of their time, at the end."""
        for chunk in self._history.events:
            for found in self._stepper.step(chunk):
                output.count(found.read, len(found.rejects), found.rejects)
            yield self._history.events.progress
        self._stepper.finish()

    def model(self) -> Model:
        """The model learned so far."""
        return self._stepper.state.forecaster.model().knowing(self._history.calling.statistics)


def _learnt_of(subscriptions: Subscriptions, source: str) -> Subscriptions:
    """The subscriptions that have forecasts, or call operators."""
    learnt = subscriptions.learning()
    if not len(learnt):
        raise InputError(
            f"{source} has no pattern that asks for forecasts, and nothing in it calls operators\n"
            """Hint: give a pattern e.g. "predict": {"within": 10, "threshold": 0.8}"""
        )
    return learnt
