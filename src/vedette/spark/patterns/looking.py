"""What patterns see of a chunk before they read it: what they cannot read, the greatest time, and whether it has ids.

Filters reject what breaks the schema. What is left may still be of no use to patterns: a time that is none, or values
of attributes that the schema does not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from vedette.composite.times import looked_at, times_of
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.language.ast import Composite
from vedette.language.joins import variable_tests
from vedette.language.parser import parse
from vedette.language.steps import steps_of
from vedette.matching.patterns import PatternRecord
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema


class Looking(NamedTuple):
    """What is looked at."""

    schema: Schema
    unknown: tuple[str, ...]  # attributes that patterns join or partition by, and of which the schema says nothing


class Seen(NamedTuple):
    """What was seen of a chunk."""

    rejects: list[RejectedEvent]  # what only patterns cannot read
    latest: int | None  # the greatest time of the others, in microseconds; None: they have none
    named: bool  # some events have an id of their own


def looking(records: Iterable[PatternRecord], schema: Schema) -> Looking:
    """What is to be looked at for some patterns."""
    paths: set[str] = set()
    for record in records:
        composite = parse(record.text)
        if isinstance(composite, Composite):
            paths |= set(composite.by)
            for step in steps_of(composite.pattern):
                paths |= {test.path for test, _ in variable_tests(step, record.text)}
    return Looking(schema, tuple(sorted(path for path in paths if schema.type_of(path) is None)))


def look(chunk: EventChunk, at: Looking) -> Seen:
    """The events of a chunk, without those that filters have rejected."""
    if not len(chunk):
        return Seen([], None, False)
    events = chunk.events
    found = looked_at(events, at.unknown) if at.unknown else {}
    columns = [
        Column(path, found[path])
        for path in at.unknown
        if path in found and not found[path].is_list and found[path].kind.ordered  # else nobody can read it
    ]
    refused: list[Reject] = encode(events, columns, at.schema).rejects if columns else []
    times = times_of(events, at.schema)
    wrong = {each.row: each for each in (*refused, *times.rejects)}
    timed = times.known.copy()
    timed[list(wrong)] = False
    return Seen(
        chunk.rejected(wrong[row] for row in sorted(wrong)),
        int(times.microseconds[timed].max()) if timed.any() else None,
        chunk.own_ids.null_count < len(chunk),
    )


def rows_of(rejects: Iterable[RejectedEvent]) -> bytes:
    """The numbers of rejected rows, as they travel."""
    return np.array([one.row for one in rejects], np.int64).tobytes()
