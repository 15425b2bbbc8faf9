"""The benchmarks of Spark run, refuse wrong answers, and measure what they say."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("pyspark")

from benchmarks.spark import data, joins, latency, memory, scaling
from benchmarks.spark.__main__ import main, one
from benchmarks.spark.plan import QUICK
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.spent import spent
from benchmarks.spark.timing import in_turns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

TINY = replace(
    QUICK,
    filters=500,
    events=4000,
    lines=2000,
    join_events=1000,
    where_events=2000,
    warm_up_s=1,
    measured_s=1,
    rows_per_second=100,
)


@pytest.mark.parametrize("part", ["b", *(pytest.param(part, marks=pytest.mark.thorough) for part in "adf")])
def test_a_small_run_of_a_part(part: str, spark: SparkSession) -> None:
    result = one(part, TINY)
    assert spark.range(3).count() == 3  # it was used, and left as it was
    assert result.part == part
    rows: list[dict[str, Any]] = result.rows
    assert all(figure > 0 for row in rows for figure in row.values() if not isinstance(figure, str))
    ratios = {ratio.what: ratio for ratio in result.ratios}
    match part:
        case "a":
            assert [row["pipeline"] for row in rows][::5] == ["match", "lines: match"]
            assert [ratio.aim for ratio in result.ratios] == [0.6, 0.6, None]
        case "b":
            nested = ratios["times as fast as a broadcast nested-loop join"]
            rates = {row["way"]: row["events/s"] for row in rows}
            assert nested.value == pytest.approx(rates["match"] / rates["broadcast nested-loop join"])
            assert [ratio.aim for ratio in result.ratios] == [100, 100, None]
        case "f":
            assert [row["each side"] for row in rows] == [1000, 1000, 1000, 2000]
            assert len({row["pairs"] for row in rows[:3]}) == 1
            assert [ratio.aim for ratio in result.ratios] == [50, None]
        case "d":
            assert all(row["p50"] <= row["p99"] <= row["most"] for row in rows)


@pytest.mark.thorough
def test_a_small_run_of_covering(spark: SparkSession) -> None:
    result = one("g", replace(TINY, cover=(8_500,)))  # the driver decides as many as 8,192 by itself
    assert spark.range(3).count() == 3
    assert [(row["workload"], row["subscriptions"]) for row in result.rows] == [
        ("few", 8_500),
        ("stock", 8_500),
        ("apart", 8_500),
    ]
    assert all(ratio.value > 0 for ratio in result.ratios)


def test_answers_that_differ_are_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "_BOUNDS", "price >= least_price AND volume >= least_volume")
    with pytest.raises(ArithmeticError, match="the answers differ"):
        joins.measure(TINY)


@pytest.mark.thorough
def test_each_number_of_cores_has_a_process_of_its_own(tmp_path: Path) -> None:
    events = data.write_events(tmp_path / "events", 1000)
    assert scaling._child(TINY, events, 1, sorted(os.sched_getaffinity(0))[:1]) > 0


def test_a_part_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no part 'x'; there are a, b, c, d, e"):
        main(["--only", "x", "--json", str(tmp_path / "no.json")])


def test_bounds_say_what_the_filters_say() -> None:
    filters, count = 3000, 400
    table, events = data.bounds_table(data.W2.subscriptions(filters)), data.events_table(count)
    rows = data.engine(filters).match_rows(events)
    expected = {
        (event, int(one)) for event in range(count) for one in rows.subscription[slice(*rows.start[event : event + 2])]
    }
    wanted = {name: np.array(table.column(name)) for name in table.column_names}
    found = set()
    for event in events.to_pylist():
        hit = wanted["wanted_symbol"] == event["symbol"]
        for name in ("price", "volume"):
            hit &= (wanted[f"least_{name}"] <= event[name]) & (event[name] <= wanted[f"most_{name}"])
        found |= {(event["id"], int(one)) for one in np.nonzero(hit)[0]}
    assert found == expected
    assert len(found) > 100


def test_what_children_use_of_the_processors_is_counted() -> None:
    burn = "import sys, time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\nsys.stdin.read()"
    before = spent()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert spent() - before > 0.4  # while it lives
    assert spent() - before > 0.4


def test_memory_that_processes_share_is_counted_once(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot-1"
    folder.mkdir()
    size = 64 * mmap.PAGESIZE
    (folder / "index.npy").write_bytes(bytes(size))
    with (folder / "index.npy").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert memory.share_of(os.getpid(), "another") is None
        assert sum(mapped[::4096]) == 0  # every page is read
        alone = memory.share_of(os.getpid(), "snapshot-1")
        code = f"import mmap, sys; f = open({str(folder / 'index.npy')!r}, 'rb'); "
        code += "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); sum(m[::4096]); print(1, flush=True); input()"
        other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert other.stdout is not None
            other.stdout.readline()
            shares = [memory.share_of(pid, "snapshot-1") for pid in (os.getpid(), other.pid)]
        finally:
            other.communicate(b"\n")
    assert alone is not None
    assert (alone.file_rss, alone.file_pss, alone.file_private) == (size, size, size)
    assert alone.rss > alone.file_rss
    for share in shares:
        assert share is not None
        assert (share.file_rss, share.file_pss, share.file_private) == (size, size // 2, 0)
    assert memory.share_of(2**22 + 1, "snapshot-1") is None


def test_ways_are_timed_in_turns() -> None:
    said: list[str] = []
    seconds = in_turns({"one": lambda: said.append("one"), "other": lambda: said.append("other")}, 2)
    assert said == ["one", "other"] * 3
    assert set(seconds) == {"one", "other"}


def test_events_wait_for_the_end_of_their_second() -> None:
    progress = {"numInputRows": 4, "eventTime": {"min": "2024-05-01T10:00:00.250Z", "max": "2024-05-01T10:00:01.000Z"}}
    done = np.datetime64("2024-05-01T10:00:02.250").astype("datetime64[ms]").astype(np.int64) / 1000
    assert latency._latencies(progress, done).round().tolist() == [2000, 1750, 1500, 1250]
    # The first event of a micro-batch is the first of its second.
    assert latency._waits([progress]).round().tolist() == [1000, 750, 500, 250]


def test_what_is_shown_is_what_is_written() -> None:
    result = Result("x", "a title", [{"way": "one", "s": 0.25, "events": 4000}], [Ratio("faster", 90.0, 100.0)], ["so"])
    assert Result.of_json(json.loads(str(result))) == result
    console = Console(record=True, width=120)
    result.show(console)
    text = console.export_text()
    for word in ("(x) a title", "0.25", "4,000", "faster: 90 (aim: 100; NOT met)", "so"):
        assert word in text
    assert str(Ratio("faster", 150.0, 100.0)) == "faster: 150 (aim: 100; met)"
    assert str(Ratio("faster", 150.0)) == "faster: 150"
