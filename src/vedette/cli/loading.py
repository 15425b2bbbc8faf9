"""Subscriptions from a file into a set that can be compiled, while people see how far it is."""

from __future__ import annotations

from collections.abc import Iterable

from vedette.cli.terminal import Terminal
from vedette.files.loading import load_rows
from vedette.files.subscriptions import SubscriptionFile, SubscriptionRecord
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema


def load_subscriptions(
    file: SubscriptionFile, schema: Schema, terminal: Terminal, records: Iterable[SubscriptionRecord] | None = None
) -> Subscriptions:
    """The set that a file describes; BadSubscriptions says what is wrong with every one that cannot be matched.

    `records` are those of the file, where they have been read already.
    """
    with terminal.working("reading subscriptions", "subscriptions") as bar:
        subscriptions = load_rows(
            file, schema, records=records, told=lambda number: bar.show(file.progress, number), patterns=True
        )
    if file.expired:
        terminal.note(f"{file.expired:,} subscriptions have expired and are left out")
    return subscriptions
