"""Runs a task of a file job, in a worker: reads pieces, matches them, and returns the results."""

from __future__ import annotations

import os
import pickle
import platform
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from vedette.engine.outcomes import MATCH, OutcomeDetails
from vedette.errors import InputError
from vedette.io.backtest_tally import BacktestTally
from vedette.io.chunk_stepper import ChunkStepper, SliceOutcome
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.pieces import LineCount, Piece
from vedette.io.row_details import TYPES, json_object
from vedette.io.step_tally import StepTally
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.engines import Sent
from vedette.spark.patterns.survey import Looking, Seen, look, rows_of
from vedette.spark.readers import PiecePart, ReadChunk, Reader, without_events
from vedette.spark.worker import WorkerTask, Writer

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
    task = WorkerTask(options.sent, _Pieces, partial(_Results, options), options.columns)
    return task.run(batches)


class _Pieces(Reader):
    """Pieces of files: `number`, `piece`."""

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """The chunks of each piece, then one without events, which says how it ended."""
        for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
            piece: Piece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
            lines, error = LineCount(), _unseen(piece)
            try:
                for chunk in () if error else piece.chunks(_CHUNK, lines):
                    yield ReadChunk(chunk, None, str, part=PiecePart(number))
            except InputError as refused:
                error = str(refused)
            except OSError as refused:
                error = f"cannot read {refused.filename or piece.paths[0]}: {refused.strerror or refused}"
            yield ReadChunk(without_events([]), None, str, part=PiecePart(number, lines.lines, error))


def _unseen(piece: Piece) -> str | None:
    """Why a piece is not there; None if it is."""
    path = next((path for path in piece.paths if not os.path.exists(path)), None)
    if path is None:
        return None
    return (
        f"{path} is not there on {platform.node()}, where Spark runs its tasks\n"
        "Hint: put the events on a file system that all hosts of the cluster see, or hand them in by standard input"
    )


def _part_of(read: ReadChunk) -> PiecePart:
    assert read.part is not None  # as of all pieces
    return read.part


class _Results(Writer):
    """Writes the results of pieces, in their order."""

    def __init__(self, options: TaskOptions, stepper: ChunkStepper) -> None:
        self._options, self._stepper, counting = options, stepper, options.tallying
        self._tally = None if counting is None else BacktestTally(counting.ids, counting.samples)
        self._mine: StepTally | None = None  # of the present piece
        self._piece, self._results = TALLY, 0
        self._rejects: list[RejectedRow] = []  # of the present chunk

    def write(self, read: ReadChunk, found: SliceOutcome) -> Iterator[pa.RecordBatch]:
        """The matches of a slice, or only how many rows were read, where matches are counted."""
        part = _part_of(read)
        self._begin(part.number)
        if part.lines is not None:
            return
        self._rejects += found.rejects
        if self._mine is None:
            yield self._row(matches=_matches(read.chunk, found), said=_said(found), read=found.read)
        else:
            self._mine.take(read.chunk, found, self._stepper.state)
            yield self._row(read=found.read)

    def _begin(self, number: int) -> None:
        if number == self._piece:
            return
        self._piece, self._results, counting = number, 0, self._options.tallying
        if self._tally is not None and counting is not None:
            self._mine = StepTally(self._tally, counting.schema, counting.places)

    def written(self, read: ReadChunk) -> Iterator[pa.RecordBatch]:
        """Facts of a whole chunk: its rejects in the order of rows, and what patterns need to know of the others."""
        part = _part_of(read)
        if part.lines is not None:
            yield self._row(lines=part.lines, error=part.error)
            return
        rejects, self._rejects = self._rejects, []
        seen = Seen([], None, False)
        if self._options.looking is not None:
            seen = look(read.chunk.without({one.row for one in rejects}), self._options.looking)
            rejects = sorted(rejects + seen.rejects, key=lambda one: one.row)
        shown = [(one.row, one.line, one.reason, one.raw) for one in rejects[: self._options.rejects]]
        yield self._row(
            rejects=orjson.dumps(shown),
            rejected=len(rejects),
            out=rows_of(rejects),
            latest=seen.latest,
            named=seen.named,
        )

    def failed(self, read: ReadChunk, error: InputError) -> Iterator[pa.RecordBatch]:
        """Events that cannot be matched end the job, after the results before them."""
        self._begin(_part_of(read).number)
        yield self._row(error=str(error))

    def end(self) -> Iterator[pa.RecordBatch]:
        """The tally of all pieces."""
        if self._tally is not None and self._piece != TALLY:
            self._piece, self._results = TALLY, 0
            yield self._row(tally=self._tally.to_bytes())

    def _row(self, **facts: Any) -> pa.RecordBatch:
        place, self._results = self._results, self._results + 1
        return pa.RecordBatch.from_pylist([{"number": self._piece, "slice": place, **_NOTHING, **facts}], _SCHEMA)


def _matches(chunk: EventChunk, found: SliceOutcome) -> bytes:
    """The events that match something, and what they match."""
    places, first = np.unique(found.events(), return_index=True)
    offsets = np.append(first, len(found.outcomes)).astype(np.int32)
    matched = pa.array(found.outcomes.place.astype(np.int32))
    subscriptions = pa.ListArray.from_arrays(pa.array(offsets), matched)
    columns = [chunk.own_ids.take(pa.array(places)), pa.array(chunk.rows[places]), subscriptions]
    return _written(pa.RecordBatch.from_arrays(columns, schema=_MATCHES))


def _written(matches: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _MATCHES, options=_QUICK) as writer:
        writer.write_batch(matches)
    written: bytes = sink.getvalue().to_pybytes()
    return written


_NOTHING: dict[str, Any] = {
    "matches": _written(pa.RecordBatch.from_pylist([], _MATCHES)),
    "rejects": b"[]",
    "read": 0,
    "lines": 0,
    "rejected": 0,
    "out": b"",
    "named": False,
    "said": b"",
}


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
