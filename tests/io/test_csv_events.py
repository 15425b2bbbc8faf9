from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.event_chunks import table_of
from vedette.errors import FileError
from vedette.io.csv_records import split_records
from vedette.io.events import EventChunk, EventReader, read_events
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import TIMESTAMP


def opened(tmp_path: Path, content: bytes | str, **options: Any) -> EventReader:
    path = tmp_path / "e.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_events(path, **options)


def rows(chunks: list[EventChunk]) -> list[dict[str, Any]]:
    return [row for chunk in chunks for row in table_of(chunk).to_pylist()]


def spelled(schema: Schema) -> dict[str, str]:
    return {path: schema.spelling(path) for path in schema}


def test_types_are_inferred(tmp_path: Path) -> None:
    header = "i,f,b,s,d,t,z,clock,empty,order.total\n"
    events = opened(
        tmp_path,
        header
        + "1,1.5,true,x,2024-05-01,2024-05-01 10:00:00,2024-05-01T10:00:00Z,10:00:00,,5\n"
        + "2,2,false,,2024-05-02,2024-05-01 10:00:00.5,2024-05-01T12:00:00Z,11:00:00,,\n",
    )
    assert spelled(events.schema) == {
        "i": "int",
        "f": "float",
        "b": "bool",
        "s": "string",
        "d": "date",
        "t": "timestamp",
        "z": "timestamp",
        "clock": "string",
        "empty": "string",
        "order.total": "int",
    }
    (chunk,) = events
    assert rows([chunk])[1]["s"] is None
    assert rows([chunk])[0]["empty"] is None
    assert chunk.ids.to_pylist() == ["0", "1"]
    assert chunk.lines is not None
    assert chunk.lines.tolist() == [2, 3]
    columns = [Column(path, type_) for path, type_ in events.schema.items()]
    assert encode(chunk.events, columns, events.schema).rejects == []


def test_ids_come_from_the_column_id(tmp_path: Path) -> None:
    (chunk,) = opened(tmp_path, "id,x\n7,1\n,2\n9,3\n")
    assert chunk.ids.to_pylist() == ["7", "1", "9"]
    (chunk,) = opened(tmp_path, "id,x\na,1\n,2\n")
    assert chunk.ids.to_pylist() == ["a", "1"]


@pytest.mark.parametrize(
    ("late", "spelling"),
    [("2.5", "float"), ("x", "string"), ("", "int"), ("99999999999999999999", "float"), ("true", "string")],
)
def test_inference_sees_the_whole_file(tmp_path: Path, late: str, spelling: str) -> None:
    filler = "1,some text to fill the block\n" * 200_000  # more than one block
    events = opened(tmp_path, f"x,s\n{filler}{late},end\n")
    assert spelled(events.schema)["x"] == spelling
    chunks = list(events)
    assert sum(map(len, chunks)) == 200_001
    assert max(map(len, chunks)) <= 65_536
    assert all(chunk.rejects == [] for chunk in chunks)
    assert chunks[-1].lines is not None
    assert chunks[-1].lines[-1] == 200_002
    assert chunks[-1].raw(len(chunks[-1]) - 1) == f"{late},end"


def test_dates_and_times_together_are_times(tmp_path: Path) -> None:
    filler = "2024-05-01\n" * 500_000
    events = opened(tmp_path, f"d\n{filler}2024-05-01 10:00:00.25\n")
    assert spelled(events.schema) == {"d": "timestamp"}
    assert sum(map(len, events)) == 500_001


def test_rows_with_the_wrong_number_of_fields_are_rejected(tmp_path: Path) -> None:
    events = opened(tmp_path, 'a,b\n1,2\n\n3\n4,"x\ny"\n5,6,7\n8,9\n')
    (chunk,) = events
    assert rows([chunk]) == [{"a": 1, "b": "2"}, {"a": 4, "b": "x\ny"}, {"a": 8, "b": "9"}]
    assert chunk.rows.tolist() == [0, 2, 4]
    assert chunk.lines is not None
    assert chunk.lines.tolist() == [2, 5, 8]
    assert [(one.row, one.line, one.reason, one.raw) for one in chunk.rejects] == [
        (1, 4, "1 fields instead of 2", "3"),
        (3, 7, "3 fields instead of 2", "5,6,7"),
    ]
    assert chunk.raw(1) == '4,"x\ny"'


def test_cells_that_do_not_fit_the_given_schema_are_rejected(tmp_path: Path) -> None:
    schema = Schema.of(
        {"i": "int", "f": "float", "b": "bool", "t": "timestamp", "tags": "list of string", "n": "list of int"}
    )
    header = "i,f,b,t,tags,n,unknown\n"
    content = header + "\n".join(
        [
            '1,1.5,true,2024-05-01T10:00:00Z,"[""a"",""b""]",[1],1',
            "x,1.5,true,,,,",
            "5.0,nan,0,,[],,z",
            "1,1_000,true,,,,",
            "1,1,maybe,,,,",
            '1,1,1,soon,"[""a""]",,',
            "1,1,1,,a;b,,",
            "1,1,1,,,[1.5],",
            "+7, 8 ,FALSE,,,,",
        ]
    )
    events = opened(tmp_path, content, schema=schema)
    assert events.schema is schema
    (chunk,) = events
    assert [(one.line, one.reason) for one in chunk.rejects] == [
        (3, "column 'i': 'x' is not a whole number"),
        (5, "column 'f': '1_000' is not a number"),
        (6, "column 'b': 'maybe' is not true or false"),
        (8, "column 'tags': 'a;b' is not a JSON list of string"),
        (9, "column 'n': '[1.5]' is not a JSON list of int"),
    ]
    assert rows([chunk])[0] == {
        "i": 1, "f": 1.5, "b": True, "t": "2024-05-01T10:00:00Z", "tags": ["a", "b"], "n": [1], "unknown": "1",
    }  # fmt: skip
    assert rows([chunk])[1] == {"i": 5, "f": None, "b": False, "t": None, "tags": [], "n": None, "unknown": "z"}
    assert rows([chunk])[3] == {"i": 7, "f": 8.0, "b": False, "t": None, "tags": None, "n": None, "unknown": None}
    (reject,) = chunk.rejected(encode(chunk.events, [Column("t", TIMESTAMP)], schema).rejects)
    assert (reject.line, reject.row) == (7, 5)
    assert "attribute 't': 'soon' is not a time" in reject.reason
    assert reject.raw == '1,1,1,soon,"[""a""]",,'


def test_a_quote_that_is_never_closed_spoils_its_line_only(tmp_path: Path) -> None:
    (first, second, third) = opened(tmp_path, 'a,b\n1,2\n3,"open\n5,6\n')
    assert rows([first, second, third]) == [{"a": 1, "b": 2}, {"a": 5, "b": 6}]
    (reject,) = second.rejects
    assert (reject.row, reject.line, reject.raw) == (1, 3, '3,"open')
    assert third.ids.to_pylist() == ["2"]
    assert "quote" in reject.reason


def test_rows_that_are_not_utf8_are_rejected(tmp_path: Path) -> None:
    (chunk,) = opened(tmp_path, b"a,b\nx,1\n\xff,2\n\xff\ny,3,4\n5,6\n")
    assert rows([chunk]) == [{"a": "x", "b": 1}, {"a": "5", "b": 6}]
    assert chunk.rows.tolist() == [0, 4]
    assert [(reject.line, reject.raw, reject.reason) for reject in chunk.rejects] == [
        (3, "\ufffd,2", "the row is not UTF-8 text"),
        (4, "\ufffd", "the row is not UTF-8 text"),
        (5, "y,3,4", "3 fields instead of 2"),
    ]


def test_lines_may_end_in_any_way(tmp_path: Path) -> None:
    chunks = list(opened(tmp_path, b'a,b\r1,2\r\n3,"4\r5"\n\r6,7'))
    assert rows(chunks) == [{"a": 1, "b": "2"}, {"a": 3, "b": "4\r5"}, {"a": 6, "b": "7"}]
    assert [line for chunk in chunks for line in (chunk.lines if chunk.lines is not None else [])] == [2, 3, 6]


def test_standard_input_is_judged_by_its_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n2,y\n")))
    events = read_events("-", format="csv")
    assert spelled(events.schema) == {"a": "int", "b": "string"}
    assert rows(list(events)) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_headers(tmp_path: Path) -> None:
    events = opened(tmp_path, '\ufeff"a b",,"c""d"\r\n1,2,3\r\n')
    assert rows(list(events)) == [{"a b": 1, "column2": 2, 'c"d': 3}]
    assert list(opened(tmp_path, "a,b\n")) == []
    assert spelled(opened(tmp_path, "a,b").schema) == {"a": "string", "b": "string"}
    with pytest.raises(FileError, match="the header has 'a' twice\nHint"):
        opened(tmp_path, "a,b,a\n1,2,3\n")
    with pytest.raises(FileError, match="is empty\nHint: a CSV file begins with a line of column names"):
        opened(tmp_path, "")


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    assert rows(list(read_events(path))) == [{"a": 1}]


def test_chunks_are_bounded(tmp_path: Path) -> None:
    chunks = list(opened(tmp_path, "a\n" + "".join(f"{n}\n" if n % 4 else "1,2\n" for n in range(10)), chunk=3))
    assert [len(chunk) + len(chunk.rejects) for chunk in chunks] == [3, 3, 3, 1]
    assert [row["a"] for row in rows(chunks)] == [1, 2, 3, 5, 6, 7, 9]
    assert [reject.row for chunk in chunks for reject in chunk.rejects] == [0, 4, 8]


cells = st.text(st.sampled_from('ab",\n\r;'), max_size=6)


@settings(deadline=None)
@given(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=8), st.integers(1, 30))
def test_records_are_those_of_the_csv_module(table: list[list[str]], size: int) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    text = buffer.getvalue().encode()
    blocks = (text[begin : begin + size] for begin in range(0, len(text), size))
    found, lines = [], []
    for records in split_records(blocks):
        assert not records.unclosed
        for place in range(len(records)):
            found.append(records.text[records.start[place] : records.end[place]].decode())
            lines.append(int(records.line[place]))
    assert [next(csv.reader(io.StringIO(record, newline=""))) for record in found] == table
    heights = [len(re.findall("\r\n?|\n", record)) + 1 for record in found]
    assert lines == [1 + sum(heights[:place]) for place in range(len(found))]
