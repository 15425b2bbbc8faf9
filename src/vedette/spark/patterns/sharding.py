"""Which patterns can be followed side by side, and which events belong together.

Patterns that are partitioned by the same attributes are a group. An event goes once to every group in which it has a
partition: there to the shard that the partition falls into. Patterns without a partition have one shard for all events.
So has a group whose forecasts learn while they go, since what is learnt is shared by all partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.composite.explain import partition_of
from vedette.composite.machines import Numbers, draft
from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.matching.patterns import PatternRecord
from vedette.schema.schema import Schema

Filters: TypeAlias = tuple[tuple[str, ...], ...]  # of steps, as texts, by group

_MIXES = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F)


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Patterns that share partitions."""

    keys: tuple[str, ...]  # the attributes that they are partitioned by; none: all events are one partition
    records: tuple[PatternRecord, ...]
    shards: int


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


def shard_of(key: NDArray[np.int64], shards: int) -> NDArray[np.int32]:
    """The shard of each partition (n, 2): the same for a partition wherever and whenever it is met."""
    one, other = key.astype(np.uint64).T
    mixed = (one * _MIXES[0]) ^ (other * _MIXES[1])
    mixed ^= mixed >> np.uint64(29)
    shard: NDArray[np.int32] = ((mixed * _MIXES[0] >> np.uint64(32)) % np.uint64(shards)).astype(np.int32)
    return shard


def filters_of(records: Iterable[PatternRecord], schema: Schema, groups: Iterable[PatternGroup]) -> Filters:
    """The filters of the steps of every group, in the order in which one process has them.

    Which of several partial matches that are worth the same is told depends on it.
    """
    numbering = Numbers()
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
