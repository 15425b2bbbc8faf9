"""`vedette train`: learn from history how probably patterns complete, and what operators cost and say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from vedette.cli.choices import Engine
from vedette.cli.job import Counted, Tally
from vedette.cli.loading import load_by_events
from vedette.cli.operator_reports import failures_told, report_operators
from vedette.cli.places import refuse_clashes, refuse_unwritable
from vedette.cli.reports import note_schema, report_learnt, report_lost, report_rejects
from vedette.cli.streams import EventStream, paths_of
from vedette.cli.terminal import Terminal, counted
from vedette.composite.matcher import Counts, PatternMatcher
from vedette.composite.telling import asked
from vedette.errors import InputError
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher, columns_read
from vedette.files.operator_calls import OperatorCalls, patterns_call
from vedette.files.operator_filters import operator_filters
from vedette.files.output import RejectWriter
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import PLAINLY, Written, read_subscriptions
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.registry import Operators
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.context import Settings
from vedette.prediction.model import Model, Trainer
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What was asked for on the command line."""

    subscriptions: str
    history: str
    out: str
    context: int = 6
    schema: str | None = None
    operators: str | None = None
    engine: Engine = Engine.LOCAL
    rejects: str | None = None
    cap: int = 10_000
    subscriptions_format: str | None = None
    written: Written = PLAINLY
    events_format: str | None = None
    quiet: bool = False


def train(options: TrainOptions) -> None:
    """Write a model of all patterns that are to be forecast, and of all operators that are called."""
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
    tally = Tally()
    with ExitStack() as stack:
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        history = _history(options, terminal)
        stack.enter_context(history.calling)
        stack.enter_context(failures_told(terminal))
        learner = _learner(history, options, terminal)
        if aside is None:
            history.narrow()
        bar = stack.enter_context(terminal.working("learning", "events"))
        for done in learner.learn(Counted(aside, tally)):
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
    if any(record.predict is not None for record in history.patterns):
        report_learnt(history.patterns, model, terminal)
    if history.calls:
        report_operators(history.calling, terminal)
    elif options.operators is not None:
        terminal.note("Nothing calls an operator: --operators changes nothing here")
    seconds = time.perf_counter() - begin
    terminal.note(
        f"{counted(tally.events, 'event')}, {_sizes(history.subscriptions)}: {options.out} is written; "
        f"{seconds:.1f} s, {tally.events / max(seconds, 1e-9):,.0f} events/s"
    )


def _history(options: TrainOptions, terminal: Terminal) -> History:
    """What is to be learnt of, and from what."""
    given = None if options.schema is None else read_schema(options.schema)
    calls = OperatorCalls(options.operators)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    events = EventStream(options.history, options.events_format, given, replayed=options.engine is Engine.SPARK)
    if given is None:
        note_schema(events, terminal)
    learnt = _learnt_of(load_by_events(file, events, terminal, calls), options.subscriptions)
    return History(learnt, events, calls, given, file.name, options)


def _learner(history: History, options: TrainOptions, terminal: Terminal) -> Learner:
    if options.engine is Engine.LOCAL:
        return _Local(history)
    from vedette.cli.on_spark.train import SparkLearner

    return SparkLearner(history, terminal)


class Learner(Protocol):
    """An engine that learns."""

    @property
    def counts(self) -> Counts:
        """Events that did not count, and partial matches that were given up; once all is learnt."""

    def learn(self, output: Counted) -> Iterator[float | None]:
        """Learn from all events and count them; says from time to time how much of the source is done."""

    def model(self) -> Model:
        """What was learnt."""


class History:
    """Events as they happened, and what is to be learnt from them, by whichever engine."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        events: EventStream,
        calls: OperatorCalls,
        given: Schema | None,
        source: str,
        options: TrainOptions,
    ) -> None:
        self.subscriptions, self.events = subscriptions, events
        self.patterns = list(subscriptions.patterns.values())
        self.settings, self.keeps_rejects = Settings(context=options.context), options.rejects is not None
        in_patterns = patterns_call(self.patterns, events.schema)
        if in_patterns:
            calls.refuse_wrong(events.schema, source)
        self.calls = in_patterns or bool(subscriptions.with_operators)
        self.calling = Calling(calls.operators if self.calls else Operators())
        filters = operator_filters(subscriptions, calls, self.calling, source) if subscriptions.with_operators else None
        self.filters = filters
        self.nobody = Subscriptions(subscriptions.schema).compile("scan")
        wanted = asked(self.patterns, events.schema)
        columns = dict.fromkeys((*columns_read(self.nobody, given), *wanted.columns))
        if filters is not None:
            columns |= dict.fromkeys(filters.matcher.columns)
        self.columns = tuple(columns)
        self.matcher = PatternMatcher(
            self.patterns, events.schema, lateness=None, cap=options.cap, calling=self.calling
        )
        self._paths = wanted.paths | paths_of(columns)
        callers = (None if filters is None else filters.matcher, self.matcher.operators)
        self.callers = [each for each in callers if each is not None]

    def narrow(self) -> None:
        """Read no column that nobody looks at."""
        if all(each.paths is not None for each in self.callers):
            self.events.only(self._paths.union(*(each.named for each in self.callers)))


class _Local:
    """Learns in this process."""

    def __init__(self, history: History) -> None:
        self._history, self._matcher = history, history.matcher
        self._chunks = ChunkMatcher(history.nobody, history.columns, operators=history.filters)
        self._trainer = Trainer(history.patterns, history.settings)

    @property
    def counts(self) -> Counts:
        """Of the patterns."""
        return self._matcher.counts

    def learn(self, output: Counted) -> Iterator[float | None]:
        """Chunk by chunk; patterns see all events in the order of their time, at the end."""
        for chunk in self._history.events:
            self._see(chunk, output)
            yield self._history.events.progress
        self._trainer.see(self._matcher.finish().observations)

    def _see(self, chunk: EventChunk, output: Counted) -> None:
        rejects: list[RejectedEvent] = []
        read = 0
        shared = Shared(chunk.rows, {}) if len(self._history.callers) > 1 else None
        for found in self._chunks.match(chunk, shared):
            read += found.read
            rejects += found.rejects
        fine = chunk.without({reject.row for reject in rejects})
        untimed: list[Reject] = []
        source = None
        if self._matcher.operators is not None:
            shared = shared and shared._replace(numbers=fine.rows)
            source = EventSource(fine.events, self._matcher.schema, fine.ids, shared)
        outcome = self._matcher.process(fine.events, ids=fine.own_ids.to_pylist(), rejects=untimed, source=source)
        rejects = sorted(rejects + fine.rejected(untimed), key=lambda reject: reject.row)
        output.count(read, len(rejects), rejects)
        self._trainer.see(outcome.observations)

    def model(self) -> Model:
        """What was learnt so far."""
        return self._trainer.model(self._history.calling.statistics)


def _learnt_of(subscriptions: Subscriptions, source: str) -> Subscriptions:
    """Those that ask for forecasts, or call operators."""
    learnt = Subscriptions(subscriptions.schema)
    for id_ in subscriptions:
        record = subscriptions.patterns.get(id_)
        if record is not None and (record.predict is not None or patterns_call([record], subscriptions.schema)):
            learnt.add(id_, record.text, subscriber=record.subscriber, predict=record.predict)
        elif id_ in subscriptions.with_operators:
            learnt.add(id_, subscriptions.with_operators[id_].text)
    if not len(learnt):
        raise InputError(
            f"{source} has no pattern that asks for forecasts, and nothing in it calls operators\n"
            """Hint: give a pattern e.g. "predict": {"within": 10, "threshold": 0.8}"""
        )
    return learnt


def _sizes(subscriptions: Subscriptions) -> str:
    patterns, filters = len(subscriptions.patterns), len(subscriptions.with_operators)
    parts = [counted(patterns, "pattern")] if patterns or not filters else []
    return ", ".join([*parts, *([counted(filters, "filter") + " with operators"] if filters else [])])
