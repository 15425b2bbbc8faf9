"""The patterns that a worker follows now: given with its task, or else with its micro-batch.

A stream's plan is made once. What changes with its micro-batches is sent by a property of their jobs, which names a
file that Spark carries to all workers.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pyspark import TaskContext
from pyspark.core.files import SparkFiles
from pyspark.sql import SparkSession

from vedette.patterns.forecasts.model import Model
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.witness_names import WitnessNames
from vedette.schema.columns import Column
from vedette.schema.types import parse_type
from vedette.spark.operators.carried import Caller
from vedette.spark.operators.hosted import host
from vedette.spark.patterns.coded import place_name
from vedette.spark.patterns.following import Follower, Forecasts
from vedette.spark.patterns.sets import PatternGroup, PatternSet, filters_of
from vedette.spark.snapshots import ShippedSnapshot

PROPERTY = "vedette.now"
_KEPT = 4  # sets that a process keeps ready
_carried: set[tuple[str, str]] = set()  # (application, file)
_one_at_a_time = threading.Lock()


class Known(NamedTuple):
    """Statistics of operators when a micro-batch begins: see `Caller`."""

    stamp: str
    statistics: dict[str, Any]


class Now(NamedTuple):
    """What a micro-batch uses: the file of its patterns, its filters, and statistics of operators."""

    patterns: str
    filters: ShippedSnapshot | None
    columns: tuple[Column, ...] = ()  # that filters which call operators read
    known: Known | None = None

    def text(self) -> str:
        """The text of the job property."""
        filters = self.filters and [self.filters.version, self.filters.folder, self.filters.file]
        columns = [[each.path, str(each.type), each.other, each.reading] for each in self.columns]
        return orjson.dumps([self.patterns, filters, columns, self.known and list(self.known)]).decode()

    @classmethod
    def of_text(cls, text: str) -> Now:
        """The reverse of `text`."""
        patterns, filters, columns, known = orjson.loads(text)
        read = tuple(Column(path, parse_type(type_), other, reading) for path, type_, other, reading in columns)
        return cls(patterns, filters and ShippedSnapshot(*filters), read, known and Known(*known))


def now() -> Now | None:
    """In a worker: what its micro-batch uses; None where patterns do not change."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    return None if text is None else Now.of_text(text)


def carry(patterns: PatternSet, spark: SparkSession) -> str:
    """Let Spark carry a set of patterns to all workers; returns its file's name. A second time costs almost nothing."""
    data = patterns.to_bytes()
    name = f"vedette-patterns-{hashlib.blake2b(data, digest_size=16).hexdigest()}"
    context = spark.sparkContext
    with _one_at_a_time:
        if (str(context.applicationId), name) not in _carried:
            folder = Path(tempfile.mkdtemp(prefix="vedette-", dir=context._temp_dir))
            (folder / name).write_bytes(data)
            context.addFile(str(folder / name))
            _carried.add((str(context.applicationId), name))
    return name


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


def caller_now(caller: Caller | None) -> Caller | None:
    """In a worker: the caller of operators, with the statistics of its micro-batch if it has any."""
    current = now()
    if caller is None or current is None or current.known is None:
        return caller
    return replace(caller, stamp=current.known.stamp, statistics=current.known.statistics)


def ready(patterns: PatternSet | None) -> Ready:
    """In a worker: these patterns, else those of its micro-batch, compiled."""
    if patterns is not None:
        return made_ready(patterns)
    current = now()
    if current is None:
        raise RuntimeError("a micro-batch came without patterns")
    return _from_file(current.patterns)


@functools.lru_cache(maxsize=_KEPT)
def _from_file(name: str) -> Ready:
    data = Path(SparkFiles.get(name)).read_bytes()
    return made_ready(PatternSet.from_bytes(data))


@functools.lru_cache(maxsize=_KEPT)
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
