"""What may be handed in as subscriptions, and how it becomes a matcher."""

from __future__ import annotations

import datetime as dt
import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from vedette.errors import InputError
from vedette.files.loading import load_rows
from vedette.files.operator_calls import OperatorCalls
from vedette.files.subscriptions import KEYS, Placed, SubscriptionRows, columns_of, read_subscriptions, record_of
from vedette.matching.live import LiveMatcher
from vedette.matching.matcher import Matcher
from vedette.matching.snapshot_files import is_snapshot
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.spark.snapshots import Shipped

_FORMS = "Subscriptions, a Matcher, the path of a file or a snapshot, records, or a DataFrame with `id` and `when`"
_NOTHING = "nothing was matched"

Given: TypeAlias = (
    "Subscriptions | Matcher | Shipped | DataFrame | str | os.PathLike[str] | Iterable[Mapping[str, Any]]"
)


def loaded(subscriptions: Given, schema: Schema, operators: Operators | None = None) -> Subscriptions | Matcher:
    """Whatever was handed in as a set; texts are read by the schema, unless they have been read already.

    There may be patterns in it, and filters that call operators. Where it is known which `operators` there are,
    BadSubscriptions says of all texts of a file or a DataFrame at once which of their calls make no sense.
    """
    if isinstance(subscriptions, Matcher):
        return subscriptions
    if isinstance(subscriptions, Shipped):
        return _opened(subscriptions.folder)
    if isinstance(subscriptions, LiveMatcher):
        raise InputError(
            "a LiveMatcher changes while it matches, and what is sent to workers does not\n"
            "Hint: hand in the Subscriptions that it was made from; a pipeline takes changes between its batches"
        )
    if isinstance(subscriptions, str | os.PathLike) and is_snapshot(path := Path(subscriptions)) and path.is_dir():
        return Matcher.open(path)
    return _set_of(subscriptions, schema, operators)


def _set_of(subscriptions: Any, schema: Schema, operators: Operators | None) -> Subscriptions:
    if isinstance(subscriptions, Subscriptions):
        return subscriptions
    if is_frame(subscriptions):
        return _read(_frame_rows(subscriptions), schema, operators)
    if isinstance(subscriptions, str | os.PathLike):
        return _read(read_subscriptions(Path(subscriptions)), schema, operators)
    if isinstance(subscriptions, Mapping | bytes) or not isinstance(subscriptions, Iterable):
        raise InputError(f"the subscriptions are a {type(subscriptions).__name__}\nHint: hand in {_FORMS}")
    made = Subscriptions(schema)
    made.add_many(subscriptions)
    return made


def _read(rows: SubscriptionRows, schema: Schema, operators: Operators | None) -> Subscriptions:
    calls = None if operators is None else OperatorCalls(operators)
    made = load_rows(rows, schema, consequence=_NOTHING, patterns=True, calls=calls)
    if calls is not None:
        calls.refuse_wrong(schema, rows.name, _NOTHING)
    return made


def is_frame(given: object) -> bool:
    """A DataFrame, of a session here or of one that is connected to."""
    return isinstance(given, DataFrame)


@functools.lru_cache(maxsize=4)
def _opened(folder: str) -> Matcher:
    """The driver's own copy of what was shipped: no file of that name ever changes."""
    return Matcher.open(folder)


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
    table = chosen.orderBy("`id`").toArrow()
    rows = (row for batch in table.to_batches() for row in batch.to_pylist())
    placed: Iterator[Placed] = ((number, record_of(row), None) for number, row in enumerate(rows, 1))
    return SubscriptionRows("the DataFrame of subscriptions", placed, dt.datetime.now(dt.UTC))
