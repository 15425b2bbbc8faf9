"""A set of patterns and how they are followed, as bytes: what a checkpoint keeps, and what workers are sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from vedette.composite.matcher import PatternMatcher
from vedette.composite.packing import packed, unpacked
from vedette.composite.step import CAP
from vedette.errors import SnapshotError
from vedette.files.operator_calls import patterns_call
from vedette.matching.patterns import PatternRecord, Predict
from vedette.operators.calling import Calling
from vedette.schema.schema import Schema
from vedette.spark.patterns.sharding import PatternGroup, groups_of

_KIND: Final = "set of patterns, version 1"


@dataclass(frozen=True)
class PatternSet:
    """Patterns over the attributes of a schema."""

    records: tuple[PatternRecord, ...]
    schema: Schema
    shards: int  # of every group that can be followed side by side
    cap: int = CAP
    learn: bool = False  # forecasts learn from what comes
    model: bytes | None = None
    filters: tuple[str, ...] = ()  # of steps, in the order of their numbers, where patterns are part of a larger set
    since: tuple[tuple[str, int], ...] = ()  # ids, and the micro-batch from which on: those that came later than others

    @cached_property  # it is asked for with every shard
    def version(self) -> str:
        """A name that the same set has, and no other."""
        return hashlib.blake2b(self.to_bytes(), digest_size=16).hexdigest()

    def groups(self) -> tuple[PatternGroup, ...]:
        """Those that can be followed side by side."""
        return groups_of(self.records, self.shards, learn=self.learn)

    def of_group(self, group: PatternGroup, filters: tuple[str, ...]) -> PatternSet:
        """The patterns of one group, without the model: enough to read what was kept of them."""
        ids = {record.id for record in group.records}
        since = tuple(each for each in self.since if each[0] in ids)
        return replace(self, records=group.records, model=None, filters=filters, since=since)

    def anew(self, before: PatternSet) -> frozenset[str]:
        """The ids of those that were there before, too, and not all the time since then."""
        return frozenset(id_ for id_, _ in set(self.since) ^ set(before.since))

    def matcher(self, calling: Calling | None = None, *, reads: bool = True) -> PatternMatcher:
        """What follows all of them, and holds events back until it is told to let them go."""
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
        """Some step, or some feature of a forecast, calls an operator."""
        return patterns_call(self.records, self.schema)

    def to_bytes(self) -> bytes:
        """All of it, as plain bytes."""
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
        """What `to_bytes` wrote; SnapshotError if it is something else, or damaged."""
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


def pattern_set(records: Iterable[PatternRecord], schema: Schema, shards: int, **how: Any) -> PatternSet:
    """Patterns in the order of their subscriptions: which of two equal partial matches is told depends on it."""
    return PatternSet(tuple(records), schema, shards, **how)


def _record(plain: dict[str, Any]) -> PatternRecord:
    predict = plain["predict"]
    return PatternRecord(
        plain["id"], plain["text"], plain["subscriber"], None if predict is None else Predict.of(predict)
    )
