"""`vedette explain`: why an event matched a subscription, or why not."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from vedette.cli.explanations import styled
from vedette.cli.lookup import find_event, find_subscription, python_events
from vedette.cli.operator_reports import failures_told
from vedette.cli.places import refuse_clashes
from vedette.cli.reports import report_learnt
from vedette.cli.streams import EventStream, paths_of
from vedette.cli.terminal import Terminal, output_console
from vedette.errors import FilterError, NotSupported, SchemaError
from vedette.files.operator_calls import OperatorCalls, has_operators, patterns_call
from vedette.files.problems import BadSubscriptions, Problem, refusal
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import PLAINLY, SubscriptionRecord, Written, read_subscriptions
from vedette.language.ast import Composite
from vedette.language.check import check
from vedette.language.checked import Checked, leaves
from vedette.language.parser import parse
from vedette.matching.explain import explain as explain_event
from vedette.matching.explain import failing
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.operators.calling import Calling
    from vedette.prediction.model import Model

_PIECE = 4096  # events between two looks at the progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What was asked for on the command line."""

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
        checked = _checked(record, schema, options.subscriptions)
    except BadSubscriptions:
        if not events.settle([record]):
            raise
        checked = _checked(record, events.schema, options.subscriptions)
    if isinstance(checked.expression, Composite):
        with failures_told(terminal):
            _explain_pattern(record, checked.expression, events, options, terminal)
        return
    called = has_operators(checked)
    if called and options.picture is not None:
        terminal.note("A filter has no machine: --picture changes nothing here")
    elif not called and (options.picture is not None or options.model is not None):
        terminal.note("A filter has neither a machine nor a model: --picture and --model change nothing here")
    if called:
        with failures_told(terminal):
            _explain_with_operators(record, events, options, terminal)
        return
    events.only(paths_of(checked.columns()))
    if options.event is None:
        _explain_all(record, checked, events, terminal)
    else:
        _explain_one(record, checked, events, options.event, terminal)


def _checked(record: SubscriptionRecord, schema: Schema, source: str) -> Checked:
    try:
        refused = refusal(record, patterns=True)
        if refused is not None:
            raise refused
        return check(parse(record.when), schema, record.when)
    except (FilterError, NotSupported) as error:
        raise BadSubscriptions(source, [Problem.of_error(record, error)], "there is nothing to explain") from None


def _explain_one(
    record: SubscriptionRecord, checked: Checked, events: EventStream, id_: str, terminal: Terminal
) -> None:
    with terminal.working(f"looking for event {id_}", "events"):
        event = find_event(events, id_)
    try:
        explanation = explain_event(checked, event)
    except SchemaError as error:
        raise SchemaError(f"event {id_!r} breaks the schema, so `match` rejects it: {error}") from None
    console = output_console()
    _show_heading(record, f"event {id_}")
    for line in styled(explanation):
        console.print(line)


def _explain_with_operators(
    record: SubscriptionRecord, events: EventStream, options: ExplainOptions, terminal: Terminal
) -> None:
    from vedette.cli.explain_operators import explained, overview

    calling = _calling(options, _model(options))
    console = output_console()
    if options.event is None:
        lines = list(overview(record, events, calling, terminal))
        _show_heading(record, "all events")
        for line in lines:
            console.print(line, markup=False)
        return
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    explanation = explained(record, file, events, options.event, calling, terminal)
    _show_heading(record, f"event {options.event}")
    for text in styled(explanation):
        console.print(text)


def _model(options: ExplainOptions) -> Model | None:
    from vedette.prediction.model import Model

    return None if options.model is None else Model.load(options.model)


def _calling(options: ExplainOptions, model: Model | None) -> Calling:
    from vedette.operators.calling import Calling
    from vedette.operators.planners import DEFAULT

    operators = OperatorCalls(options.operators).operators
    return Calling(operators, options.planner or DEFAULT, None if model is None else model.operators)


def _explain_pattern(
    record: SubscriptionRecord, composite: Composite, events: EventStream, options: ExplainOptions, terminal: Terminal
) -> None:
    from vedette.cli.explain_pattern import PatternEvents, check_picture, draw, explained

    if options.picture is not None:
        check_picture(options.picture)
    model = _model(options)
    alone = Subscriptions(events.schema)
    alone.add(record.id, record.when, subscriber=record.subscriber, predict=record.predict)
    seen = PatternEvents(composite, alone.patterns[record.id], events, _calling(options, model))
    if model is not None:
        report_learnt(
            alone.patterns.values(), model, terminal, called=patterns_call(alone.patterns.values(), events.schema)
        )
    seen.report(terminal)
    console = output_console()
    forecast = None
    if options.event is None:
        with terminal.working("following the pattern"):
            lines = list(seen.overview())
        _show_heading(record, f"all {len(seen):,} events")
        for line in lines:
            console.print(line, markup=False)
    else:
        explanation, forecast = explained(seen, options.event, model, terminal)
        _show_heading(record, f"event {options.event}")
        for text in styled(explanation):
            console.print(text)
        if forecast is not None:
            console.print(str(forecast), markup=False)
    if options.picture is not None:
        draw(options.picture, composite, record.when, forecast)


def _explain_all(record: SubscriptionRecord, checked: Checked, events: EventStream, terminal: Terminal) -> None:
    assert checked.root is not None  # it is a filter
    alone = Subscriptions(events.schema)
    alone.add(record.id, record.when)
    matcher = alone.compile("scan")
    counts: Counter[int] = Counter()
    total = matched = rejected = 0
    with terminal.working("explaining", "events") as bar:
        for chunk in events:
            refused: list[Any] = []
            rows = matcher.match_rows(chunk.events, rejects=refused)
            misses = np.diff(rows.start) == 0
            misses[[one.row for one in refused]] = False
            total += len(chunk) - len(refused)
            matched += len(rows.subscription)
            rejected += len(refused) + len(chunk.rejects)
            places = np.flatnonzero(misses)
            for begin in range(0, len(places), _PIECE):
                found = failing(checked, python_events(chunk, places[begin : begin + _PIECE]))
                counts.update({id(leaf): count for leaf, count in found})
                bar.show(events.progress, total)
    console = output_console()
    _show_heading(record, f"all {total:,} events")
    aside = f" {rejected:,} more cannot be read or break the schema." if rejected else ""
    console.print(f"{matched:,} match, {total - matched:,} do not.{aside}")
    if counts:
        console.print("What kept them from matching, most often first:")
    in_order = sorted((leaf for leaf in leaves(checked.root) if id(leaf) in counts), key=lambda leaf: -counts[id(leaf)])
    for leaf in in_order:
        count = counts[id(leaf)]
        console.print(f"{count:>12,}  {count / max(1, total - matched):>6.1%}  {checked.text_of(leaf)}", markup=False)


def _show_heading(record: SubscriptionRecord, what: str) -> None:
    whose = f" of {record.subscriber}" if record.subscriber else ""
    console = output_console()
    console.print(Text.assemble(("Subscription ", "dim"), (record.id, "bold"), (f"{whose}, ", "dim"), (what, "bold")))
    rule = "" if record.origin is None else str(record.origin)
    if rule:
        console.print(Text.assemble(("Rule ", "dim"), rule))
