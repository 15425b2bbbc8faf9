"""Cut events into pieces that can be read on their own, in any order and by other processes.

Files that can be read from any position are cut into ranges: a piece is then only a path and some numbers. What can be
read only from start to end (standard input, gzip) is read here, and a piece carries its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs

from vedette.io import byte_sources
from vedette.io.byte_sources import BYTE_ORDER_MARK, InputSource, Lines, WholeLines, numbered, whole_lines
from vedette.io.chunks import EventChunk
from vedette.io.csv_events import CsvEvents
from vedette.io.csv_records import records_of
from vedette.io.csv_rows import CsvRows
from vedette.io.events import EventReader
from vedette.io.jsonl_events import json_chunks
from vedette.io.parquet_events import ParquetEvents, read_batches, table_chunks

_LEAST_BYTES, _MOST_BYTES = 1 << 18, 1 << 23
_LEAST_ROWS = 8192
_WHOLE = 1 << 62  # a range that is read at once


class PieceSizes(NamedTuple):
    """The sizes of pieces."""

    pieces: int  # so many at least, unless they get too small
    rows: int  # in one piece, at most, about


@dataclass(slots=True)
class LineCount:
    """The number of lines that were read."""

    lines: int = 0

    def count(self, read: Iterable[Lines]) -> Iterator[Lines]:
        """Count the lines while they are read."""
        for some in read:
            self.lines += len(some.lines)
            yield some


class Piece(Protocol):
    """Some consecutive events of a source."""

    @property
    def counted(self) -> bool:
        """Whether row and line numbers are those of the source; else they begin again with the piece."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that must exist for it to be read."""

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks of about so many rows; the lines that are read are counted, if there are any."""


class CutPiece(NamedTuple):
    """A piece that was cut off the source."""

    piece: Piece
    done: float | None  # of the source, from 0 to 1; None if unknown


def cut(events: EventReader, sizes: PieceSizes) -> Iterator[CutPiece]:
    """Cut all events into pieces."""
    source = events.source
    if events.parquet is not None:
        return _parquet_pieces(events.parquet, sizes)
    if events.csv is not None:
        return _csv_pieces(events.csv, sizes)
    if source.path is not None and _any_place(source):
        return _line_ranges(source.path, sizes)
    return _line_texts(source)


# ---------------------------------------------------------------- lines of JSON


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of bytes of a file."""

    path: str
    begin: int
    end: int
    block: int  # bytes are read in the same blocks as when the file is read as a whole

    def blocks(self) -> Iterator[bytes]:
        """The bytes, without a byte order mark."""
        place = self.begin
        with open(self.path, "rb") as file:
            file.seek(place)
            while place < self.end:
                read = file.read(min(self.end, place - place % self.block + self.block) - place)
                if not read:
                    return
                yield read.removeprefix(BYTE_ORDER_MARK) if place == 0 else read
                place += len(read)

    def read(self) -> bytes:
        """All bytes; a last line without an end gets one."""
        text = b"".join(self.blocks())
        return text + b"\n" if len(text) < self.end - self.begin else text


@dataclass(frozen=True, slots=True)
class LinesPiece:
    """Lines of JSON: their range in a file, or the lines."""

    content: FileRange | tuple[WholeLines, ...]
    counted: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The file, unless the lines are included."""
        return (self.content.path,) if isinstance(self.content, FileRange) else ()

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks of about so many rows."""
        content = self.content
        texts: Iterable[WholeLines] = whole_lines(content.blocks()) if isinstance(content, FileRange) else content
        return json_chunks(lines.count(numbered(texts)), chunk)


def _any_place(source: InputSource) -> bool:
    """Whether it is a plain file, which can be read from any position."""
    if source.path is None or not source.path.is_file():
        return False
    with source.path.open("rb") as file:
        return file.read(2) != byte_sources.GZIP


def _line_ranges(path: Path, sizes: PieceSizes) -> Iterator[CutPiece]:
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(_LEAST_BYTES)
        by_rows = sizes.rows * len(first) // (first.count(b"\n") + 1)
        step = max(1, min(size // sizes.pieces, by_rows, _MOST_BYTES))
        step = max(step, min(_LEAST_BYTES, by_rows))
        begin = 0
        while begin < size:
            file.seek(min(size, begin + step))
            while (line := file.readline(_LEAST_BYTES)) and not line.endswith(b"\n"):
                pass
            end = file.tell()
            yield CutPiece(LinesPiece(FileRange(str(path.resolve()), begin, end, byte_sources.BLOCK)), end / size)
            begin = end


def _line_texts(source: InputSource) -> Iterator[CutPiece]:
    held: list[WholeLines] = []
    size = 0
    for text in whole_lines(source.blocks()):
        held.append(text)
        size += len(text.text)
        if size >= byte_sources.BLOCK:
            yield CutPiece(LinesPiece(tuple(held)), source.progress)
            held, size = [], 0
    if held:
        yield CutPiece(LinesPiece(tuple(held)), source.progress)


# ---------------------------------------------------------------- CSV


@dataclass(frozen=True, slots=True)
class CsvPiece:
    """Records of a CSV file: their range in a file, or their text; and which of them."""

    names: tuple[str, ...]
    types: dict[str, pa.DataType]
    content: FileRange | bytes
    line: int  # of the beginning
    unclosed: bool
    row: int  # of the first record
    begin: int  # of the rows to be read
    end: int
    counted: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The file, unless the text is included."""
        return (self.content.path,) if isinstance(self.content, FileRange) else ()

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks of at most so many rows."""
        content = self.content
        text = content.read() if isinstance(content, FileRange) else content
        records = records_of(text, self.line, unclosed=self.unclosed)
        return CsvRows(list(self.names), self.types).chunks_of(records, self.row, chunk, self.begin, self.end)


def _csv_pieces(csv: CsvEvents, sizes: PieceSizes) -> Iterator[CutPiece]:
    csv.infer()
    names, types = tuple(csv.names), csv.types or {}
    path = csv.source.path.resolve() if csv.source.path is not None and _any_place(csv.source) else None
    below = csv.again()
    place = below.header_size + (0 if path is None else _mark_size(path))
    row = 0
    for records in below:
        content: FileRange | bytes = records.text
        if path is not None:
            content = FileRange(str(path), place, place + len(records.text), _WHOLE)
        place += len(records.text)
        for begin in range(0, len(records), sizes.rows):
            end = min(len(records), begin + sizes.rows)
            piece = CsvPiece(names, types, content, records.first, records.unclosed, row, begin, end)
            yield CutPiece(piece, csv.source.progress)
        row += len(records)


def _mark_size(path: Path) -> int:
    with path.open("rb") as file:
        mark = file.read(len(BYTE_ORDER_MARK))
    return len(mark) if mark == BYTE_ORDER_MARK else 0


# ---------------------------------------------------------------- Parquet


class RowGroups(NamedTuple):
    """Some row groups of a Parquet file, and the values in the names of its folders."""

    path: str
    groups: tuple[int, ...]
    partition: ds.Expression


@dataclass(frozen=True, slots=True)
class ParquetPiece:
    """Rows of Parquet files."""

    name: str  # of the whole source
    parts: tuple[RowGroups, ...]
    schema: pa.Schema
    columns: list[str] | None
    row: int  # of the first one
    begin: int  # of the rows to be read, counted in the row groups
    end: int
    counted: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return tuple(dict.fromkeys(part.path for part in self.parts))

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks of at most so many rows."""
        format_, files = ds.ParquetFileFormat(), pa_fs.LocalFileSystem()
        fragments = [
            format_.make_fragment(part.path, files, part.partition, row_groups=part.groups) for part in self.parts
        ]
        dataset = ds.FileSystemDataset(fragments, self.schema, format_, files)
        batches = read_batches(dataset, self.columns, chunk, self.name)
        return table_chunks(_window(batches, self.begin, self.end), chunk, self.row)


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Rows of a table that is in no file."""

    table: pa.Table
    row: int
    counted: bool = True
    paths: tuple[str, ...] = ()

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Chunks of at most so many rows."""
        return table_chunks(self.table.to_batches(), chunk, self.row)


def _parquet_pieces(parquet: ParquetEvents, sizes: PieceSizes) -> Iterator[CutPiece]:
    if not isinstance(parquet.dataset, ds.FileSystemDataset):
        yield from _table_pieces(parquet, sizes)
        return
    total = max(1, parquet.total or 0)
    step = max(1, min(sizes.rows, max(_LEAST_ROWS, total // sizes.pieces)))
    row = 0
    for parts, size in _row_groups(parquet.dataset, step):
        pieces = max(1, round(size / step))
        for number in range(pieces):
            begin, end = size * number // pieces, size * (number + 1) // pieces
            piece = ParquetPiece(
                parquet.source.name, parts, parquet.dataset.schema, parquet.columns, row + begin, begin, end
            )
            yield CutPiece(piece, (row + end) / total)
        row += size


def _row_groups(dataset: ds.FileSystemDataset, rows: int) -> Iterator[tuple[tuple[RowGroups, ...], int]]:
    """Consecutive row groups with at least `rows` rows (the last ones may have fewer); and their number of rows."""
    held: list[RowGroups] = []
    size = 0
    for fragment in dataset.get_fragments():
        path = str(Path(fragment.path).resolve())
        for group in fragment.row_groups:
            held.append(RowGroups(path, (group.id,), fragment.partition_expression))
            size += group.num_rows
            if size >= rows:
                yield tuple(held), size
                held, size = [], 0
    if size:
        yield tuple(held), size


def _table_pieces(parquet: ParquetEvents, sizes: PieceSizes) -> Iterator[CutPiece]:
    row = 0
    for batch in parquet.batches(sizes.rows):
        # What is pickled of a slice would be all that it is a slice of.
        table = pa.Table.from_batches([batch.take(pa.array(range(batch.num_rows)))])
        yield CutPiece(TablePiece(table, row), None)
        row += batch.num_rows


def _window(batches: Iterable[pa.RecordBatch], begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """The rows from `begin` to `end`."""
    row = 0
    for batch in batches:
        first, last = max(begin - row, 0), min(end - row, batch.num_rows)
        if first < last:
            yield batch.slice(first, last - first)
        row += batch.num_rows
        if row >= end:
            return
