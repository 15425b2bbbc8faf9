from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.event_chunks import dicts_of
from vedette.errors import FileError
from vedette.io.byte_sources import split
from vedette.io.events import EventChunk, read_events
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import INT


def chunks_of(path: Path | str, content: bytes, **options: Any) -> list[EventChunk]:
    Path(path).write_bytes(content)
    return list(read_events(path, **options))


def test_events_ids_lines_and_rows(tmp_path: Path) -> None:
    content = b'{"id":"a","x":1}\n\n  \n{"x":2}\r\n{"id":7}\n{"id":null}\n{"id":[1]}\n{"id":2.5}'
    (chunk,) = chunks_of(tmp_path / "e.jsonl", content)
    assert chunk.events == [{"id": "a", "x": 1}, {"x": 2}, {"id": 7}, {"id": None}, {"id": [1]}, {"id": 2.5}]
    assert chunk.ids.to_pylist() == ["a", "1", "7", "3", "[1]", "2.5"]
    assert chunk.lines is not None
    assert chunk.lines.tolist() == [1, 4, 5, 6, 7, 8]
    assert chunk.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert chunk.rejects == []
    assert len(chunk) == 6
    assert chunk.raw(1) == '{"x":2}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a":', "not JSON"),
        (b'{"a":1}{"b":2}', "not JSON: unexpected content after document (column 8)"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":1e999}', "not JSON"),
        (b'{"a":"\xff"}', "not JSON: str is not valid UTF-8"),
        (b'{"a":"\\ud800"}', "not JSON"),
        (b"\x00\x01\x02", "not JSON"),
        (b"[" * 5000 + b"]" * 5000, "not JSON"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "not JSON"),
        (b"[1]", "an event is an object, not a list"),
        (b'"text"', "an event is an object, not a text"),
        (b"5", "an event is an object, not a number"),
        (b"1.5", "an event is an object, not a number"),
        (b"true", "an event is an object, not true or false"),
        (b"null", "an event is an object, not null"),
    ],
)
def test_malformed_lines_are_rejected_and_counted(tmp_path: Path, line: bytes, says: str) -> None:
    (chunk,) = chunks_of(tmp_path / "e.jsonl", b'{"x":0}\n' + line + b'\n{"x":2}\n')
    assert chunk.events == [{"x": 0}, {"x": 2}]
    assert chunk.ids.to_pylist() == ["0", "2"]
    (reject,) = chunk.rejects
    assert (reject.row, reject.line) == (1, 2)
    assert says in reject.reason
    assert reject.raw == line.decode("utf-8", "replace")
    assert str(reject) == f"line 2: {reject.reason}"


def test_large_numbers_deep_values_and_doubled_keys_are_events(tmp_path: Path) -> None:
    deep = b"[" * 900 + b"]" * 900
    objects = b'{"a":' * 900 + b"1" + b"}" * 900
    content = b'{"a":1,"a":2}\n{"a":123456789012345678901234567890}\n{"a":%s}\n{"id":%s}\n%s' % (deep, deep, objects)
    events = read_events(_written(tmp_path / "e.jsonl", content))
    schema = events.schema
    assert schema.spelling("a") == "mixed"
    (chunk,) = events
    assert chunk.rejects == []
    assert chunk.events[0] == {"a": 2}
    encoded = encode(chunk.events, [Column(path, type_) for path, type_ in schema.items()], schema)
    assert encoded.rejects == []


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (chunk,) = chunks_of(tmp_path / "e.jsonl", b'\xef\xbb\xbf{"x":1}\n')
    assert chunk.events == [{"x": 1}]


@pytest.mark.parametrize("name", ["e.jsonl.gz", "e.ndjson.gz", "e.json", "e.NDJSON"])
def test_names_and_gzip(tmp_path: Path, name: str) -> None:
    content = b'{"x":1}\n{"x":2}\n'
    (chunk,) = chunks_of(tmp_path / name, gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    assert [event["x"] for event in dicts_of(chunk)] == [1, 2]


def test_chunks_count_on(tmp_path: Path) -> None:
    content = b"".join(b'{"x":%d}\n' % n if n % 3 else b"bad\n" for n in range(10))
    chunks = chunks_of(tmp_path / "e.jsonl", content, chunk=4)
    assert [len(chunk) + len(chunk.rejects) for chunk in chunks] == [4, 4, 2]
    assert [row for chunk in chunks for row in chunk.rows.tolist()] == [1, 2, 4, 5, 7, 8]
    assert [id_ for chunk in chunks for id_ in chunk.ids.to_pylist()] == ["1", "2", "4", "5", "7", "8"]
    assert [reject.row for chunk in chunks for reject in chunk.rejects] == [0, 3, 6, 9]


def test_the_schema_of_a_file_comes_from_all_of_it(tmp_path: Path) -> None:
    path = _written(tmp_path / "e.jsonl", b'{"x":1}\n{"x":2}\nbad\n{"x":2.5,"y":"z"}\n')
    events = read_events(path, chunk=1)
    assert str(events.schema) == "x: float\ny: string"
    assert events.read_twice
    assert [event["x"] for chunk in events for event in dicts_of(chunk)] == [1, 2, 2.5]
    given = Schema.of({"x": "int"})
    assert read_events(path, schema=given).schema is given


def test_standard_input_is_judged_by_its_first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"x":1}\n{"x":2}\n{"x":"late"}\n')))
    events = read_events("-", chunk=2)
    assert not events.read_twice
    assert str(events.schema) == "x: int"
    chunks = list(events)
    assert [event["x"] for chunk in chunks for event in dicts_of(chunk)] == [1, 2, "late"]
    late = chunks[-1]
    (reject,) = late.rejected(encode(late.events, [Column("x", INT)], events.schema).rejects)
    assert (reject.row, reject.line, reject.raw) == (2, 3, '{"x":"late"}')
    assert reject.reason == "attribute 'x': 'late' is not a whole number"


def test_gzip_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BufferedReader(io.BytesIO(gzip.compress(b'{"x":1}\n', mtime=0)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert [chunk.events for chunk in read_events("-")] == [[{"x": 1}]]


def test_an_empty_file_has_no_events(tmp_path: Path) -> None:
    assert chunks_of(tmp_path / "e.jsonl", b"") == []
    assert chunks_of(tmp_path / "e.jsonl", b"\n\n  \n") == []
    assert len(read_events(tmp_path / "e.jsonl").schema) == 0


def test_cloud_events(tmp_path: Path) -> None:
    event = {"specversion": "1.0", "id": "c1", "type": "sale", "source": "/shop", "time": "2024-05-01T10:00:00Z"}
    lines = [
        event | {"data": {"total": 5}},
        event | {"data_base64": "eyJ0b3RhbCI6IDZ9", "datacontenttype": "application/json"},
        event | {"data_base64": "AAEC", "datacontenttype": "image/png"},
        event | {"data_base64": "%%%"},
    ]
    path = _written(tmp_path / "e.jsonl", b"\n".join(map(orjson.dumps, lines)))
    events = read_events(path)
    assert events.schema.spelling("data.total") == "int"
    assert events.schema.spelling("time") == "string"
    (chunk,) = events
    assert chunk.ids.to_pylist() == ["c1"] * 4
    assert [one.get("data") for one in dicts_of(chunk)] == [{"total": 5}, {"total": 6}, None, None]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.jsonl", None, "no such file\nHint"),
        ("e.txt", b"{}", "the name does not say which format it has\nHint"),
        ("noending", b"{}", "the name does not say which format it has\nHint"),
        ("e.jsonl.gz", gzip.compress(b'{"x":1}\n' * 1000, mtime=0)[:-20], "is a damaged gzip file"),
        ("e.jsonl", "{}".encode("utf-16"), "is UTF-16 text, not UTF-8\nHint"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=says):
        list(read_events(tmp_path / name))


def test_folders_and_wrong_formats(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder, not a file"):
        read_events(tmp_path, format="jsonl")
    with pytest.raises(FileError, match="unknown format 'xml'"):
        read_events(tmp_path, format="xml")


def test_progress(tmp_path: Path) -> None:
    path = _written(tmp_path / "e.jsonl", b'{"x":1}\n' * 100)
    events = read_events(path, chunk=10)
    assert events.progress is None
    list(events)
    assert events.progress == 1.0


# ---------------------------------------------------------------- lines


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")), max_size=20),
    st.integers(1, 40),
    st.booleans(),
)
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], size: int, ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    found = [
        (some.first + place, line)
        for some in split(text[begin : begin + size] for begin in range(0, len(text), size))
        for place, line in enumerate(some.lines)
    ]
    expected = text.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert found == list(enumerate(expected, 1))


def test_a_line_without_end_is_cut_short() -> None:
    blocks = [b"a\n", b"x" * 60, b"x" * 60, b"x" * 60, b"x\nb\n", b"c"]
    found = [(some.first, [line[:3] for line in some.lines], some.too_long) for some in split(blocks, longest=100)]
    assert found == [(1, [b"a"], False), (2, [b"xxx"], True), (3, [b"b"], False), (4, [b"c"], False)]
