"""Filters that call operators over raw rows: what travels to a worker, and what it says of bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from vedette.files.chunks import EventChunk
from vedette.files.notices import Notices
from vedette.files.operator_filters import OperatorFilters
from vedette.matching.matcher import Matcher
from vedette.operators.values import as_text
from vedette.spark.operators.hosted import hosted
from vedette.spark.operators.reports import Caller
from vedette.spark.operators.tasks import Filters

BINDINGS = pa.map_(pa.string(), pa.string())


class LineFilters(NamedTuple):
    """All that travels to a worker."""

    filters: Filters
    caller: Caller


@contextmanager
def filters_beside(plain: Matcher, given: LineFilters | None) -> Iterator[OperatorFilters | None]:
    """In a worker, while a task runs: filters that are numbered behind the plain ones; None where there are none."""
    if given is None:
        yield None
        return
    calls = np.arange(len(plain) + len(given.filters.records)) >= len(plain)
    with hosted(given.caller) as host:
        yield host.kept(
            (given.filters.version, "lines"),
            lambda calling: OperatorFilters.placed(given.filters.matcher(calling), calls),
        )


def named(chunk: EventChunk, id_of: Any) -> EventChunk:
    """Events without an id get the one that they are called by, so that people find those that operators fail at."""
    if not chunk.own_ids.null_count:
        return chunk
    given = chunk.own_ids.to_pylist()
    names = [id_of(chunk, place) if name is None else name for place, name in enumerate(given)]
    return replace(chunk, own_ids=pa.array(names, pa.string()))


def bindings_of(size: int, notices: Notices | None) -> pa.Array:
    """What each of so many matches binds, as texts; null where it binds nothing."""
    found: list[Sequence[tuple[str, str | None]] | None] = [None] * size
    if notices is not None:
        for row, notice in zip(notices.rows.tolist(), notices.notices, strict=True):
            found[row] = [(name, as_text(value)) for name, value in notice.bindings.items()]
    return pa.array(found, BINDINGS)
