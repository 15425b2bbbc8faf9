"""Subscriptions from a file into a set that can be compiled: all of them, or every reason why not."""

from __future__ import annotations

from collections.abc import Iterable

from vedette.cli.problems import FILTERS_ONLY, BadSubscriptions, Problem, refusal
from vedette.cli.terminal import Terminal
from vedette.errors import FilterError, NotSupported
from vedette.files.subscriptions import SubscriptionFile, SubscriptionRecord
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema

_STRIDE = 4096  # records between two looks at the progress


def load_subscriptions(
    file: SubscriptionFile, schema: Schema, terminal: Terminal, records: Iterable[SubscriptionRecord] | None = None
) -> Subscriptions:
    """The set that a file describes; BadSubscriptions says what is wrong with every one that cannot be matched.

    `records` are those of the file, where they have been read already.
    """
    subscriptions = Subscriptions(schema)
    problems: list[Problem] = []
    with terminal.working("reading subscriptions", "subscriptions") as bar:
        for number, record in enumerate(file if records is None else records, 1):
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
            error: FilterError | NotSupported | None = refusal(record)
            if error is None:
                try:
                    subscriptions.add(record.id, record.when, subscriber=record.subscriber)
                    continue
                except FilterError as wrong:
                    error = wrong
                except NotSupported as more:
                    error = NotSupported(f"{more}: {FILTERS_ONLY}\nHint: leave it out, or write it as a filter")
            problems.append(Problem.of_error(record, error))
    problems += map(Problem.of_reject, file.rejects)
    if problems:
        raise BadSubscriptions(file.source.name, problems, "nothing was written")
    if file.expired:
        terminal.note(f"{file.expired:,} subscriptions have expired and are left out")
    return subscriptions
