"""Runs a task of a file job, in a worker: reads pieces, matches them, and returns the results."""

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

from vedette.engine.outcomes import MATCH, OutcomeDetails
from vedette.engine.state import StreamOptions
from vedette.errors import InputError
from vedette.io.backtest_tally import BacktestTally
from vedette.io.chunk_stepper import ChunkStepper, SliceOutcome
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.pieces import LineCount, Piece
from vedette.io.row_details import TYPES, json_object
from vedette.io.step_tally import StepTally
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.engines import Sent, engine_here
from vedette.spark.patterns.survey import Looking, Seen, look, rows_of

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

    sent: Sent
    columns: tuple[Column, ...]  # that are read of every event
    rejects: int | None  # of one slice at most; None: all
    looking: Looking | None = None  # attributes that patterns need, if there are patterns
    tallying: Tallying | None = None  # matches are not handed back, but counted


class Tallying(NamedTuple):
    """How matches are counted instead of being returned."""

    ids: tuple[str, ...]  # of all subscriptions
    places: NDArray[np.int64]  # of the filters among them
    samples: int
    schema: Schema


def match_pieces(batches: Iterator[Any], options: TaskOptions) -> Iterator[Any]:
    """Rows of (number, piece) -> rows of COLUMNS, at least one for every piece that has events."""
    with engine_here(options.sent) as engine:
        stepper = ChunkStepper(engine, StreamOptions(promised=options.columns))
        counting = options.tallying
        tally = None if counting is None else BacktestTally(counting.ids, counting.samples)
        any_piece = False
        for batch in batches:
            any_piece |= bool(batch.num_rows)
            for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
                piece: Piece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
                results = _results(piece, stepper, options, tally)
                for place, result in enumerate(results):
                    yield pa.RecordBatch.from_pylist([{"number": number, "slice": place, **result}], _SCHEMA)
        if tally is not None and any_piece:
            whole = _result(tally=tally.to_bytes())  # of all its pieces
            yield pa.RecordBatch.from_pylist([{"number": TALLY, "slice": 0, **whole}], _SCHEMA)


def _results(
    piece: Piece, stepper: ChunkStepper, options: TaskOptions, tally: BacktestTally | None
) -> Iterator[dict[str, Any]]:
    unseen = [path for path in piece.paths if not os.path.exists(path)]
    if unseen:
        yield _result(
            error=f"{unseen[0]} is not there on {platform.node()}, where Spark runs its tasks\n"
            "Hint: put the events on a file system that all hosts of the cluster see, or hand them in by standard input"
        )
        return
    lines, counting = LineCount(), options.tallying
    mine = None
    if tally is not None and counting is not None:
        mine = StepTally(tally, counting.schema, counting.places)
    try:
        for chunk in piece.chunks(_CHUNK, lines):
            rejects: list[RejectedRow] = []
            for found in stepper.step(chunk):
                rejects += found.rejects
                if mine is None:
                    yield _result(matches=_matches(chunk, found), said=_said(found), read=found.read)
                else:
                    mine.take(chunk, found, stepper.state)
                    yield _result(read=found.read)
            yield _told(chunk, rejects, options)
    except InputError as error:
        yield _result(error=str(error))
    except OSError as error:
        yield _result(error=f"cannot read {error.filename or piece.paths[0]}: {error.strerror or error}")
    yield _result(lines=lines.lines)


def _told(chunk: EventChunk, rejects: list[RejectedRow], options: TaskOptions) -> dict[str, Any]:
    """Facts of a whole chunk: its rejects in the order of rows, and what patterns need to know of the others."""
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


def _matches(chunk: EventChunk, found: SliceOutcome) -> Any:
    """The events that match something, and what they match."""
    places, first = np.unique(found.events(), return_index=True)
    offsets = np.append(first, len(found.outcomes)).astype(np.int32)
    matched = pa.array(found.outcomes.place.astype(np.int32))
    subscriptions = pa.ListArray.from_arrays(pa.array(offsets), matched)
    ids = chunk.own_ids.take(pa.array(places))
    return pa.RecordBatch.from_arrays([ids, pa.array(chunk.rows[places]), subscriptions], schema=_MATCHES)


def _said(found: SliceOutcome) -> bytes:
    """The bindings of matches, as bytes: values that JSON has no type for are texts, as they are written."""
    parts = []
    for row, detail in found.outcomes.details():
        parts.append(f"[{row},{json_object(detail.bindings)}]")
    return f"[{','.join(parts)}]".encode() if parts else b""


def heard(said: bytes) -> OutcomeDetails | None:
    """The bindings that `_said` wrote, as details of outcomes; None if there are none."""
    if not said:
        return None
    rows, bindings = zip(*orjson.loads(said), strict=True)
    nothing = {name: pa.nulls(len(rows), type_) for name, type_ in TYPES.items()}
    kinds = np.full(len(rows), MATCH, np.int8)
    steps, probability, within = nothing["steps"], nothing["probability"], nothing["within"]
    return OutcomeDetails(np.array(rows, np.int64), kinds, steps, bindings, probability, within)
