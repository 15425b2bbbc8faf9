"""The events of a chunk by what they are: a table, or dicts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from vedette.io.chunks import EventChunk


def table_of(chunk: EventChunk) -> pa.Table:
    """The events of a chunk that is a table."""
    assert isinstance(chunk.events, pa.Table)
    return chunk.events


def dicts_of(chunk: EventChunk) -> list[dict[str, Any]]:
    """The events of a chunk that are dicts."""
    assert isinstance(chunk.events, list)
    return chunk.events
