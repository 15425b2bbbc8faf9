"""Chunks of events, as readers yield them, with the rows that could not be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.schema.encode import Reject


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that is not an event, or breaks the schema: its place, the reason, and its text."""

    row: int  # counted from 0 over all rows of the source, good and bad
    line: int | None  # counted from 1; None where there are no lines
    reason: str
    raw: str

    def __str__(self) -> str:
        place = f"row {self.row}" if self.line is None else f"line {self.line}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class EventChunk:
    """Consecutive events, and the rejected rows between them."""

    events: list[dict[str, Any]] | pa.Table
    own_ids: pa.Array  # of texts: the event's `id` as text; null where it has none
    rows: NDArray[np.int64]  # counted from 0 over all rows of the source, good and bad
    lines: NDArray[np.int64] | None  # counted from 1; None where there are no lines
    rejects: list[RejectedRow]
    raw: Callable[[int], str] = field(repr=False)  # the text of the n-th event of this chunk

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> pa.Array:
        """The events' `id`, or else their row numbers, as texts."""
        return filled(self.own_ids, self.rows)

    def without(self, rows: Collection[int]) -> EventChunk:
        """The chunk without some rows, given by their numbers in the source."""
        if not rows:
            return self
        places = np.flatnonzero(~np.isin(self.rows, list(rows)))
        taken = pa.array(places)
        events = self.events
        return EventChunk(
            [events[place] for place in places.tolist()] if isinstance(events, list) else events.take(taken),
            self.own_ids.take(taken),
            self.rows[places],
            None if self.lines is None else self.lines[places],
            self.rejects,
            lambda place: self.raw(int(places[place])),
        )

    def put_aside(self, places: Iterable[int], reason: str) -> list[RejectedRow]:
        """Reject some events, by their places in the chunk, with a reason."""
        return [
            RejectedRow(
                int(self.rows[place]), None if self.lines is None else int(self.lines[place]), reason, self.raw(place)
            )
            for place in places
        ]

    def rejected(self, rejects: Iterable[Reject]) -> list[RejectedRow]:
        """The rejects of encoding, with their places and texts."""
        return [
            each for one in rejects for each in self.put_aside([one.row], f"attribute {one.attribute!r}: {one.reason}")
        ]


def filled(own_ids: pa.Array, rows: NDArray[np.int64]) -> pa.Array:
    """Ids, with the row number where one is missing."""
    if not own_ids.null_count:
        return own_ids
    return pc.coalesce(own_ids, pa.array(rows).cast(pa.string()))


def table_ids(table: pa.Table) -> pa.Array:
    """The ids of a table's events: the column `id` as text; null where it is missing."""
    if table.schema.get_field_index("id") < 0:
        return pa.nulls(table.num_rows, pa.string())
    column = table.column("id").combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    stored = column.type
    if pa.types.is_nested(stored) or pa.types.is_null(stored):
        return pa.nulls(table.num_rows, pa.string())
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or stored == pa.string_view():
        return _valid(column)
    if pa.types.is_binary(stored) or pa.types.is_large_binary(stored) or pa.types.is_fixed_size_binary(stored):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def _valid(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string()) if column.type != pa.string() else column
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [
                None if value is None else value.decode("utf-8", "replace")
                for value in texts.cast(pa.binary()).to_pylist()
            ],
            pa.string(),
        )
    return texts
