"""Turns subscriptions, in any form that callers may hand in, into a set or a matcher."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from vedette.engine.engine import Engine
from vedette.engine.live import LiveEngine
from vedette.engine.snapshot import parts_of
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError
from vedette.filters.live import LiveMatcher
from vedette.filters.matcher import Matcher
from vedette.io.loading import load_rows
from vedette.io.operator_calls import OperatorCalls
from vedette.io.subscription_problems import SubscriptionProblem, set_aside
from vedette.io.subscription_rows import KEYS, SourceLine, SubscriptionRows
from vedette.io.subscriptions import columns_of, read_subscriptions, record_of
from vedette.operators.calling import Calling
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.spark.snapshots import ShippedSnapshot, opened
from vedette.spark.versions import is_frame, to_arrow

_log = logging.getLogger("vedette.spark")
_FORMS = "Subscriptions, an Engine, the path of a file or a snapshot, records, or a DataFrame with `id` and `when`"
_NOTHING = "nothing was matched"
_ELSEWHERE = "hand in others as `operators`"

Given: TypeAlias = (
    "Subscriptions | Engine | Matcher | ShippedSnapshot | DataFrame | str | os.PathLike[str]"
    " | Iterable[Mapping[str, Any]]"
)


def loaded(
    subscriptions: Given, schema: Schema, operators: Operators | None = None, *, strict: bool = False
) -> Subscriptions | Engine | Matcher:
    """Subscriptions in any form, as a set, engine or matcher; texts are read by the schema unless they were before.

    There may be patterns in it, and filters that call operators. What is wrong in a file or a DataFrame, calls of
    `operators` (or, without them, of the installed ones) among it, is logged and left out, or, if it is strict,
    BadSubscriptions has all of it.
    """
    if isinstance(subscriptions, Matcher | Engine):
        return subscriptions
    if isinstance(subscriptions, ShippedSnapshot):
        return Engine.restored(opened(subscriptions), Calling(operators))
    if isinstance(subscriptions, LiveMatcher | LiveEngine):
        raise InputError(
            f"a {type(subscriptions).__name__} changes while it matches, and what is sent to workers does not\n"
            "Hint: hand in the Subscriptions that it was made from; a pipeline takes changes between its batches"
        )
    if isinstance(subscriptions, str | os.PathLike) and (path := Path(subscriptions)).is_dir() and parts_of(path):
        return Engine.open(path, operators=operators)
    return _set_of(subscriptions, schema, operators, strict)


def _set_of(subscriptions: Any, schema: Schema, operators: Operators | None, strict: bool) -> Subscriptions:
    if isinstance(subscriptions, Subscriptions):
        return subscriptions
    if is_frame(subscriptions):
        return _read(_frame_rows(subscriptions), schema, operators, strict)
    if isinstance(subscriptions, str | os.PathLike):
        return _read(read_subscriptions(Path(subscriptions)), schema, operators, strict)
    if isinstance(subscriptions, Mapping | bytes) or not isinstance(subscriptions, Iterable):
        raise InputError(f"the subscriptions are a {type(subscriptions).__name__}\nHint: hand in {_FORMS}")
    made = Subscriptions(schema)
    made.add_many(subscriptions)
    return made


def _read(rows: SubscriptionRows, schema: Schema, operators: Operators | None, strict: bool) -> Subscriptions:
    calls = OperatorCalls(operators, _ELSEWHERE)
    aside: list[SubscriptionProblem] = []
    put = None if strict else aside
    made = load_rows(rows, schema, consequence=_NOTHING, patterns=True, calls=calls, aside=put)
    if aside:
        _log.warning("%s", set_aside(rows.name, aside))
    if strict:
        calls.refuse_wrong(schema, rows.name, _NOTHING)
    return made


def _frame_rows(frame: Any) -> SubscriptionRows:
    missing = [name for name in ("id", "when") if name not in frame.columns]
    if missing:
        raise InputError(
            f"the DataFrame of subscriptions has no column {' and no column '.join(missing)}\n"
            f"Hint: subscriptions have the columns {', '.join(KEYS)}; this has {', '.join(frame.columns) or 'none'}"
        )
    if frame.isStreaming:
        raise InputError(
            "the DataFrame of subscriptions is a stream\n"
            "Hint: read it as a table; a pipeline takes changed subscriptions between its batches"
        )
    chosen = frame.select([f"`{name}`" for name in columns_of(frame.columns)])
    # Partitions come in any order: the same table should always have the same version.
    table = to_arrow(chosen.orderBy("`id`"))
    rows = (row for batch in table.to_batches() for row in batch.to_pylist())
    placed: Iterator[SourceLine] = ((number, record_of(row), None) for number, row in enumerate(rows, 1))
    return SubscriptionRows("the DataFrame of subscriptions", placed, dt.datetime.now(dt.UTC))
