"""Subscriptions as they were read into a set that can be compiled: all of them, or every reason why not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vedette.errors import FilterError, NotSupported
from vedette.files.problems import FILTERS_ONLY, LEAVE_IT_OUT, BadSubscriptions, Problem, refusal
from vedette.files.rules import LeftOut
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows, Written, read_subscriptions
from vedette.matching.subscriptions import Subscriptions, schema_of
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.files.operator_calls import OperatorCalls

_STRIDE = 4096  # records between two looks at the progress


def load_subscriptions(
    place: str | os.PathLike[str],
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    dialect: str | None = None,
    pipelines: Sequence[str] = (),
    format: str | None = None,
    left_out: list[LeftOut] | None = None,
) -> Subscriptions:
    """The set that a file holds, or a folder of rules of another `dialect`; BadSubscriptions says all that is wrong.

    Rules of a folder that say what cannot be matched are an error, or, if a list is handed in as `left_out`, are put
    there. `pipelines` are those of pySigma, by which rules of Sigma are translated.
    """
    written = Written(dialect, tuple(pipelines), strict=left_out is None)
    rows = read_subscriptions(place, format=format, written=written)
    made = load_rows(rows, schema_of(schema), consequence="nothing was loaded", patterns=True)
    if left_out is not None:
        left_out += [LeftOut(record.id, record.place or "", str(error)) for record, error in rows.left_out]
    return made


def load_rows(
    rows: SubscriptionRows,
    schema: Schema,
    *,
    records: Iterable[SubscriptionRecord] | None = None,
    consequence: str = "nothing was written",
    told: Callable[[int], None] | None = None,
    patterns: bool = False,
    operators: bool | None = None,
    calls: OperatorCalls | None = None,
) -> Subscriptions:
    """The set that rows describe; BadSubscriptions says what is wrong with every one that cannot be matched.

    `records` are those of the rows, where they have been read already; `told` hears now and then how many were read.
    Where `patterns` can be matched they are taken, too, and so are filters that call operators, unless `operators` says
    otherwise. The records of both are put into `calls`; what is wrong with their calls is told along with other
    problems, or when they are planned.
    """
    subscriptions = Subscriptions(schema)
    problems: list[Problem] = []
    rows.left_out.clear()
    if calls is not None:
        calls.records.clear()
    for number, record in enumerate(rows if records is None else records, 1):
        if told is not None and number % _STRIDE == 0:
            told(number)
        error: FilterError | NotSupported | None = refusal(record, patterns=patterns)
        if error is None:
            try:
                subscriptions.take(
                    record.id,
                    record.when,
                    subscriber=record.subscriber,
                    predict=record.predict,
                    source=record.origin,
                )
                if calls is not None and _may_call(subscriptions, record.id):
                    calls.records.append(record)
                error = _beyond(subscriptions, record.id, patterns, operators)
                if error is None:
                    continue
            except FilterError as wrong:
                error = wrong
            except NotSupported as more:
                error = more if "\nHint: " in str(more) else NotSupported(f"{more}\n{LEAVE_IT_OUT}")
        if rows.leaves_out(record, error):
            _forget(record, subscriptions, calls)
            continue
        problems.append(Problem.of_error(record, error))
    problems += map(Problem.of_reject, rows.rejects)
    if problems:
        problems += [] if calls is None else calls.problems(schema)
        raise BadSubscriptions(rows.name, problems, consequence)
    return subscriptions


def _forget(record: SubscriptionRecord, subscriptions: Subscriptions, calls: OperatorCalls | None) -> None:
    """Take out one that was added before it was known that it cannot be matched."""
    if record.id in subscriptions:
        subscriptions.remove(record.id)
    if calls is not None and calls.records and calls.records[-1] is record:
        calls.records.pop()


def _may_call(subscriptions: Subscriptions, id_: str) -> bool:
    return id_ in subscriptions.with_operators or id_ in subscriptions.patterns


def _beyond(subscriptions: Subscriptions, id_: str, patterns: bool, operators: bool | None) -> NotSupported | None:
    """Why one that was added cannot be matched where there are no patterns, or no operators."""
    if id_ in subscriptions.patterns:
        if not patterns:
            return NotSupported(f"a pattern over several events: {FILTERS_ONLY}\n{LEAVE_IT_OUT}")
        return _without(subscriptions, id_) if operators is False else None
    if id_ in subscriptions.with_operators and not (patterns if operators is None else operators):
        only = FILTERS_ONLY if not patterns else "filters and patterns are matched here"
        return NotSupported(f"a filter that calls operators: {only}, without operators\n{LEAVE_IT_OUT}")
    return None


def _without(subscriptions: Subscriptions, id_: str) -> NotSupported | None:
    from vedette.files.operator_calls import patterns_call

    if not patterns_call([subscriptions.patterns[id_]], subscriptions.schema):
        return None
    return NotSupported(f"a pattern that calls operators: here they are matched without operators\n{LEAVE_IT_OUT}")
