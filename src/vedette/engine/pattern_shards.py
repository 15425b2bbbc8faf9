"""The patterns of an engine as groups and shards, for hosts that send events to several followers by their keys.

Patterns that are partitioned by the same attributes are a group. An event goes once to every group in which it has a
partition: there to the shard that the partition falls into. Patterns without a partition have one shard for all events.
So has a group whose forecasts learn while they go, since what is learnt is shared by all partitions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from vedette.errors import SnapshotError
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.language.ast import Composite
from vedette.language.join_variables import variable_tests
from vedette.language.parser import parse
from vedette.language.steps import steps_of
from vedette.operators.calling import Calling
from vedette.patterns.explain import partition_of
from vedette.patterns.forecasts.model import Model
from vedette.patterns.machines import PatternNumbering, draft
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.packing import packed, unpacked
from vedette.patterns.pattern_step import CAP
from vedette.schema.schema import Schema

_KIND: Final = "set of patterns, version 1"

Filters: TypeAlias = tuple[tuple[str, ...], ...]  # of steps, as texts, by group


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """How patterns are followed in shards."""

    shards: int  # of every group that can be followed side by side
    cap: int = CAP
    learn: bool = False  # forecasts learn from what comes
    since: tuple[tuple[str, int], ...] = ()  # ids, and the micro-batch from which on: those that came later than others


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Patterns that share partitions."""

    keys: tuple[str, ...]  # the attributes that they are partitioned by; none: all events are one partition
    records: tuple[PatternRecord, ...]
    shards: int


@dataclass(frozen=True, eq=False)
class PatternSet:
    """Patterns over the attributes of a schema. Sets of the same version are equal."""

    records: tuple[PatternRecord, ...]
    schema: Schema
    shards: int  # of every group that can be followed side by side
    cap: int = CAP
    learn: bool = False  # forecasts learn from what comes
    model: bytes | None = None
    filters: tuple[str, ...] = ()  # of steps, in the order of their numbers, where patterns are part of a larger set
    since: tuple[tuple[str, int], ...] = ()  # ids, and the micro-batch from which on: those that came later than others

    @classmethod
    def of(
        cls, records: Iterable[PatternRecord], schema: Schema, options: ShardOptions, model: Model | None = None
    ) -> PatternSet:
        """The patterns in the order of their subscriptions, which decides between two equal partial matches."""
        known = None if model is None else model.to_bytes()
        return cls(tuple(records), schema, options.shards, options.cap, options.learn, known, since=options.since)

    @cached_property  # it is asked for with every shard
    def version(self) -> str:
        """A name that equal sets have, and no others."""
        return hashlib.blake2b(self.to_bytes(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternSet) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    @property
    def ids(self) -> list[str]:
        """The ids of the patterns."""
        return [record.id for record in self.records]

    def groups(self) -> tuple[PatternGroup, ...]:
        """The groups, which can be followed side by side."""
        return groups_of(self.records, self.shards, learn=self.learn)

    def of_group(self, group: PatternGroup, filters: tuple[str, ...]) -> PatternSet:
        """The patterns of one group, without the model: enough to read their state."""
        ids = {record.id for record in group.records}
        since = tuple(each for each in self.since if each[0] in ids)
        return replace(self, records=group.records, model=None, filters=filters, since=since)

    def anew(self, before: PatternSet) -> frozenset[str]:
        """The ids of patterns that are in both sets, but were not all the time in between."""
        return frozenset(id_ for id_, _ in set(self.since) ^ set(before.since))

    def matcher(self, calling: Calling | None = None, *, reads: bool = True) -> PatternMatcher:
        """A matcher of all patterns, which holds events back until it advances."""
        return PatternMatcher(
            self.records,
            self.schema,
            lateness=None,
            cap=self.cap,
            calling=calling,
            filters=self.filters,
            reads=reads,
        )

    @property
    def calls(self) -> bool:
        """Whether some step, or some feature of a forecast, calls an operator."""
        return any(each.calls_operators(self.schema) for each in self.records)

    def to_bytes(self) -> bytes:
        """The set as bytes."""
        facts = {
            "patterns": [record.plain() for record in self.records],
            "schema": {path: self.schema.spelling(path) for path in self.schema},
            "closed": self.schema.closed,
            "shards": self.shards,
            "cap": self.cap,
            "learn": self.learn,
            "modelled": self.model is not None,
            "filters": list(self.filters),
            "since": self.since,
        }
        return packed(_KIND, {"model": np.frombuffer(self.model or b"", np.uint8)}, facts)

    @classmethod
    def from_bytes(cls, data: bytes) -> PatternSet:
        """The reverse of `to_bytes`; SnapshotError for other or damaged bytes."""
        arrays, facts = unpacked(_KIND, data)
        try:
            return cls(
                tuple(_record(plain) for plain in facts["patterns"]),
                Schema.of(facts["schema"], closed=facts["closed"]),
                facts["shards"],
                facts["cap"],
                facts["learn"],
                arrays["model"].tobytes() if facts["modelled"] else None,
                tuple(facts["filters"]),
                tuple((id_, batch) for id_, batch in facts["since"]),
            )
        except (KeyError, TypeError) as error:
            raise SnapshotError(f"a set of patterns that is not whole: {error}") from error


def _record(plain: dict[str, Any]) -> PatternRecord:
    predict = plain["predict"]
    return PatternRecord(
        plain["id"], plain["text"], plain["subscriber"], None if predict is None else Predict.of(predict)
    )


def groups_of(records: Iterable[PatternRecord], shards: int, *, learn: bool) -> tuple[PatternGroup, ...]:
    """The groups of some patterns, in the order in which they come."""
    found: dict[tuple[tuple[str, ...], bool], list[PatternRecord]] = {}
    for record in records:
        composite = parse(record.text)
        if not isinstance(composite, Composite):
            raise TypeError(f"{record.id!r} is no pattern")
        found.setdefault((partition_of(composite), learn and record.predict is not None), []).append(record)
    return tuple(
        PatternGroup(keys, tuple(several), shards if keys and not learns else 1)
        for (keys, learns), several in found.items()
    )


def filters_of(records: Iterable[PatternRecord], schema: Schema, groups: Iterable[PatternGroup]) -> Filters:
    """The filters of the steps of every group, in the order in which one process has them.

    That order decides which of several equally good partial matches is reported.
    """
    numbering = PatternNumbering()
    drafts = {record.id: draft(record, uid, schema, numbering) for uid, record in enumerate(records)}
    texts = numbering.texts()
    found = []
    for group in groups:
        numbers: set[int] = set()
        for record in group.records:
            for each in (drafts[record.id], *drafts[record.id].parts):
                numbers |= {asked.primitive for ways in (*each.steps, *each.absent) for asked in ways}
                numbers |= set(each.symbols)
        found.append(tuple(texts[number] for number in sorted(numbers)))
    return tuple(found)


def unknown_keys(records: Iterable[PatternRecord], schema: Schema) -> tuple[str, ...]:
    """The attributes that patterns join or partition by, and that the schema does not have."""
    paths: set[str] = set()
    for record in records:
        composite = parse(record.text)
        if isinstance(composite, Composite):
            paths |= set(composite.by)
            for step in steps_of(composite.pattern):
                paths |= {test.path for test, _ in variable_tests(step, record.text)}
    return tuple(sorted(path for path in paths if schema.type_of(path) is None))
