"""Pieces of a file that know the numbers of their rows and lines: where they do not, they are counted first."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.files.chunks import EventChunk
from vedette.files.lines import numbered as lines_of
from vedette.files.lines import whole_lines
from vedette.files.pieces import Cut, FileRange, LineCount, LinesPiece, Piece

_COUNTED = "number bigint, rows bigint, lines bigint"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A piece, and how many rows and lines come before it."""

    piece: Piece
    row: int
    line: int
    counted: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that must be there for it to be read."""
        return self.piece.paths

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks with the numbers of the source."""
        for read in self.piece.chunks(chunk, lines):
            rejects = [
                replace(one, row=one.row + self.row, line=None if one.line is None else one.line + self.line)
                for one in read.rejects
            ]
            numbers = None if read.lines is None else read.lines + self.line
            yield EventChunk(read.events, read.own_ids, read.rows + self.row, numbers, rejects, read.raw)


def numbered(spark: SparkSession, cuts: Sequence[Cut]) -> list[Cut]:
    """The same pieces, all of which know the numbers of their rows."""
    unknown = {place: one.piece for place, one in enumerate(cuts) if not one.piece.counted}
    if not unknown:
        return list(cuts)
    table = pa.table(
        {
            "number": pa.array(unknown, pa.int64()),
            "piece": pa.array([pickle.dumps(piece) for piece in unknown.values()], pa.binary()),
        }
    )
    found = spark.createDataFrame(table).mapInArrow(_count, _COUNTED).toArrow().sort_by("number")
    rows, lines = (np.concatenate([[0], np.cumsum(found.column(name).to_numpy())]) for name in ("rows", "lines"))
    pieces = {
        place: Numbered(piece, int(rows[number]), int(lines[number]))
        for number, (place, piece) in enumerate(unknown.items())
    }
    return [one._replace(piece=pieces.get(place, one.piece)) for place, one in enumerate(cuts)]


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
            piece: LinesPiece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
            content = piece.content
            rows = lines = 0
            for some in lines_of(whole_lines(content.blocks()) if isinstance(content, FileRange) else content):
                lines += len(some.lines)
                rows += sum(1 for line in some.lines if line.strip())  # a blank line is no row
            yield pa.RecordBatch.from_pylist([{"number": number, "rows": rows, "lines": lines}])
