"""The patterns that a worker follows now: given with its task, or else with its micro-batch.

A stream's plan is made once. What changes with its micro-batches is sent by a property of their jobs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson
from pyspark import TaskContext
from pyspark.sql import SparkSession

from vedette.engine.pattern_shards import PatternGroup, PatternSet, ShardOptions, filters_of
from vedette.patterns.forecasts.model import Model
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.witness_names import WitnessNames
from vedette.spark.engines import Sent
from vedette.spark.operators.carried import Caller
from vedette.spark.operators.hosted import host
from vedette.spark.patterns.coded import place_name
from vedette.spark.patterns.following import Follower, Forecasts
from vedette.spark.snapshots import ShippedSnapshot, opened

PROPERTY = "vedette.now"
_KEPT = 4  # sets that a process keeps ready


class Known(NamedTuple):
    """Statistics of operators when a micro-batch begins: see `Caller`."""

    stamp: str
    statistics: dict[str, Any]


def announce(sent: Sent, known: Known | None, spark: SparkSession) -> None:
    """Send the workers of the next jobs the engine that their micro-batch uses."""
    spark.sparkContext.setLocalProperty(PROPERTY, orjson.dumps([sent.text(), known and list(known)]).decode())


def now(sent: Sent | None, called: Caller | None) -> Sent:
    """In a worker: the engine of its task, else that of its micro-batch, whose operators are called in this way."""
    if sent is not None:
        return sent
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    if text is None:
        raise RuntimeError("a micro-batch came without an engine")
    said, known = orjson.loads(text)
    if called is not None and known is not None:
        stamp, statistics = known
        called = replace(called, stamp=stamp, statistics=statistics)
    return Sent.of_text(said).called_by(called)


@dataclass(frozen=True)
class Ready:
    """A set of patterns, compiled."""

    version: str
    patterns: PatternSet
    groups: tuple[PatternGroup, ...]
    parts: tuple[PatternSet, ...]  # the patterns of each group alone
    versions: tuple[str, ...]  # of these
    matchers: tuple[PatternMatcher, ...]  # that follow; they read, too, unless steps call operators
    tellings: tuple[WitnessNames, ...]
    model: Model | None
    calls: bool  # some step does

    def readers(self, caller: Caller | None) -> tuple[PatternMatcher, ...]:
        """The matchers that read events, for each group; with operators, while a task is hosted for the caller."""
        if not self.calls:
            return self.matchers
        if caller is None:
            raise RuntimeError("steps of patterns call operators, and there are none here")
        return host(caller).kept(
            (self.version, "steps"), lambda calling: tuple(part.matcher(calling) for part in self.parts)
        )

    def place(self, group: int, shard: int) -> str:
        """The name of a shard."""
        return place_name(self.groups[group].keys, self._learns(group), shard)

    def group_at(self, place: str) -> int | None:
        """The group of a shard with this name; None if its patterns are gone."""
        name = place.partition(" ")
        for number, group in enumerate(self.groups):
            if (name[2], place[:1] == "~") == (" ".join(group.keys), self._learns(number)):
                return number
        return None

    def _learns(self, group: int) -> bool:
        return self.patterns.learn and any(record.predict is not None for record in self.groups[group].records)

    def follower(self, group: int, how: Forecasts | None = None, *, in_order: bool = False) -> Follower:
        """A new follower; events are held back until it advances, unless they come `in_order`."""
        forecasts, learns = how or Forecasts(), self.patterns.learn
        matcher, telling = self.matchers[group].again(lateness=0 if in_order else None), self.tellings[group].again()
        forecaster = forecasts.of(matcher, self.model, learns)
        return Follower(matcher, self.groups[group].records, forecaster, forecasts, telling, learns=learns)


def ready(sent: Sent) -> Ready:
    """In a worker: the patterns of an engine, compiled."""
    return _ready(sent.snapshot, sent.options)


@functools.lru_cache(maxsize=_KEPT)
def _ready(snapshot: ShippedSnapshot, options: ShardOptions) -> Ready:
    return made_ready(opened(snapshot).sharded(options))


def made_ready(patterns: PatternSet) -> Ready:
    """Compile the patterns of all groups."""
    groups = patterns.groups()
    filters = filters_of(patterns.records, patterns.schema, groups)
    parts = tuple(patterns.of_group(*each) for each in zip(groups, filters, strict=True))
    model = None if patterns.model is None else Model.from_bytes(patterns.model)
    calls = patterns.calls
    matchers = tuple(part.matcher(reads=not calls) for part in parts)
    tellings = tuple(WitnessNames(matcher.patterns) for matcher in matchers)
    versions = tuple(part.version for part in parts)
    return Ready(patterns.version, patterns, groups, parts, versions, matchers, tellings, model, calls)
