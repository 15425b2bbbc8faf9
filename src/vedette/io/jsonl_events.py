"""Events from JSON lines."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from vedette.io.byte_sources import Lines
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.schema.values import json_text

_PLACE = re.compile(r": line \d+ column (\d+) \(char \d+\)\Z")
_CALLED = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}


def json_chunks(lines: Iterable[Lines], chunk: int) -> Iterator[EventChunk]:
    """Chunks of about `chunk` rows, good and bad."""
    row = 0
    pending = _PendingRows(row)
    for some in lines:
        for begin in range(0, len(some.lines), chunk):
            pending.add(Lines(some.first + begin, some.lines[begin : begin + chunk], some.too_long))
            if pending.row - pending.first_row >= chunk:
                yield pending.chunk()
                pending = _PendingRows(pending.row)
    if pending.row > pending.first_row:
        yield pending.chunk()


class _PendingRows:
    """Collects rows for the next chunk."""

    def __init__(self, row: int) -> None:
        self.first_row = self.row = row
        self.events: list[dict[str, Any]] = []
        self.ids: list[str | None] = []
        self.rows: list[int] = []
        self.lines: list[int] = []
        self.raws: list[bytes] = []
        self.rejects: list[RejectedRow] = []

    def add(self, some: Lines) -> None:
        loads, row = orjson.loads, self.row
        for line, raw in enumerate(some.lines, some.first):
            try:
                event = loads(raw)
            except orjson.JSONDecodeError as error:
                if raw.strip():
                    reason = "the line is longer than 64 MiB" if some.too_long else json_error(error)
                    self.rejects.append(RejectedRow(row, line, reason, _text(raw)))
                    row += 1
                continue
            if type(event) is not dict:
                reason = f"an event is an object, not {_CALLED[type(event)]}"
                self.rejects.append(RejectedRow(row, line, reason, _text(raw)))
                row += 1
                continue
            if "specversion" in event:
                open_cloud_event(event)
            id_ = event.get("id")
            self.events.append(event)
            self.ids.append(id_ if type(id_) is str or id_ is None else json_text(id_))
            self.rows.append(row)
            self.lines.append(line)
            self.raws.append(raw)
            row += 1
        self.row = row

    def chunk(self) -> EventChunk:
        raws = self.raws
        return EventChunk(
            self.events,
            pa.array(self.ids, pa.string()),
            np.array(self.rows, np.int64),
            np.array(self.lines, np.int64),
            self.rejects,
            lambda place: _text(raws[place]),
        )


def json_error(error: orjson.JSONDecodeError) -> str:
    """orjson's message for a line, with the column only."""
    message = str(error)
    place = _PLACE.search(message)
    if place is None:
        return f"not JSON: {message}"
    return f"not JSON: {message[: place.start()]} (column {place.group(1)})"


def open_cloud_event(event: dict[str, Any]) -> None:
    """Decode base64 JSON in a CloudEvent into its `data`; everything else stays as it is."""
    encoded = event.get("data_base64")
    if not isinstance(encoded, str) or "data" in event:
        return
    if "json" not in str(event.get("datacontenttype", "application/json")):
        return
    try:
        event["data"] = orjson.loads(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        return


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\r").decode("utf-8", "replace")
