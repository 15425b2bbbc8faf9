"""Whatever is in a file: rows, rejects or one of our errors, never another one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.seeds import EXAMPLES
from vedette.errors import InputError
from vedette.io.events import read_events
from vedette.io.schemas import read_schema
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, IP, STRING, parse_type

PIECES = """a,b | " | "" | , | 1 | 1.5 | true | x | 2024-05-01 | NA | {"id": | { | } | [ | ] | : | "when" | "a" | null
- id: | when: | --- | &a | *a | !!int | PAR1 | 99999999999999999999 | 1e400 | <<: | ? | id | # | > | "b":"""
pieces = st.sampled_from(
    [piece.encode() for piece in PIECES.replace("\n", " | ").split(" | ")]
    + [b"\n", b"\r\n", b"\r", b"\xff", b"\x00", b" ", b"\x1f\x8b", b"\xef\xbb\xbf"]
)
contents = st.one_of(st.binary(max_size=60), st.lists(pieces, max_size=25).map(b"".join))
COLUMNS = [Column("a", STRING), Column("b", FLOAT), Column("a", IP), Column("b.c", parse_type("list of int"))]


def read_all(path: Path, schema: Schema | None, chunk: int) -> None:
    events = read_events(path, schema=schema, chunk=chunk)
    row = 0
    for part in events:
        assert len(part.ids) == len(part.events if isinstance(part.events, list) else part.events.columns[0])
        rows = sorted([*part.rows.tolist(), *(reject.row for reject in part.rejects)])
        assert rows == list(range(row, row + len(rows)))
        row += len(rows)
        encoded = encode(part.events, COLUMNS, events.schema)
        for reject in part.rejected(encoded.rejects):
            assert reject.reason


def attempt(action: Any, *arguments: Any) -> None:
    with contextlib.suppress(InputError):
        action(*arguments)


@settings(deadline=None, max_examples=3 * EXAMPLES)
@given(contents, st.integers(1, 5), st.booleans())
@example(b'a,b\n"', 1, False)
@example(b'a\n\n"\n\n', 1, True)
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes, chunk: int, given_schema: bool) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    schema = Schema.of({"a": "string", "b": "float", "b.c": "list of int"}) if given_schema else None
    for name in ("e.jsonl", "e.csv", "e.parquet"):
        (folder / name).write_bytes(content)
        attempt(read_all, folder / name, schema, chunk)
    for name in ("s.jsonl", "s.yaml", "s.parquet"):
        (folder / name).write_bytes(content)
        attempt(lambda path: list(read_subscriptions(path)), folder / name)
    for name in ("c.json", "c.yaml"):
        (folder / name).write_bytes(content)
        attempt(read_schema, folder / name)
