"""Load subscriptions from a file into a set that can be compiled, with progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vedette.cli.event_streams import EventStream
from vedette.cli.terminal import Terminal, counted
from vedette.engine.subscriptions import Subscriptions
from vedette.io.loading import load_rows
from vedette.io.subscription_problems import BadSubscriptions
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.io.operator_calls import OperatorCalls


def load_subscriptions(
    file: SubscriptionRows,
    schema: Schema,
    terminal: Terminal,
    records: Iterable[SubscriptionRecord] | None = None,
    calls: OperatorCalls | None = None,
) -> Subscriptions:
    """Load a file; BadSubscriptions has the reason for every subscription that cannot be matched.

    `records` are those of the file, if they have been read already; `calls` takes those that call operators.
    """
    with terminal.working("reading subscriptions", "subscriptions") as bar:
        subscriptions = load_rows(
            file,
            schema,
            records=records,
            told=lambda number: bar.show(file.progress, number),
            patterns=True,
            calls=calls,
        )
    report_left_out(file, terminal)
    if file.expired:
        out = "is left out" if file.expired == 1 else "are left out"
        have = counted(file.expired, "subscription has", "subscriptions have")
        terminal.note(f"{have} expired and {out}")
    return subscriptions


def report_left_out(file: SubscriptionRows, terminal: Terminal) -> None:
    """Note how many rules of a folder cannot be matched, and how to find out why."""
    count = len(file.left_out)
    if not count:
        return
    rules = (
        "1 rule says what cannot be matched, and is left out"
        if count == 1
        else (f"{count:,} rules say what cannot be matched, and are left out")
    )
    terminal.warn(
        f"{rules}: `vedette check {file.name} --dialect {file.written.dialect}` says why, --strict refuses "
        f"{'it' if count == 1 else 'them'}",
        lost=True,
    )


def load_by_events(
    file: SubscriptionRows, events: EventStream, terminal: Terminal, calls: OperatorCalls | None = None
) -> Subscriptions:
    """Load subscriptions by the schema of the events; if events disagree about a type, subscriptions decide it."""
    if not events.can_settle:
        return load_subscriptions(file, events.schema, terminal, calls=calls)
    records = list(file)
    try:
        return load_subscriptions(file, events.schema, terminal, records, calls)
    except BadSubscriptions:
        changed = events.settle(record for record in records if record.refused is None)
        if not changed:
            raise
    subscriptions = load_subscriptions(file, events.schema, terminal, records, calls)
    for path, type_ in changed.items():
        terminal.warn(f"{path} is read as {type_}, as subscriptions expect; events with another value are rejected")
    return subscriptions
