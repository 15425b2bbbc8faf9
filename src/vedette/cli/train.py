"""`vedette train`: learn from history how probably patterns complete, and what operators cost and say."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

from vedette.cli.job import Tally
from vedette.cli.loading import load_by_events
from vedette.cli.operator_reports import failures_told, report_operators
from vedette.cli.places import refuse_clashes, refuse_unwritable
from vedette.cli.reports import note_schema, report_learnt, report_lost, report_rejects
from vedette.cli.streams import EventStream, paths_of
from vedette.cli.terminal import Terminal, counted
from vedette.composite.matcher import PatternMatcher
from vedette.composite.telling import asked
from vedette.errors import InputError
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher, columns_read
from vedette.files.operator_calls import OperatorCalls, patterns_call
from vedette.files.operator_filters import operator_filters
from vedette.files.output import RejectWriter
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import read_subscriptions
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
    rejects: str | None = None
    cap: int = 10_000
    subscriptions_format: str | None = None
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
    with ExitStack() as stack:
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        history = _history(options, terminal)
        stack.enter_context(history.calling)
        stack.enter_context(failures_told(terminal))
        if aside is None:
            history.narrow()
        bar = stack.enter_context(terminal.working("learning", "events"))
        for chunk in history.events:
            rejects = history.see(chunk)
            if aside is not None:
                aside.write(rejects)
            bar.show(history.events.progress, history.tally.events)
        model = history.model()
        with terminal.working("writing the model"):
            model.save(options.out)
    tally, patterns = history.tally, history.subscriptions.patterns
    report_rejects(tally, options.rejects, terminal)
    report_lost(history.matcher.counts, None, options.cap, terminal)
    if any(record.predict is not None for record in patterns.values()):
        report_learnt(patterns.values(), model, terminal)
    if history.calls:
        report_operators(history.calling, terminal)
    elif options.operators is not None:
        terminal.note("Nothing calls an operator: --operators changes nothing here")
    seconds = time.perf_counter() - begin
    terminal.note(
        f"{counted(tally.events, 'event')}, {_sizes(history.subscriptions)}: {options.out} is written; "
        f"{seconds:.1f} s, {tally.events / max(seconds, 1e-9):,.0f} events/s"
    )


def _history(options: TrainOptions, terminal: Terminal) -> _History:
    """What is to be learnt of, and from what."""
    given = None if options.schema is None else read_schema(options.schema)
    calls = OperatorCalls(options.operators)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format)
    events = EventStream(options.history, options.events_format, given)
    if given is None:
        note_schema(events, terminal)
    learnt = _learnt_of(load_by_events(file, events, terminal, calls), options.subscriptions)
    return _History(learnt, events, calls, given, file.name, options)


class _History:
    """Events as they happened, and everything that learns from them."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        events: EventStream,
        calls: OperatorCalls,
        given: Schema | None,
        source: str,
        options: TrainOptions,
    ) -> None:
        self.subscriptions, self.events, self.tally = subscriptions, events, Tally()
        patterns = subscriptions.patterns.values()
        in_patterns = patterns_call(patterns, events.schema)
        if in_patterns:
            calls.refuse_wrong(events.schema, source)
        self.calls = in_patterns or bool(subscriptions.with_operators)
        self.calling = Calling(calls.operators if self.calls else Operators())
        filters = operator_filters(subscriptions, calls, self.calling, source) if subscriptions.with_operators else None
        nobody = Subscriptions(subscriptions.schema).compile("scan")
        wanted = asked(patterns, events.schema)
        columns = dict.fromkeys((*columns_read(nobody, given), *wanted.columns))
        if filters is not None:
            columns |= dict.fromkeys(filters.matcher.columns)
        self._chunks = ChunkMatcher(nobody, tuple(columns), operators=filters)
        self.matcher = PatternMatcher(patterns, events.schema, lateness=None, cap=options.cap, calling=self.calling)
        self._paths = wanted.paths | paths_of(columns)
        callers = (None if filters is None else filters.matcher, self.matcher.operators)
        self._callers = [each for each in callers if each is not None]
        self._trainer = Trainer(patterns, Settings(context=options.context))

    def narrow(self) -> None:
        """Read no column that nobody looks at."""
        if all(each.paths is not None for each in self._callers):
            self.events.only(self._paths.union(*(each.named for each in self._callers)))

    def see(self, chunk: EventChunk) -> list[RejectedEvent]:
        """Learn from some events; those that cannot be learnt from."""
        rejects: list[RejectedEvent] = []
        shared = Shared(chunk.rows, {}) if len(self._callers) > 1 else None
        for found in self._chunks.match(chunk, shared):
            self.tally.count(found.read, len(found.rejects), found.rejects)
            rejects += found.rejects
        fine = chunk.without({reject.row for reject in rejects})
        untimed: list[Reject] = []
        source = None
        if self.matcher.operators is not None:
            shared = shared and shared._replace(numbers=fine.rows)
            source = EventSource(fine.events, self.matcher.schema, fine.ids, shared)
        outcome = self.matcher.process(fine.events, ids=fine.own_ids.to_pylist(), rejects=untimed, source=source)
        self.tally.count(0, len(untimed), fine.rejected(untimed))
        self._trainer.see(outcome.observations)
        return rejects + fine.rejected(untimed)

    def model(self) -> Model:
        """What was learnt; InputError if there was nothing to learn from."""
        self._trainer.see(self.matcher.finish().observations)
        if self.tally.events == self.tally.rejected:
            why = "all of its events are rejected" if self.tally.events else "it has no events"
            raise InputError(
                f"nothing can be learnt from {self.events.name}: {why}\n"
                "Hint: a history is events as they happened, with the attributes that the subscriptions speak of"
            )
        return self._trainer.model(self.calling.statistics)


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
