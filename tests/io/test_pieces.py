"""Pieces of a source, each read on its own, are the source: whatever is in it and wherever it is cut."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.io.event_chunks import table_of
from tests.io.test_any_bytes import contents
from tests.seeds import EXAMPLES
from vedette.errors import FileError, InputError
from vedette.io import byte_sources, csv_records, pieces
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.events import read_events
from vedette.io.pieces import CutPiece, LineCount, PieceSizes, cut
from vedette.schema.schema import Schema

Row = tuple[int, int | None, str, Any, str]  # row, line, id, event, text


class Trickle(io.BytesIO):
    """Standard input that hands over a little at a time."""

    def __init__(self, content: bytes, step: int) -> None:
        super().__init__(content)
        self._step = step

    def read1(self, size: int | None = -1, /) -> bytes:
        """At most so many bytes."""
        return self.read(self._step)


def rows_of(chunks: Iterable[EventChunk]) -> tuple[list[Row], list[RejectedRow]]:
    """Everything that chunks say."""
    rows: list[Row] = []
    rejects: list[RejectedRow] = []
    for chunk in chunks:
        events = chunk.events.to_pylist() if isinstance(chunk.events, pa.Table) else chunk.events
        for place, event in enumerate(events):
            line = None if chunk.lines is None else int(chunk.lines[place])
            rows.append((int(chunk.rows[place]), line, chunk.ids[place].as_py(), repr(event), chunk.raw(place)))
        rejects += chunk.rejects
    return rows, rejects


def rows_of_pieces(cuts: Iterable[CutPiece]) -> tuple[list[Row], list[RejectedRow]]:
    """The same by way of pieces, with numbers made whole again."""
    rows: list[Row] = []
    rejects: list[RejectedRow] = []
    first_row = first_line = 0
    for piece, _ in cuts:
        count = LineCount()
        some, bad = rows_of(pickle.loads(pickle.dumps(piece)).chunks(65_536, count))  # noqa: S301
        if not piece.counted:
            some = [
                (row + first_row, (line or 0) + first_line, str(row + first_row) if id_ == str(row) else id_, *rest)
                for row, line, id_, *rest in some
            ]
            bad = [RejectedRow(one.row + first_row, (one.line or 0) + first_line, one.reason, one.raw) for one in bad]
            first_row += len(some) + len(bad)
            first_line += count.lines
        rows += some
        rejects += bad
    return rows, rejects


@contextlib.contextmanager
def small(block: int, longest: int) -> Iterator[None]:
    """Files are read in small blocks; what is long is not so long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_sources, "BLOCK", block)
        patch.setattr(byte_sources.whole_lines, "__defaults__", (longest,))
        patch.setattr(byte_sources.split, "__defaults__", (longest,))
        patch.setattr(csv_records.split_records, "__defaults__", (longest,))
        yield


@settings(deadline=None, max_examples=4 * EXAMPLES)
@given(contents, st.integers(3, 30), st.integers(8, 40), st.integers(1, 4), st.booleans())
@example(b'a,b\n"', 3, 40, 1, False)
@example(b"a,b\r1,2\r3,4\r5,6\r", 3, 40, 1, False)
@example(b"\xef\xbb\xbfa,b\n1,2\n\n3,4", 7, 40, 1, False)
@example(b'a\n"1\n2\n3\n4,5\n6,7\n8', 3, 8, 1, False)
@example(b"\0" * 9 + b"\n" + b"\0" * 9, 19, 8, 1, False)
@example(b'{"a":1}' * 9 + b"\n" + b'{"a":2}\n\n \n{"a":3}', 4, 10, 1, True)
def test_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, block: int, longest: int, rows: int, given_schema: bool
) -> None:
    folder = tmp_path_factory.getbasetemp() / "pieces"
    folder.mkdir(exist_ok=True)
    schema = Schema.of({"a": "string", "b": "float"}) if given_schema else None
    with small(block, longest), pytest.MonkeyPatch.context() as patch:
        for name in ("e.jsonl", "e.csv", "e.jsonl.gz", "e.csv.gz"):
            path = folder / name
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
            check(path, None, schema, PieceSizes(100, rows))
        for format_ in ("jsonl", "csv"):
            feed = lambda: patch.setattr(sys, "stdin", io.TextIOWrapper(Trickle(content, block)))  # noqa: E731
            check("-", format_, schema, PieceSizes(100, rows), feed)


def check(
    place: Path | str,
    format_: str | None,
    schema: Schema | None,
    sizes: PieceSizes,
    feed: Callable[[], None] = lambda: None,
) -> None:
    """The same rows, or the same refusal."""
    feed()
    try:
        expected: Any = rows_of(read_events(place, format=format_, schema=schema))
    except InputError as error:
        expected = str(error)
    feed()
    try:
        events = read_events(place, format=format_, schema=schema, replayed=True)
        assert events.schema is not None  # for which the beginning is read
        next(events, None)
        found: Any = rows_of_pieces(list(cut(events, sizes)))
    except InputError as error:
        found = str(error)
    assert found == expected


def test_pieces_are_small_and_say_how_far_they_are(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text("".join(f'{{"x": {i}}}\n' for i in range(100_000)))
    cuts = list(cut(read_events(path), PieceSizes(pieces=4, rows=1 << 17)))
    assert len(cuts) == 4
    assert [round(one.done or 0, 1) for one in cuts] == [0.3, 0.5, 0.8, 1.0]
    assert (
        len(list(cut(read_events(path), PieceSizes(pieces=100, rows=1 << 17)))) == 5
    )  # not smaller than a quarter MiB
    assert len(list(cut(read_events(path), PieceSizes(pieces=4, rows=1000)))) > 90


@pytest.mark.parametrize("group", [7, 100])
@pytest.mark.parametrize("rows", [10, 33, 1000])
@pytest.mark.parametrize("kind", ["file", "folder", "standard input"])
def test_parquet(kind: str, rows: int, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_LEAST_ROWS", 1)
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": [f"e{i}" if i % 3 else None for i in range(100)], "x": range(100), "y": [1.5] * 100})
    place: Path | str = Path("events.parquet")
    if kind == "folder":
        place = Path("events")
        for day in (1, 2, 3):
            (place / f"day={day}").mkdir(parents=True)
            part = table.slice(day * 30 - 20, 20 + day).select(["id", "x", "y"] if day > 1 else ["id", "x"])
            pq.write_table(part, place / f"day={day}" / "part.parquet", row_group_size=group)
    else:
        pq.write_table(table, place, row_group_size=group)
    if kind == "standard input":
        content, place = Path("events.parquet").read_bytes(), "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    expected = rows_of(read_events(place, format="parquet"))
    if kind == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    events = read_events(place, format="parquet", replayed=True)
    cuts = list(cut(events, PieceSizes(pieces=20, rows=rows)))
    monkeypatch.chdir("/")  # pieces do not depend on the folder that somebody is in
    found = rows_of_pieces(cuts)
    assert found == expected


def test_pieces_of_parquet_read_no_column_too_many(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "x": [1], "y": [2]}), tmp_path / "e.parquet")
    ((piece, _),) = cut(read_events(tmp_path / "e.parquet", paths=["y"]), PieceSizes(1, 1))
    (chunk,) = piece.chunks(10, LineCount())
    assert table_of(chunk).column_names == ["id", "y"]


def test_a_damaged_file_is_refused_alike(tmp_path: Path) -> None:
    table = pa.table({"x": range(10_000)})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=1000, compression="NONE", use_dictionary=False)
    octets = bytearray((tmp_path / "e.parquet").read_bytes())
    octets[4:40] = b"\xff" * 36
    (tmp_path / "e.parquet").write_bytes(octets)
    with pytest.raises(FileError) as whole:
        list(read_events(tmp_path / "e.parquet"))
    with pytest.raises(FileError) as in_pieces:
        rows_of_pieces(cut(read_events(tmp_path / "e.parquet"), PieceSizes(1, 1000)))
    assert str(in_pieces.value) == str(whole.value)
