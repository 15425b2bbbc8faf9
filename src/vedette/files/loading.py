"""Subscriptions as they were read into a set that can be compiled: all of them, or every reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vedette.errors import FilterError, NotSupported
from vedette.files.problems import FILTERS_ONLY, BadSubscriptions, Problem, refusal
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.schema import Schema

_STRIDE = 4096  # records between two looks at the progress


def load_rows(
    rows: SubscriptionRows,
    schema: Schema,
    *,
    records: Iterable[SubscriptionRecord] | None = None,
    consequence: str = "nothing was written",
    told: Callable[[int], None] | None = None,
) -> Subscriptions:
    """The set that rows describe; BadSubscriptions says what is wrong with every one that cannot be matched.

    `records` are those of the rows, where they have been read already; `told` hears now and then how many were read.
    """
    subscriptions = Subscriptions(schema)
    problems: list[Problem] = []
    for number, record in enumerate(rows if records is None else records, 1):
        if told is not None and number % _STRIDE == 0:
            told(number)
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
    problems += map(Problem.of_reject, rows.rejects)
    if problems:
        raise BadSubscriptions(rows.name, problems, consequence)
    return subscriptions
