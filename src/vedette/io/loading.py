"""Load subscriptions into a set that can be compiled: all of them, or every reason why not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, NotSupported
from vedette.filters.subscription_set import schema_of
from vedette.io.rule_files import LeftOut
from vedette.io.subscription_problems import FILTERS_ONLY, LEAVE_IT_OUT, BadSubscriptions, SubscriptionProblem, refusal
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.io.operator_calls import OperatorCalls

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
    """Load a file, or a folder of rules of another `dialect`; BadSubscriptions has all that is wrong.

    Rules of a folder that cannot be matched are an error, or, if a list is given as `left_out`, are put
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
    aside: list[SubscriptionProblem] | None = None,
) -> Subscriptions:
    """Load rows; BadSubscriptions has the reason for every one that cannot be matched.

    If a list is given as `aside`, the problems are put there, with those of calls, and the rest is the set; it is an
    error then only if nothing is left, or if a file ends within a line, so that an unknown part of it is missing.

    `records` are those of the rows, if they have been read already; `told` is called now and then with their number.
    Where `patterns` can be matched they are accepted, and so are filters that call operators, unless `operators` is
    false. The records of both are put into `calls`; errors in their calls are reported with the other
    problems, or when they are planned.
    """
    subscriptions = Subscriptions(schema)
    problems: list[SubscriptionProblem] = []
    rows.left_out.clear()
    if calls is not None:
        calls.records.clear()
    for number, record in enumerate(rows if records is None else records, 1):
        if told is not None and number % _STRIDE == 0:
            told(number)
        refused = refusal(record, patterns=patterns)
        error = refused or _taken(subscriptions, record, calls, patterns=patterns, operators=operators)
        if error is None:
            continue
        if rows.leaves_out(record, error):
            _forget(record, subscriptions, calls)
            continue
        if aside is not None and refused is None:
            _forget(record, subscriptions, calls)
        problems.append(SubscriptionProblem.of_error(record, error))
    problems += map(SubscriptionProblem.of_reject, rows.rejects)
    if aside is not None:
        problems += _without_wrong_calls(subscriptions, calls, schema)
        if rows.cut_off is None and (len(subscriptions) or not problems):
            aside += problems
            return subscriptions
        raise BadSubscriptions(rows.name, problems, consequence)
    if problems:
        problems += [] if calls is None else calls.problems(schema)
        raise BadSubscriptions(rows.name, problems, consequence)
    return subscriptions


def _taken(
    subscriptions: Subscriptions,
    record: SubscriptionRecord,
    calls: OperatorCalls | None,
    *,
    patterns: bool,
    operators: bool | None,
) -> FilterError | NotSupported | None:
    """Add a record to the set; returns why it cannot be matched."""
    try:
        subscriptions.take(
            record.id, record.when, subscriber=record.subscriber, predict=record.predict, source=record.origin
        )
        if calls is not None and _may_call(subscriptions, record.id):
            calls.records.append(record)
        return _beyond(subscriptions, record.id, patterns, operators)
    except FilterError as wrong:
        return wrong
    except NotSupported as more:
        return more if "\nHint: " in str(more) else NotSupported(f"{more}\n{LEAVE_IT_OUT}")


def _forget(record: SubscriptionRecord, subscriptions: Subscriptions, calls: OperatorCalls | None) -> None:
    """Remove a subscription that was added before it was known that it cannot be matched."""
    if record.id in subscriptions:
        subscriptions.remove(record.id)
    if calls is not None and calls.records and calls.records[-1] is record:
        calls.records.pop()


def _without_wrong_calls(
    subscriptions: Subscriptions, calls: OperatorCalls | None, schema: Schema
) -> list[SubscriptionProblem]:
    """Remove subscriptions with invalid calls, and return the reasons."""
    wrong = [] if calls is None or not calls.records else calls.wrong(schema)
    for record, _ in wrong:
        subscriptions.remove(record.id)
    if calls is not None and wrong:
        gone = {record.id for record, _ in wrong}
        calls.records[:] = [record for record in calls.records if record.id not in gone]
    return [SubscriptionProblem.of_error(record, error) for record, error in wrong]


def _may_call(subscriptions: Subscriptions, id_: str) -> bool:
    return subscriptions.has_state(id_) or subscriptions.calls_operators(id_)


def _beyond(subscriptions: Subscriptions, id_: str, patterns: bool, operators: bool | None) -> NotSupported | None:
    """The reason why an added one cannot be matched where there are no patterns, or no operators."""
    several = subscriptions.has_state(id_)
    if several and not patterns:
        return NotSupported(f"a pattern over several events: {FILTERS_ONLY}\n{LEAVE_IT_OUT}")
    if (patterns if operators is None else operators) or not subscriptions.calls_operators(id_):
        return None
    if several:
        return NotSupported(f"a pattern that calls operators: here they are matched without operators\n{LEAVE_IT_OUT}")
    only = FILTERS_ONLY if not patterns else "filters and patterns are matched here"
    return NotSupported(f"a filter that calls operators: {only}, without operators\n{LEAVE_IT_OUT}")
