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
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.files.backtest_hearing import ChunkTally
from vedette.files.backtest_tally import Tally
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher, MatchedSlice
from vedette.files.pieces import LineCount, Piece
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.operators.files import FileTask, filters_here, told
from vedette.spark.patterns.looking import Looking, Seen, look, rows_of
from vedette.spark.snapshots import Shipped, opened

COLUMNS = (
    "number bigint, slice bigint, matches binary, rejects binary, read bigint, lines bigint, rejected bigint, "
    "out binary, latest bigint, named boolean, said binary, tally binary, error string"
)
TALLY = -1  # instead of the number of a piece: it goes with the last of a round
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
        ("out", pa.binary()),
        ("latest", pa.int64()),
        ("named", pa.bool_()),
        ("said", pa.binary()),
        ("tally", pa.binary()),
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
    looking: Looking | None = None  # what patterns look at, if there are any
    operators: FileTask | None = None  # the filters that call some
    tallying: Tallying | None = None  # matches are not handed back, but counted


class Tallying(NamedTuple):
    """How matches are counted."""

    ids: tuple[str, ...]  # of all subscriptions
    places: NDArray[np.int64]  # of the filters among them
    samples: int
    schema: Schema


def match_pieces(batches: Iterator[Any], options: TaskOptions) -> Iterator[Any]:
    """Rows of (number, piece) -> rows of COLUMNS, at least one for every piece that has events."""
    with filters_here(options.operators) as operators:
        matcher = ChunkMatcher(opened(options.shipped), options.columns, operators=operators)
        counting = options.tallying
        tally = None if counting is None else Tally(counting.ids, counting.samples)
        any_piece = False
        for batch in batches:
            any_piece |= bool(batch.num_rows)
            for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
                piece: Piece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
                results = _results(piece, matcher, options, tally)
                for place, result in enumerate(results):
                    yield pa.RecordBatch.from_pylist([{"number": number, "slice": place, **result}], _SCHEMA)
        if tally is not None and any_piece:
            whole = _result(tally=tally.to_bytes())  # of all its pieces
            yield pa.RecordBatch.from_pylist([{"number": TALLY, "slice": 0, **whole}], _SCHEMA)


def _results(
    piece: Piece, matcher: ChunkMatcher, options: TaskOptions, tally: Tally | None
) -> Iterator[dict[str, Any]]:
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
            rejects: list[RejectedEvent] = []
            counting = options.tallying
            mine = None
            if tally is not None and counting is not None:
                mine = ChunkTally(tally, chunk, counting.schema, counting.places)
            for found in matcher.match(chunk):
                rejects += found.rejects
                if mine is None:
                    yield _result(matches=_matches(chunk, found), said=told(found.notices), read=found.read)
                else:
                    mine.take(found)
                    yield _result(read=found.read)
            if mine is not None:
                mine.finish()
            yield _told(chunk, rejects, options)
    except InputError as error:
        yield _result(error=str(error))
    except OSError as error:
        yield _result(error=f"cannot read {error.filename or piece.paths[0]}: {error.strerror or error}")
    yield _result(lines=lines.lines)


def _told(chunk: EventChunk, rejects: list[RejectedEvent], options: TaskOptions) -> dict[str, Any]:
    """What is known of a chunk as a whole: its rejects in the order of rows, and what patterns see of the others."""
    seen = Seen([], None, False)
    if options.looking is not None:
        seen = look(chunk.without({one.row for one in rejects}), options.looking)
        rejects = sorted(rejects + seen.rejects, key=lambda one: one.row)
    first = [(one.row, one.line, one.reason, one.raw) for one in rejects[: options.rejects]]
    return _result(rejects=first, rejected=len(rejects), out=rows_of(rejects), latest=seen.latest, named=seen.named)


def _result(
    *,
    matches: Any = _NO_MATCHES,
    rejects: list[Any] | None = None,
    rejected: int = 0,
    read: int = 0,
    lines: int = 0,
    out: bytes = b"",
    latest: int | None = None,
    named: bool = False,
    said: bytes = b"",
    tally: bytes | None = None,
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
        "out": out,
        "latest": latest,
        "named": named,
        "said": said,
        "tally": tally,
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
