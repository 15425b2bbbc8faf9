from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.io.event_chunks import table_of
from tests.schema.unpack import unpack
from vedette.errors import FileError
from vedette.io.events import read_events
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import INT, STRING, TIMESTAMP


def test_a_file(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": ["a", None, "c"],
            "x": [1, 2, 3],
            "attrs": pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string())),
        }
    )
    pq.write_table(table, tmp_path / "e.parquet")
    events = read_events(tmp_path / "e.parquet")
    assert str(events.schema) == "id: string\nx: int\nattrs.*: string"
    (chunk,) = events
    assert table_of(chunk).equals(table)
    assert chunk.ids.to_pylist() == ["a", "1", "c"]
    assert chunk.lines is None
    assert events.progress == 1.0


def test_chunks_cross_row_groups_and_count_on(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": range(100)}), tmp_path / "e.parquet", row_group_size=7)
    chunks = list(read_events(tmp_path / "e.parquet", chunk=30))
    assert [len(chunk) for chunk in chunks] == [30, 30, 30, 10]
    assert [row for chunk in chunks for row in table_of(chunk).column("x").to_pylist()] == list(range(100))
    assert chunks[-1].ids.to_pylist() == [str(number) for number in range(90, 100)]


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (pa.array([5, None]), ["5", "1"]),
        (pa.array([1.5, 2.0]), ["1.5", "2"]),
        (pa.array(["a", None]).dictionary_encode(), ["a", "1"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array([b"\x00\xff", None]), ["00ff", "1"]),
        (pa.array([[1], [2]]), ["0", "1"]),
        (pa.array([None, None]), ["0", "1"]),
        (pa.array([b"\xff", b"ok"]).view(pa.string()), ["\ufffd", "ok"]),
    ],
)
def test_ids_of_every_type(tmp_path: Path, ids: Any, texts: list[str]) -> None:
    pq.write_table(pa.table({"id": ids}), tmp_path / "e.parquet")
    (chunk,) = read_events(tmp_path / "e.parquet")
    assert chunk.ids.type == pa.string()
    assert chunk.ids.to_pylist() == texts


def test_only_the_columns_on_the_way_are_read(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "x": [1], "y": [2], "o": [{"p": 1}], "z.w": [3]})
    pq.write_table(table, tmp_path / "e.parquet")
    events = read_events(tmp_path / "e.parquet", paths=["o.p", "x", "z.w", "none"])
    assert "y" in events.schema
    (chunk,) = events
    assert table_of(chunk).column_names == ["id", "x", "o", "z.w"]


def test_without_any_column_the_rows_still_count(tmp_path: Path) -> None:
    pq.write_table(pa.table({"o": [{"p": n} for n in range(10)], "x": range(10)}), tmp_path / "e.parquet")
    chunks = list(read_events(tmp_path / "e.parquet", paths=[], chunk=4))
    assert [chunk.ids.to_pylist() for chunk in chunks] == [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9"]]
    assert table_of(chunks[0]).column_names == ["x"]


def test_a_folder_as_spark_writes_it(tmp_path: Path) -> None:
    for day in (1, 2):
        folder = tmp_path / "out" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [10 * day, 10 * day + 1]}), folder / "part-0.parquet")
    (tmp_path / "out" / "_SUCCESS").touch()
    events = read_events(tmp_path / "out")
    assert dict(events.schema) == {"x": INT, "day": INT}
    (chunk,) = events
    assert table_of(chunk).to_pylist() == [{"x": x, "day": x // 10} for x in (10, 11, 20, 21)]
    assert chunk.ids.to_pylist() == ["0", "1", "2", "3"]


def test_files_of_a_folder_may_differ_in_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2], pa.int64()), "y": ["b"]}), tmp_path / "b.parquet")
    (chunk,) = read_events(tmp_path)
    assert table_of(chunk).to_pylist() == [{"x": 1, "y": None}, {"x": 2, "y": "b"}]
    pq.write_table(pa.table({"x": ["text"]}), tmp_path / "c.parquet")
    with pytest.raises(FileError, match=r"the columns of .*c.parquet contradict those of the others"):
        read_events(tmp_path)


def test_what_is_no_parquet(tmp_path: Path) -> None:
    for name, content in (("text.parquet", b"not at all"), ("empty.parquet", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError, match=r"cannot be read as Parquet .*\nHint"):
            read_events(tmp_path / name)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="holds no Parquet file\nHint"):
        read_events(tmp_path / "folder")
    pq.write_table(
        pa.table({"x": ["some text"] * 1000}), tmp_path / "good.parquet", compression="none", use_dictionary=False
    )
    damaged = bytearray((tmp_path / "good.parquet").read_bytes())
    damaged[4:64] = b"\xff" * 60
    (tmp_path / "good.parquet").write_bytes(damaged)
    with pytest.raises(FileError, match=r"cannot be read as Parquet .*\nHint"):
        list(read_events(tmp_path / "good.parquet"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": [1, 2]}), buffer)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    (chunk,) = read_events("-", format="parquet")
    assert table_of(chunk).column("x").to_pylist() == [1, 2]


def test_rejected_rows_have_a_number_and_a_text(tmp_path: Path) -> None:
    texts = pa.array([b"x", b"\xff"]).view(pa.string())
    table = pa.table(
        {
            "s": texts,
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "t": pa.array([1, None], pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "e.parquet")
    (chunk,) = read_events(tmp_path / "e.parquet")
    schema = Schema.of({"s": "string"})
    (reject,) = chunk.rejected(encode(chunk.events, [Column("s", STRING)], schema).rejects)
    assert (reject.row, reject.line) == (1, None)
    assert str(reject) == "row 1: attribute 's': b'\\xff' is not UTF-8 text"
    assert reject.raw == '{"s": "\\udcff", "m": null, "t": null}'
    assert chunk.raw(0) == '{"s":"x","m":{"k":1},"t":"1970-01-01T00:00:00"}'


# ---------------------------------------------------------------- real data

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


def test_windows_events_with_a_map() -> None:
    events = read_events(shared("mordor_atomic/events.parquet"), paths=["attrs.Image"], chunk=20_000)
    chunk = next(events)
    assert table_of(chunk).column_names == ["attrs"]
    names = ["Image", "CommandLine", "ProcessId", "User", "EventType", "TargetObject", "NoSuchThing"]
    columns = [Column(f"attrs.{name}", STRING) for name in names]
    encoded = encode(chunk.events, columns, events.schema)
    assert encoded.rejects == []
    maps = [dict(attrs or ()) for attrs in table_of(chunk).column("attrs").to_pylist()]
    for name, column in zip(names, columns, strict=True):
        expected = [attrs.get(name) for attrs in maps]
        assert unpack(encoded.data[column]) == [None if value is None else value.encode() for value in expected]
        assert any(expected) == (name != "NoSuchThing")


@pytest.mark.parametrize(
    ("name", "path", "rows"),
    [
        ("logins/cowrie_sessions.parquet", "start_time", 20_000),
        ("logins/ssh_events.parquet", "ts", 9_121),
        ("logins/heralding_attempts.parquet", "ts", 1_261),
    ],
)
def test_logins(name: str, path: str, rows: int) -> None:
    events = read_events(shared(name))
    assert events.schema[path] == TIMESTAMP
    columns = [Column(attribute, type_) for attribute, type_ in events.schema.items()]
    size = 0
    for chunk in events:
        encoded = encode(chunk.events, columns, events.schema)
        assert encoded.rejects == []
        size += encoded.size
        # Python's own view of the same rows gives the same columns.
        first = table_of(chunk).slice(0, 500)
        as_dicts = encode(first.to_pylist(), columns, events.schema)
        as_table = encode(first, columns, events.schema)
        assert all(unpack(as_dicts.data[column]) == unpack(as_table.data[column]) for column in columns)
    assert size == rows


def test_sigma_events_in_gzipped_lines() -> None:
    events = read_events(shared("sigma_regression/events.jsonl.gz"))
    columns = [Column(path, type_) for path, type_ in events.schema.items()]
    size = 0
    for chunk in events:
        assert chunk.rejects == []
        assert encode(chunk.events, columns, events.schema).rejects == []
        size += len(chunk)
    assert size == 238


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    table = pa.table({"price": [1], "place": pa.array([{"street": 1}])})
    for name in (b"price", b"street"):
        path = tmp_path / "damaged.parquet"
        pq.write_table(table, path, store_schema=False)
        path.write_bytes(path.read_bytes().replace(name, name[:-1] + b"\xc9"))
        with pytest.raises(FileError, match="cannot be read as Parquet"):
            read_events(path)
