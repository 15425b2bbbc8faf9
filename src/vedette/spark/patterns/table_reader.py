"""Rows of a table of Spark as chunks of events, in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.spark.patterns.raw import ReadChunk
from vedette.spark.patterns.tasks import carried_as, sent_as

OWN, NAME = "own", "name"  # the id of an event, if it has one; what it is called anyway


class TableReader:
    """Columns s0, s1, … of these names, OWN, NAME, and c0, c1, … of what is kept."""

    def __init__(self, names: tuple[str, ...], keep: tuple[str, ...]) -> None:
        self._names, self._keep = names, keep

    def __call__(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """All of it in one chunk."""
        table = pa.Table.from_batches([batch])
        sent = table.select([sent_as(number) for number in range(len(self._names))] or [OWN])
        events = sent.rename_columns(list(self._names) or [""])
        called = batch.column(NAME)

        def raw(row: int) -> str:
            return orjson.dumps(events.slice(row, 1).to_pylist()[0], default=str).decode()

        def id_of(chunk: EventChunk, row: int) -> str:
            return str(called[int(chunk.rows[row])].as_py())

        def place_of(reject: RejectedEvent) -> str:
            return str(called[reject.row].as_py())

        kept: dict[str, Any] = {path: batch.column(carried_as(number)) for number, path in enumerate(self._keep)}
        rows = np.arange(batch.num_rows)
        yield ReadChunk(EventChunk(events, batch.column(OWN), rows, None, [], raw), id_of, place_of, kept)
