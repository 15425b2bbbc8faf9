"""`vedette match --engine spark`: byte for byte what the local engine gives, of whatever files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.cli.session import files_in, vedette, write_lines
from tests.spark.made_events import SUBSCRIPTIONS, Maker
from vedette.io import byte_sources, pieces
from vedette.io.pieces import PieceSizes
from vedette.spark import file_job

SHARED = Path(__file__).parents[3] / "shared" / "data"
TIMES = re.compile(r"[\d.]+ s, [\d,]+ events/s \(after [\d.]+ s of preparation\)")


@pytest.fixture(autouse=True)
def many_pieces(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are cut as if they were large."""
    monkeypatch.setattr(file_job, "sizes", lambda spark, matches: PieceSizes(12, 40))
    monkeypatch.setattr(byte_sources, "BLOCK", 1 << 11)
    monkeypatch.setattr(pieces, "_LEAST_ROWS", 10)


def outcome(engine: str, arguments: tuple[object, ...], folder: Path, out: str, stdin: bytes | None) -> dict[str, Any]:
    """Everything that a command leaves behind."""
    result = vedette(
        "match", *arguments, "-o", folder / out, "--rejects", folder / "bad", "--engine", engine, stdin=stdin
    )
    found: dict[str, Any] = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    if out.endswith(".gz") and out in found:
        found[out] = gzip.decompress(found[out])
    for path in folder.iterdir():
        path.unlink()
    return {"status": result.exit_code, "said": TIMES.sub("", result.stderr), "stdout": result.stdout, **found}


def check(
    tmp_path: Path, *arguments: object, out: str = "out.jsonl", stdin: bytes | None = None, status: int | None = 0
) -> dict[str, Any]:
    """Both engines leave the same behind."""
    folder = tmp_path / "left behind"
    folder.mkdir(exist_ok=True)
    expected = outcome("local", arguments, folder, out, stdin)
    assert outcome("spark", arguments, folder, out, stdin) == expected
    assert status is None or expected["status"] == status
    return expected


_SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 5))]


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    """Subscriptions that most events match some of."""
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A schema that some events break."""
    path = tmp_path / "schema.yaml"
    path.write_text("price: float\nname: string\nn: int\ntags: list of string\ndata.deep.x: int\n")
    return path


@pytest.mark.parametrize("seed", _SEEDS)
def test_lines_of_json(seed: int, subscriptions: Path, schema: Path, tmp_path: Path) -> None:
    content = Maker(seed).lines(400)
    events = tmp_path / "events.jsonl"
    events.write_bytes(content)
    said = ("--schema", schema) if seed % 2 else ()
    found = check(tmp_path, subscriptions, events, *said)
    assert found["out.jsonl"].count(b"\n") > 300
    assert found["bad"].count(b"\n") > 5
    check(tmp_path, subscriptions, "-", *said, stdin=content)
    (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(content))
    check(tmp_path, subscriptions, tmp_path / "events.jsonl.gz", *said, out="out.jsonl.gz")


@pytest.mark.parametrize("seed", _SEEDS)
def test_csv(seed: int, tmp_path: Path, schema: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [SUBSCRIPTIONS[0], SUBSCRIPTIONS[1], SUBSCRIPTIONS[3]])
    content = Maker(seed).table(400)
    events = tmp_path / "events.csv"
    events.write_bytes(content)
    said = ("--schema", schema) if seed % 2 else ()
    found = check(tmp_path, subscriptions, events, *said)
    assert found["out.jsonl"].count(b"\n") > 300
    assert found["bad"].count(b"\n") > 5
    # Without a schema, the first rows decide on types: what is odd among them may not fit the subscriptions.
    check(tmp_path, subscriptions, "-", "--events-format", "csv", *said, stdin=content, status=0 if said else None)
    (tmp_path / "events.csv.gz").write_bytes(gzip.compress(content))
    check(tmp_path, subscriptions, tmp_path / "events.csv.gz", *said)


@pytest.mark.parametrize("out", ["out.parquet", "out.jsonl"])
@pytest.mark.parametrize("kind", ["file", "folder", "standard input"])
def test_parquet(kind: str, out: str, schema: Path, tmp_path: Path) -> None:
    maker = Maker(1)
    subscriptions = write_lines(tmp_path / "s.jsonl", [SUBSCRIPTIONS[0], SUBSCRIPTIONS[1], SUBSCRIPTIONS[3]])
    columns: dict[str, Any] = {
        "id": [f"é{i}" if i % 5 else None for i in range(500)],
        "price": [maker.random.randrange(1000) / 10 for _ in range(500)],
        "name": [maker.random.choice(["a", None, "bé"]) for _ in range(500)],
        "n": [float(maker.random.randrange(9)) if i % 7 else 7.5 for i in range(500)],
    }
    table = pa.table(columns)
    events = tmp_path / "events.parquet"
    if kind == "folder":
        for day in range(3):
            (tmp_path / "events" / f"n={day}").mkdir(parents=True)
            part = table.slice(day * 100, 150).drop_columns(["n"])
            pq.write_table(part, tmp_path / "events" / f"n={day}" / "part-0.parquet", row_group_size=37)
        check(tmp_path, subscriptions, tmp_path / "events", out=out)
        return
    pq.write_table(table, events, row_group_size=120)
    if kind == "file":
        found = check(tmp_path, subscriptions, events, "--schema", schema, out=out)
        assert found["bad"].count(b"\n") == 72
    else:
        said = ("--events-format", "parquet", "--schema", schema)
        check(tmp_path, subscriptions, "-", *said, out=out, stdin=events.read_bytes())


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
def test_every_index(index: str, subscriptions: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(Maker(99).lines(100))
    check(tmp_path, subscriptions, events, "--index", index)


def test_pieces_and_rounds_of_the_usual_size(
    subscriptions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    maker = Maker(5)
    some = [maker.line() for _ in range(2000)]
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(maker.random.choice(some) for _ in range(50_000)))
    found = check(tmp_path, subscriptions, events, out="out.parquet")
    assert pq.ParquetFile(pa.BufferReader(found["out.parquet"])).metadata.num_rows > 100_000


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n", b"{}"])
@pytest.mark.parametrize("name", ["events.jsonl", "events.csv"])
def test_hardly_anything(name: str, content: bytes, subscriptions: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    check(tmp_path, subscriptions, tmp_path / name, status=None)


def test_no_subscriptions(tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", [{"x": 1}, "oops"])
    check(tmp_path, write_lines(tmp_path / "s.jsonl", []), events)


# ---------------------------------------------------------------- what goes wrong


def damaged_gzip(folder: Path) -> Path:
    """It ends half way."""
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % i for i in range(20_000)))
    path = folder / "events.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    return path


def damaged_parquet(folder: Path) -> Path:
    """One of its row groups cannot be read."""
    path = folder / "events.parquet"
    pq.write_table(pa.table({"n": range(1000)}), path, row_group_size=100, compression="NONE", use_dictionary=False)
    octets = bytearray(path.read_bytes())
    octets[len(octets) // 3 : len(octets) // 3 + 400] = b"\xff" * 400
    path.write_bytes(octets)
    return path


def utf16(folder: Path) -> Path:
    """Not our encoding."""
    path = folder / "events.jsonl"
    path.write_bytes('{"n": 1}\n'.encode("utf-16"))
    return path


def missing(folder: Path) -> Path:
    """Not there."""
    return folder / "events.jsonl"


@pytest.mark.parametrize("events", [damaged_gzip, damaged_parquet, utf16, missing])
def test_bad_files(events: Callable[[Path], Path], schema: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "n > 3"}])
    found = check(tmp_path, subscriptions, events(tmp_path), "--schema", schema, status=1)
    assert "Error: " in found["said"]
    assert set(found) == {"status", "said", "stdout"}  # no file is left


def test_bad_subscriptions(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "n >"}])
    check(tmp_path, subscriptions, write_lines(tmp_path / "e.jsonl", [{"n": 1}]), status=1)


def test_a_host_that_does_not_see_the_file(
    spark: SparkSession, subscriptions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vedette.cli.event_streams import EventStream

    events = write_lines(tmp_path / "events.jsonl", [{"n": 1}])
    elsewhere = pieces.LinesPiece(pieces.FileRange("/not/here/events.jsonl", 0, 9, 9))
    monkeypatch.setattr(EventStream, "pieces", lambda self, sizes: iter([pieces.CutPiece(elsewhere, 1.0)]))
    before = files_in(tmp_path)
    result = vedette("match", subscriptions, events, "-o", tmp_path / "out.jsonl", "--engine", "spark")
    assert result.exit_code == 1
    assert "/not/here/events.jsonl is not there on " in result.stderr
    assert "Hint: put the events on a file system that all hosts of the cluster see" in result.stderr
    assert files_in(tmp_path) == before


# ---------------------------------------------------------------- real data


def shared(name: str) -> Path:
    """A file of the shared data."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


SSH = ["user in ('root', 'admin')", "src_ip like '5%' or pid > 20000", "message like '%Failed%'", "valid_user = true"]
WINDOWS = ["event_code = 4688", "attrs.Image like '%cmd.exe'", "host = 'x' or channel like 'Sec%'"]
SIGMA = ["CommandLine like '%whoami%'", "Image like '%.exe' and ProcessId > 4000", "not RuleName = '-'"]


@pytest.mark.parametrize(
    ("name", "filters"),
    [
        ("logins/ssh_events.parquet", SSH),
        ("mordor_atomic/events.parquet", WINDOWS),
        ("sigma_regression/events.jsonl.gz", SIGMA),
    ],
)
def test_shared_data(name: str, filters: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    records = [{"id": f"s{number}", "when": text} for number, text in enumerate(filters)]
    found = check(tmp_path, write_lines(tmp_path / "s.jsonl", records), shared(name))
    assert found["out.jsonl"]
