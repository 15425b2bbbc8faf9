"""What a task of a file job does, in a worker: read pieces, match them, and hand back what was found."""

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from vedette.errors import InputError
from vedette.files.chunks import EventChunk
from vedette.files.matched import ChunkMatcher, MatchedSlice
from vedette.files.pieces import LineCount, Piece
from vedette.schema.columns import Column
from vedette.spark.snapshots import Shipped, opened

COLUMNS = (
    "number bigint, slice bigint, matches binary, rejects binary, "
    "read bigint, lines bigint, rejected bigint, error string"
)
_CHUNK = 65_536  # rows that are read at a time
_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("slice", pa.int64()),
        ("matches", pa.binary()),
        ("rejects", pa.binary()),
        ("read", pa.int64()),
        ("lines", pa.int64()),
        ("rejected", pa.int64()),
        ("error", pa.string()),
    ]
)
_MATCHES = pa.schema([("id", pa.string()), ("row", pa.int64()), ("subscriptions", pa.list_(pa.int32()))])
_NO_MATCHES = pa.RecordBatch.from_pylist([], _MATCHES)
_QUICK = pa.ipc.IpcWriteOptions(compression="lz4")


class TaskOptions(NamedTuple):
    """What a task needs besides its pieces."""

    shipped: Shipped
    columns: tuple[Column, ...]
    rejects: int | None  # of one slice at most; None: all


def match_pieces(batches: Iterator[Any], options: TaskOptions) -> Iterator[Any]:
    """Rows of (number, piece) -> rows of COLUMNS, at least one for every piece that has events."""
    matcher = ChunkMatcher(opened(options.shipped), options.columns)
    for batch in batches:
        for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
            piece: Piece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
            results = _results(piece, matcher, options.rejects)
            for place, result in enumerate(results):
                yield pa.RecordBatch.from_pylist([{"number": number, "slice": place, **result}], _SCHEMA)


def _results(piece: Piece, matcher: ChunkMatcher, most: int | None) -> Iterator[dict[str, Any]]:
    unseen = [path for path in piece.paths if not os.path.exists(path)]
    if unseen:
        yield _result(
            error=f"{unseen[0]} is not there on {platform.node()}, where Spark runs its tasks\n"
            "Hint: put the events on a file system that all hosts of the cluster see, or hand them in by standard input"
        )
        return
    lines = LineCount()
    try:
        for chunk in piece.chunks(_CHUNK, lines):
            for found in matcher.match(chunk):
                rejects = [(one.row, one.line, one.reason, one.raw) for one in found.rejects[:most]]
                yield _result(
                    matches=_matches(chunk, found), rejects=rejects, rejected=len(found.rejects), read=found.read
                )
    except InputError as error:
        yield _result(error=str(error))
    except OSError as error:
        yield _result(error=f"cannot read {error.filename or piece.paths[0]}: {error.strerror or error}")
    yield _result(lines=lines.lines)


def _result(
    *,
    matches: Any = _NO_MATCHES,
    rejects: list[Any] | None = None,
    rejected: int = 0,
    read: int = 0,
    lines: int = 0,
    error: str | None = None,
) -> dict[str, Any]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _MATCHES, options=_QUICK) as writer:
        writer.write_batch(matches)
    return {
        "matches": sink.getvalue().to_pybytes(),
        "rejects": orjson.dumps(rejects or []),
        "read": read,
        "lines": lines,
        "rejected": rejected,
        "error": error,
    }


def _matches(chunk: EventChunk, found: MatchedSlice) -> Any:
    """The events that match something, and what they match."""
    start = found.rows.start
    events = np.flatnonzero(np.diff(start))
    places = events + found.begin
    offsets = np.append(start[events], start[-1]).astype(np.int32)
    subscriptions = pa.ListArray.from_arrays(pa.array(offsets), pa.array(found.rows.subscription))
    ids = chunk.own_ids.take(pa.array(places))
    return pa.RecordBatch.from_arrays([ids, pa.array(chunk.rows[places]), subscriptions], schema=_MATCHES)
