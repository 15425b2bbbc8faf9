"""Which patterns a worker follows now: those that a stream began with, or those that its micro-batch was given.

A stream's plan is made once. What changes with its micro-batches is said by a property of their jobs, which names a
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

from vedette.composite.matcher import PatternMatcher
from vedette.composite.telling import Telling
from vedette.prediction.model import Model
from vedette.schema.columns import Column
from vedette.schema.types import parse_type
from vedette.spark.operators.hosted import host
from vedette.spark.operators.reports import Caller
from vedette.spark.patterns.following import Follower, Forecasts
from vedette.spark.patterns.keeping import Beside
from vedette.spark.patterns.packets import place_name
from vedette.spark.patterns.sets import PatternSet
from vedette.spark.patterns.sharding import PatternGroup, filters_of
from vedette.spark.snapshots import Shipped

PROPERTY = "vedette.now"
_KEPT = 4  # sets that a process keeps ready
_carried: set[tuple[str, str]] = set()  # (application, file)
_one_at_a_time = threading.Lock()


class Known(NamedTuple):
    """What is known of operators when a micro-batch begins: see `Caller`."""

    stamp: str
    statistics: dict[str, Any]


class Now(NamedTuple):
    """What a micro-batch is done with: the file of its patterns, its filters, and what is known of operators."""

    patterns: str
    filters: Shipped | None
    columns: tuple[Column, ...] = ()  # that filters which call operators read
    known: Known | None = None

    def text(self) -> str:
        """As the property says it."""
        filters = self.filters and [self.filters.version, self.filters.folder, self.filters.file]
        columns = [[each.path, str(each.type), each.other, each.reading] for each in self.columns]
        return orjson.dumps([self.patterns, filters, columns, self.known and list(self.known)]).decode()

    @classmethod
    def of_text(cls, text: str) -> Now:
        """What `text` gave."""
        patterns, filters, columns, known = orjson.loads(text)
        read = tuple(Column(path, parse_type(type_), other, reading) for path, type_, other, reading in columns)
        return cls(patterns, filters and Shipped(*filters), read, known and Known(*known))


def now() -> Now | None:
    """In a worker: what its micro-batch was given; None where patterns do not change."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    return None if text is None else Now.of_text(text)


def carry(patterns: PatternSet, spark: SparkSession) -> str:
    """Let Spark carry a set to all workers; the name of its file. A second time costs next to nothing."""
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
    """A set of patterns whose machines are made."""

    version: str
    patterns: PatternSet
    groups: tuple[PatternGroup, ...]
    parts: tuple[PatternSet, ...]  # the patterns of each group alone
    versions: tuple[str, ...]  # of these
    matchers: tuple[PatternMatcher, ...]  # that follow; they read, too, unless steps call operators
    tellings: tuple[Telling, ...]
    model: Model | None
    calls: bool  # some step does

    def readers(self, caller: Caller | None) -> tuple[PatternMatcher, ...]:
        """What reads events, for each group; while a task is hosted for the caller."""
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
        """Whose shard a place is; None if its patterns are gone."""
        name = place.partition(" ")
        for number, group in enumerate(self.groups):
            if (name[2], place[:1] == "~") == (" ".join(group.keys), self._learns(number)):
                return number
        return None

    def _learns(self, group: int) -> bool:
        return self.patterns.learn and any(record.predict is not None for record in self.groups[group].records)

    def follower(self, group: int) -> Follower:
        """One that has seen nothing yet."""
        forecasts = Forecasts(self.model, self.patterns.learn)
        telling = self.tellings[group].again()
        return Follower(self.matchers[group].again(), self.groups[group].records, forecasts, telling)


def caller_now(caller: Caller | None) -> Caller | None:
    """In a worker: who calls operators, with what was known when its micro-batch began, or else its stream."""
    current = now()
    if caller is None or current is None or current.known is None:
        return caller
    return replace(caller, stamp=current.known.stamp, statistics=current.known.statistics)


def ready(patterns: PatternSet | None) -> Ready:
    """In a worker: the patterns that its micro-batch was given, else those of the stream."""
    current = now()
    if current is not None:
        return _from_file(current.patterns)
    if patterns is None:
        raise RuntimeError("a micro-batch came without patterns")
    return _given(patterns.version, Beside(patterns))


@functools.lru_cache(maxsize=_KEPT)
def _from_file(name: str) -> Ready:
    data = Path(SparkFiles.get(name)).read_bytes()
    return made_ready(PatternSet.from_bytes(data))


@functools.lru_cache(maxsize=_KEPT)
def _given(version: str, same: Beside[PatternSet]) -> Ready:
    return made_ready(same.it)


def made_ready(patterns: PatternSet) -> Ready:
    """The machines of all groups."""
    groups = patterns.groups()
    filters = filters_of(patterns.records, patterns.schema, groups)
    parts = tuple(patterns.of_group(*each) for each in zip(groups, filters, strict=True))
    model = None if patterns.model is None else Model.from_bytes(patterns.model)
    calls = patterns.calls
    matchers = tuple(part.matcher(reads=not calls) for part in parts)
    tellings = tuple(Telling(matcher.patterns) for matcher in matchers)
    versions = tuple(part.version for part in parts)
    return Ready(patterns.version, patterns, groups, parts, versions, matchers, tellings, model, calls)
