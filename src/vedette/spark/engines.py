"""An engine as it is sent to the workers: one snapshot, which all workers of a host map, and what their calls need.

In a worker the whole of it is opened, and an engine is made of the half that a task needs: of what has no state, or of
the shards of patterns that come to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import orjson
from pyspark.sql import SparkSession

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import PatternSet, ShardOptions
from vedette.operators.calling import Calling
from vedette.schema.columns import Column
from vedette.schema.types import parse_type
from vedette.spark.operators.carried import Caller, caller
from vedette.spark.operators.hosted import hosted
from vedette.spark.snapshots import ShippedSnapshot, opened, ship
from vedette.spark.warm_up import warm_up_operators

_ALONE = ShardOptions(1)


@dataclass(frozen=True, slots=True)
class Sent:
    """An engine as it is sent to tasks, with the statistics of its operators until now."""

    snapshot: ShippedSnapshot
    options: ShardOptions = _ALONE  # how patterns are followed
    columns: tuple[Column, ...] = ()  # that filters with operators read, and plain ones do not
    binds: bool = False  # some filters call operators, so that outcomes have a column for what these bind
    caller: Caller | None = None  # None: nothing is called

    @property
    def version(self) -> str:
        """A name that the same subscriptions have, and no others."""
        return self.snapshot.version

    @classmethod
    def of(
        cls,
        engine: Engine,
        spark: SparkSession,
        options: ShardOptions = _ALONE,
        shipped: ShippedSnapshot | None = None,
    ) -> Sent:
        """An engine, which may be `shipped` already."""
        shipped = shipped or ship(engine, spark)
        if not engine.calls_operators:
            return cls(shipped, options)
        warm_up_operators()
        binds = bool(engine.called_at_once)
        return cls(shipped, options, engine.columns_for_calls, binds, caller(engine.calling, spark))

    def patterns(self) -> PatternSet:
        """The patterns, as shards follow them."""
        return opened(self.snapshot).sharded(self.options)

    def text(self) -> str:
        """Without the caller, as text."""
        columns = [[each.path, str(each.type), each.other, each.reading] for each in self.columns]
        return orjson.dumps([self.snapshot, self.options, columns, self.binds]).decode()

    @classmethod
    def of_text(cls, text: str) -> Sent:
        """The reverse of `text`."""
        snapshot, options, columns, binds = orjson.loads(text)
        options["since"] = tuple((id_, batch) for id_, batch in options["since"])
        read = tuple(Column(path, parse_type(type_), other, reading) for path, type_, other, reading in columns)
        return cls(ShippedSnapshot(**snapshot), ShardOptions(**options), read, binds)

    def called_by(self, caller: Caller | None) -> Sent:
        """The same, whose operators are called in this way."""
        return replace(self, caller=caller)


@contextmanager
def engine_here(sent: Sent) -> Iterator[Engine]:
    """The engine of what needs no state in a worker, while a task runs, as a context."""
    saved = opened(sent.snapshot)
    if not sent.binds or sent.caller is None:
        yield Engine.restored(saved, Calling(), stateless=True)
        return
    with hosted(sent.caller) as host:
        # Planned once for all tasks; the plain filters are not kept with it, so that old snapshots can be taken away.
        planned = host.kept(
            sent.snapshot.folder, lambda calling: Engine.restored(saved.without_filters(), calling, stateless=True)
        )
        yield Engine.restored(saved, host.calling, stateless=True, like=planned)
