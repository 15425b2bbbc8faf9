"""Sends the stateless half of an engine to the workers: filters, with and without operators.

Plain filters, of which there may be millions, go as a snapshot that all workers of a host map; those that call
operators are few, and go with the task, as texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.matcher import Matcher
from vedette.filters.operator_records import OperatorRecord
from vedette.operators.calling import Calling
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.operators.carried import Caller, caller
from vedette.spark.operators.hosted import hosted
from vedette.spark.snapshots import ShippedSnapshot, opened, ship
from vedette.spark.warm_up import warm_up_operators

_DIGITS = 6  # bytes of a version


@dataclass(frozen=True, slots=True)
class Sent:
    """An engine as it is sent to tasks, with the statistics of its operators until now."""

    version: str
    filters: ShippedSnapshot
    calls: tuple[OperatorRecord, ...] = ()
    places: tuple[int, ...] = ()  # of these among all filters, without patterns
    caller: Caller | None = None  # None: nothing is called

    @property
    def binds(self) -> bool:
        """Whether operators bind variables, so that outcomes have a column for these."""
        return self.caller is not None

    @classmethod
    def of(cls, engine: Engine, spark: SparkSession, shipped: ShippedSnapshot | None = None) -> Sent:
        """The filters of an engine; the plain ones may be `shipped` already."""
        shipped = shipped or ship(engine.filters, spark)
        if not engine.called_at_once:
            return cls(shipped.version, shipped)
        warm_up_operators()
        calls = tuple(engine.operator_records.values())
        places = np.searchsorted(engine.stateless_places, engine.call_places).tolist()
        return cls(version_of(engine.filters, calls), shipped, calls, tuple(places), caller(engine.calling, spark))


@contextmanager
def engine_here(sent: Sent) -> Iterator[Engine]:
    """The engine in a worker, while a task runs, as a context."""
    filters = opened(sent.filters)
    if sent.caller is None:
        yield Engine(filters)
        return
    with hosted(sent.caller) as host:
        # Planned once for all tasks; the plain filters are not kept with it, so that old snapshots can be taken away.
        planned = host.kept(sent.version, lambda calling: _planned(sent.calls, filters.schema, calling))
        yield engine_of(filters, sent.calls, host.calling, sent.places, planned)


def _planned(calls: Sequence[OperatorRecord], schema: Schema, calling: Calling) -> Engine:
    return engine_of(Subscriptions(schema).compile_filters(), calls, calling)


def engine_of(
    filters: Matcher,
    calls: Sequence[OperatorRecord],
    calling: Calling,
    places: Sequence[int] | None = None,
    like: Engine | None = None,
) -> Engine:
    """An engine of plain filters and those that call operators, which are at `places`, else behind the others."""
    if not calls:
        return Engine(filters, calling=calling)
    size = len(filters) + len(calls)
    mine = np.arange(len(filters), size) if places is None else np.array(places, np.int64)
    plain = np.delete(np.arange(size), mine)
    order = np.argsort(np.concatenate([plain, mine]))
    names = [each.id for each in calls]
    return Engine(
        filters,
        calls,
        ids=pa.concat_arrays([filters.ids, pa.array(names, pa.large_string())]).take(pa.array(order)),
        filter_places=plain,
        places=dict(zip(names, mine.tolist(), strict=True)),
        calling=calling,
        like=like,
    )


def columns_beside(engine: Engine) -> tuple[Column, ...]:
    """The columns that filters with operators read, and plain ones do not."""
    plain = set(engine.filters.view.columns)
    return tuple(column for column in engine.columns if column not in plain)


def version_of(filters: Matcher, calls: Sequence[OperatorRecord]) -> str:
    """A name that the same filters have, and no others."""
    if not calls:
        return filters.version
    hashed = hashlib.blake2b(filters.version.encode(), digest_size=_DIGITS)
    for each in calls:
        hashed.update(repr((each.id, each.text, each.subscriber)).encode())
    return hashed.hexdigest()
