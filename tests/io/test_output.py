from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.engine.outcomes import DETAILS, MATCH, PREDICTION, OutcomeDetails
from vedette.errors import FileError
from vedette.io.chunks import RejectedRow
from vedette.io.output import RejectWriter, match_writer
from vedette.io.subscription_rows import RejectedSubscription

PAIRS = [("e1", "s1"), ("e1", "s2"), ('q"\\\n\t\x01é☃', "s1"), ("", "s1")]


def arrays(pairs: list[tuple[str, str]]) -> tuple[Any, Any]:
    return pa.array([event for event, _ in pairs], pa.string()), pa.array([one for _, one in pairs], pa.string())


def read_back(path: Path) -> list[tuple[str, str]]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        assert table.schema.names == ["event", "subscription", "kind"]
        assert set(table.schema.types) == {pa.string()}
        rows = table.to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert all(list(row) == ["event", "subscription", "kind"] for row in rows)
    assert all(row["kind"] == "match" for row in rows)
    return [(row["event"], row["subscription"]) for row in rows]


@pytest.mark.parametrize("name", ["m.jsonl", "m.parquet", "m.txt"])
def test_matches_are_read_back(tmp_path: Path, name: str) -> None:
    events, subscriptions = arrays(PAIRS)
    with match_writer(tmp_path / name) as writer:
        writer.write(events, subscriptions)
        writer.write(events.dictionary_encode(), subscriptions.dictionary_encode())
        writer.write(events.slice(1, 2), subscriptions.slice(1, 2).dictionary_encode())
        writer.write(pa.chunked_array([events, events]), pa.chunked_array([subscriptions, subscriptions]))
        writer.write(events.slice(0, 0), subscriptions.slice(0, 0))
        assert writer.count == 18
    assert read_back(tmp_path / name) == PAIRS + PAIRS + PAIRS[1:3] + PAIRS + PAIRS
    assert os.listdir(tmp_path) == [name]


def test_the_text_is_as_promised(tmp_path: Path) -> None:
    with match_writer(tmp_path / "m.jsonl") as writer:
        writer.write(*arrays([("e1", "s1")]))
    assert (tmp_path / "m.jsonl").read_text() == '{"event": "e1", "subscription": "s1", "kind": "match"}\n'


ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(ids, ids), max_size=5), max_size=3))
def test_any_ids_in_any_batches(tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[str, str]]]) -> None:
    folder = tmp_path_factory.mktemp("out")
    for name in ("m.jsonl", "m.parquet"):
        with match_writer(folder / name) as writer:
            for pairs in batches:
                writer.write(*arrays(pairs))
    expected = [pair for pairs in batches for pair in pairs]
    lines = (folder / "m.jsonl").read_bytes().split(b"\n")
    assert [(json.loads(line)["event"], json.loads(line)["subscription"]) for line in lines[:-1]] == expected
    assert read_back(folder / "m.parquet") == expected


def test_many_matches_from_dictionaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.io.output._SLICE", 1000)
    size = 3_505  # more than are made into text at once
    events = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(size, dtype=np.int32) // 100), pa.array([f"e{n}" for n in range(size // 100 + 1)])
    )
    subscriptions = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(size, dtype=np.int32) % 7), pa.array([f"s{n}" for n in range(7)])
    )
    for name in ("m.jsonl", "m.parquet"):
        with match_writer(tmp_path / name) as writer:
            writer.write(events, subscriptions)
        found = read_back(tmp_path / name)
        assert len(found) == size
        assert found[-1] == (f"e{(size - 1) // 100}", f"s{(size - 1) % 7}")
        assert found[:: size // 50] == [(f"e{n // 100}", f"s{n % 7}") for n in range(0, size, size // 50)]


@pytest.mark.parametrize("name", ["m.jsonl", "m.parquet"])
def test_nothing_half_written_is_left_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(AttributeError), match_writer(tmp_path / name) as writer:
        writer.write(arrays(PAIRS)[0], "no array")
    assert (tmp_path / name).read_text() == "before"
    assert os.listdir(tmp_path) == [name]
    with match_writer(tmp_path / name) as writer:
        writer.write(*arrays(PAIRS))
        assert (tmp_path / name).read_text() == "before"
    assert read_back(tmp_path / name) == PAIRS


def test_no_matches_are_a_complete_file(tmp_path: Path) -> None:
    for name in ("m.jsonl", "m.parquet"):
        with match_writer(tmp_path / name):
            pass
        assert read_back(tmp_path / name) == []


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream))
    with match_writer("-") as writer:
        writer.write(*arrays([("e1", "s1")]))
    assert json.loads(stream.getvalue()) == {"event": "e1", "subscription": "s1", "kind": "match"}
    assert not stream.closed


def test_gzip_devices_and_links(tmp_path: Path) -> None:
    with match_writer(tmp_path / "m.jsonl.gz") as writer:
        writer.write(*arrays([("e1", "s1")]))
    assert json.loads(gzip.decompress((tmp_path / "m.jsonl.gz").read_bytes()))["event"] == "e1"
    with match_writer("/dev/null") as writer:
        writer.write(*arrays([("e1", "s1")]))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    with match_writer(tmp_path / "link.jsonl") as writer:
        writer.write(*arrays([("e1", "s1")]))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert read_back(tmp_path / "real.jsonl") == [("e1", "s1")]


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*none/m.jsonl: No such file or directory\nHint"):
        match_writer(tmp_path / "none" / "m.jsonl")
    with pytest.raises(FileError, match="Is a directory"):
        match_writer(tmp_path)
    with pytest.raises(FileError, match="cannot write csv\nHint: the output is one of jsonl, parquet"):
        match_writer(tmp_path / "m.csv")


def test_rejects(tmp_path: Path) -> None:
    rejects = [
        RejectedRow(4, 5, "not JSON", 'raw "text"\n'),
        RejectedRow(7, None, "broken", "\ufffd"),
        RejectedSubscription(9, "there is no `id`", "{}"),
    ]
    with RejectWriter(tmp_path / "r.jsonl") as writer:
        writer.write(rejects[:2])
        writer.write(rejects[2:])
        assert writer.count == 3
    assert [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()] == [
        {"line": 5, "reason": "not JSON", "raw": 'raw "text"\n'},
        {"row": 7, "reason": "broken", "raw": "\ufffd"},
        {"line": 9, "reason": "there is no `id`", "raw": "{}"},
    ]


# ---------------------------------------------------------------- patterns and forecasts

TEXTS = pa.map_(pa.string(), pa.string())
IN_DETAIL = OutcomeDetails(
    np.array([1, 3]),
    np.array([MATCH, PREDICTION], np.int8),
    pa.array([[("a", "e0"), ("2", 'e"1')], [("a", "e1")]], TEXTS),
    [{"x": "10.0.0.1", "n": 3, "in": {"deep": [1.5]}}, None],
    pa.array([None, 0.7500004], pa.float64()),
    pa.array([None, 10], pa.int64()),
)


def _mixed(target: Path) -> None:
    events = pa.array(["e0", 'e"1', "e2", "e2"])
    with match_writer(target) as out:
        out.details = DETAILS
        out.write(events.slice(0, 0), events.slice(0, 0))
        out.write(events, pa.array(["f", "p", "f", "p"]), IN_DETAIL)


def test_rows_that_say_more_as_json(tmp_path: Path) -> None:
    _mixed(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [
        '{"event": "e0", "subscription": "f", "kind": "match"}',
        '{"event": "e\\"1", "subscription": "p", "kind": "match", "steps": {"a": "e0", "2": "e\\"1"}, '
        '"bindings": {"x": "10.0.0.1", "n": 3, "in": {"deep": [1.5]}}}',
        '{"event": "e2", "subscription": "f", "kind": "match"}',
        '{"event": "e2", "subscription": "p", "kind": "prediction", "probability": 0.75, "within": 10, '
        '"steps": {"a": "e1"}}',
    ]


def test_rows_that_say_more_as_parquet(tmp_path: Path) -> None:
    _mixed(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["event", "subscription", "kind", "steps", "bindings", "probability", "within"]
    rows = table.to_pylist()
    assert [row["kind"] for row in rows] == ["match", "match", "match", "prediction"]
    assert rows[0]["steps"] is None
    assert rows[1]["steps"] == [("a", "e0"), ("2", 'e"1')]
    assert rows[1]["bindings"] == [("x", "10.0.0.1"), ("n", "3"), ("in", '{"deep":[1.5]}')]
    assert (rows[3]["probability"], rows[3]["within"]) == (0.75, 10)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rows_that_say_more_are_the_same_however_they_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    _mixed(tmp_path / "whole.jsonl")
    monkeypatch.setattr("vedette.io.output._SLICE", size)
    _mixed(tmp_path / "cut.jsonl")
    assert (tmp_path / "cut.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()


def test_an_empty_file_has_the_columns_too(tmp_path: Path) -> None:
    with match_writer(tmp_path / "out.parquet") as out:
        out.details = DETAILS
    assert pq.read_table(tmp_path / "out.parquet").num_columns == 7
    with match_writer(tmp_path / "plain.parquet"):
        pass
    assert pq.read_table(tmp_path / "plain.parquet").num_columns == 3


class Asked(dict[str, str]):
    """Where subscriptions come from; counts how often it is asked."""

    count = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.count += 1
        return super().get(key, default)


@pytest.mark.parametrize("name", ["m.jsonl", "m.parquet"])
def test_where_subscriptions_come_from_is_looked_up_once_however_many_parts_there_are(
    name: str, tmp_path: Path
) -> None:
    ids = pa.array([f"s{number}" for number in range(100)], pa.large_string())
    with match_writer(tmp_path / name) as out:
        out.origins = asked = Asked({"s1": '{"title":"One"}'})
        for _ in range(5):
            events, subscriptions = (pa.array([0, 1], pa.int32()), pa.array([1, 2], pa.int32()))
            named = pa.DictionaryArray.from_arrays(events, pa.array(["e0", "e1"]))
            out.write(named, pa.DictionaryArray.from_arrays(subscriptions, ids))
    assert asked.count <= len(ids)
    if name == "m.parquet":
        told = [row["origin"] for row in pq.read_table(tmp_path / name).to_pylist()]
    else:
        lines = (json.loads(line) for line in (tmp_path / name).read_text().splitlines())
        told = [json.dumps(line["origin"], separators=(",", ":")) if "origin" in line else None for line in lines]
    assert told == ['{"title":"One"}', None] * 5
