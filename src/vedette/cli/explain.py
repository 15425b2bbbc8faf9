"""`vedette explain`: why an event matched a subscription, or why not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from vedette.cli.event_streams import EventStream
from vedette.cli.file_paths import refuse_clashes
from vedette.cli.id_lookup import find_event, find_subscription, python_events
from vedette.cli.input_warnings import report_learnt
from vedette.cli.operator_reports import first_failures_logged
from vedette.cli.subscription_loading import load_by_events
from vedette.cli.terminal import Terminal, output_console, styled
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, NotSupported, SchemaError
from vedette.filters.index import AT_ONCE
from vedette.io.chunk_stepper import ChunkStepper
from vedette.io.operator_calls import OperatorCalls
from vedette.io.schemas import read_schema
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem, refusal
from vedette.io.subscription_rows import PLAINLY, SubscriptionRecord, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.operators.registry import DEFAULT_PLANNER
from vedette.schema.schema import Schema

_PIECE = 4096  # events between two looks at the progress
_EXPLAINED = 2_000  # events that did not match, whose reasons are looked into where each may call operators


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of the command line."""

    subscriptions: str
    events: str
    subscription: str
    event: str | None = None
    schema: str | None = None
    model: str | None = None
    picture: str | None = None
    operators: str | None = None
    planner: str | None = None
    subscriptions_format: str | None = None
    written: Written = PLAINLY
    events_format: str | None = None
    quiet: bool = False


def explain(options: ExplainOptions) -> None:
    """Write the explanation to standard output."""
    refuse_clashes(
        {
            "SUBSCRIPTIONS": options.subscriptions,
            "EVENTS": options.events,
            "--schema": options.schema,
            "--model": options.model,
            "--operators": options.operators,
        },
        {"--picture": options.picture},
    )
    terminal = Terminal(quiet=options.quiet)
    given = None if options.schema is None else read_schema(options.schema)
    record = find_subscription(
        options.subscriptions, options.subscriptions_format, options.subscription, options.written
    )
    if record.expires is not None and record.expires <= dt.datetime.now(dt.UTC):
        terminal.note(f"The subscription expired on {record.expires:%Y-%m-%d %H:%M} UTC: `match` leaves it out")
    events = EventStream(options.events, options.events_format, given)
    with terminal.working("inferring the schema"):
        schema = events.schema
    try:
        _check(record, schema, options.subscriptions)
    except BadSubscriptions:
        if not events.settle([record]):
            raise
        _check(record, events.schema, options.subscriptions)
    with first_failures_logged(terminal), _engine(record, events.schema, options) as engine:
        if engine.has_state:
            _explain_pattern(record, engine, events, options, terminal)
            return
        if engine.calls_operators and options.picture is not None:
            terminal.note("A filter has no machine: --picture changes nothing here")
        elif not engine.calls_operators and (options.picture is not None or options.model is not None):
            terminal.note("A filter has neither a machine nor a model: --picture and --model change nothing here")
        if not engine.calls_operators:
            events.only(engine.paths)
        if options.event is None:
            _explain_all(record, engine, events, terminal)
        else:
            _explain_one(record, engine, events, options, terminal)


def _engine(record: SubscriptionRecord, schema: Schema, options: ExplainOptions) -> Engine:
    """The engine of this subscription alone; a plain filter needs neither a model nor operators."""
    alone = Subscriptions(schema)
    alone.add(record.id, record.when, subscriber=record.subscriber, predict=record.predict)
    if not alone.has_state(record.id) and not alone.calls_operators(record.id):
        return alone.compile(AT_ONCE)
    model = None
    if options.model is not None:
        from vedette.patterns.forecasts.model import Model

        model = Model.load(options.model)
    operators = OperatorCalls(options.operators).operators
    return alone.compile(operators=operators, planner=options.planner or DEFAULT_PLANNER, model=model)


def _check(record: SubscriptionRecord, schema: Schema, source: str) -> None:
    """Raise BadSubscriptions if the subscription is invalid."""
    try:
        refused = refusal(record, patterns=True)
        if refused is not None:
            raise refused
        check(parse(record.when), schema, record.when)
    except (FilterError, NotSupported) as error:
        raise BadSubscriptions(
            source, [SubscriptionProblem.of_error(record, error)], "there is nothing to explain"
        ) from None


def _explain_one(
    record: SubscriptionRecord, engine: Engine, events: EventStream, options: ExplainOptions, terminal: Terminal
) -> None:
    if engine.calls_operators:  # their plan is made for all subscriptions together
        engine = engine.changed(_all_of(record, events, options, terminal))
    id_ = str(options.event)
    with terminal.working(f"looking for event {id_}", "events"):
        event = find_event(events, id_)
    try:
        explanation = engine.explain(event, record.id)
    except SchemaError as error:
        raise SchemaError(f"event {id_!r} breaks the schema, so `match` rejects it: {error}") from None
    _show(record, f"event {id_}", explanation)


def _all_of(
    record: SubscriptionRecord, events: EventStream, options: ExplainOptions, terminal: Terminal
) -> Subscriptions:
    """All subscriptions of the file, and this one."""
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    subscriptions = load_by_events(file, events, terminal)
    if record.id not in subscriptions:  # it has expired
        subscriptions.add(record.id, record.when, subscriber=record.subscriber)
    return subscriptions


def _explain_pattern(
    record: SubscriptionRecord, engine: Engine, events: EventStream, options: ExplainOptions, terminal: Terminal
) -> None:
    from vedette.cli.explain_pattern import PatternEvents, check_picture, draw, explained

    if options.picture is not None:
        check_picture(options.picture)
    seen = PatternEvents(engine, record.id, events)
    if engine.model is not None:
        report_learnt(engine, engine.model, terminal, called=engine.calls_operators)
    seen.report(terminal)
    forecast = None
    if options.event is None:
        with terminal.working("following the pattern"):
            lines = list(seen.overview())
        _show_lines(record, f"all {len(seen):,} events", lines)
    else:
        explanation, forecast = explained(seen, options.event, terminal)
        _show(record, f"event {options.event}", explanation)
        if forecast is not None:
            output_console().print(str(forecast), markup=False)
    if options.picture is not None:
        draw(options.picture, seen.pattern, forecast)


def _explain_all(record: SubscriptionRecord, engine: Engine, events: EventStream, terminal: Terminal) -> None:
    """Print how many events match a filter, and which tests kept the others from matching it."""
    missed = _MissedEvents(ChunkStepper(engine), events, most=_EXPLAINED if engine.calls_operators else None)
    with terminal.working("explaining", "events") as bar:
        missed.shown = lambda: bar.show(events.progress, missed.total)
        failing = engine.failing(iter(missed), record.id)
    unmatched = missed.total - missed.matched
    aside = f" {missed.rejected:,} more cannot be read or break the schema." if missed.rejected else ""
    lines = [f"{missed.matched:,} match, {unmatched:,} do not.{aside}"]
    if failing:
        of = "" if missed.told == unmatched else f" (of the first {missed.told:,} that did not)"
        lines.append(f"What kept them from matching, most often first{of}:")
    lines += [f"{count:>12,}  {count / max(1, missed.told):>6.1%}  {text}" for text, count in failing]
    if engine.calls_operators:
        counts = engine.counts
        lines.append(
            f"Operators: {counts.made:,} evaluations made of {counts.asked:,} that were asked for, "
            f"for {counts.events:,} of {missed.total:,} events."
        )
    _show_lines(record, f"all {missed.total:,} events" if not engine.calls_operators else "all events", lines)


class _MissedEvents:
    """The events that a set does not match, one after the other, with counts of all events."""

    def __init__(self, stepper: ChunkStepper, events: EventStream, most: int | None) -> None:
        self._stepper, self._events, self._most = stepper, events, most
        self.total = self.matched = self.rejected = self.told = 0
        self.shown: Callable[[], None] = lambda: None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for chunk in self._events:
            for found in self._stepper.step(chunk):
                missed = np.ones(found.size, np.bool_)
                missed[found.events() - found.begin] = False
                missed[found.rejected - found.begin] = False
                self.total += found.size - len(found.rejected)
                self.matched += len(found.outcomes)
                self.rejected += len(found.rejects)
                places = np.flatnonzero(missed) + found.begin
                if self._most is not None:
                    places = places[: self._most - self.told]
                self.told += len(places)
                for begin in range(0, len(places), _PIECE):
                    yield from python_events(chunk, places[begin : begin + _PIECE])
                    self.shown()
            self.shown()


def _show(record: SubscriptionRecord, what: str, explanation: object) -> None:
    _show_heading(record, what)
    for line in styled(explanation):
        output_console().print(line)


def _show_lines(record: SubscriptionRecord, what: str, lines: Iterable[str]) -> None:
    _show_heading(record, what)
    for line in lines:
        output_console().print(line, markup=False)


def _show_heading(record: SubscriptionRecord, what: str) -> None:
    whose = f" of {record.subscriber}" if record.subscriber else ""
    console = output_console()
    console.print(Text.assemble(("Subscription ", "dim"), (record.id, "bold"), (f"{whose}, ", "dim"), (what, "bold")))
    rule = "" if record.origin is None else str(record.origin)
    if rule:
        console.print(Text.assemble(("Rule ", "dim"), rule))
