"""The harness measures what it says, refuses wrong answers, and writes what it prints."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bulk, forms
from benchmarks.__main__ import main
from benchmarks.coding import encode_subscriptions
from benchmarks.engine import numbers, verify
from benchmarks.indexes import Row, compare, difference, head, prepare
from benchmarks.report import Report
from benchmarks.visits import bound
from benchmarks.workloads import WORKLOADS
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.index import index_class
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs


def test_rows_of_a_comparison() -> None:
    rows = compare(["clusters", "scan"], "W2", 2000, [64, 300], repetitions=1)
    assert [(row.index, row.batch) for row in rows] == [
        ("scan", 64),
        ("scan", 300),
        ("clusters", 64),
        ("clusters", 300),
    ]
    scan, clusters = rows[1], rows[3]
    assert scan.ratio_to_scan == 1.0
    assert clusters.ratio_to_scan == pytest.approx(scan.us_per_event / clusters.us_per_event)
    assert clusters.matches_per_event == scan.matches_per_event > 0
    assert clusters.verified_events == 512
    assert scan.index_bytes == 0
    assert clusters.index_bytes > 0
    assert clusters.total_bytes - clusters.index_bytes == pytest.approx(scan.total_bytes)
    assert scan.total_bytes == pytest.approx(3 * 12 + 8, abs=0.01)  # three predicates and a start


def test_a_costly_index_is_timed_on_a_part_of_the_batch() -> None:
    row = compare(["scan"], "W3", 20_000, [4096], repetitions=1, budget_s=1e-4)[0]
    assert row.events == 1024
    assert row.batch == 4096
    assert row.us_per_event > 0


class _Forgetful:
    """An index that loses a pair, or says one twice."""

    name = "forgetful"

    def __init__(self, change: str) -> None:
        case = prepare("W2", 2000)
        self.change = change
        self.real = index_class("scan").build(case.coded.table, case.coded.ranks, case.sample)

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        event, conjunction = self.real.match(batch)
        if self.change == "twice":
            return ConjunctionPairs(np.append(event, event[0]), np.append(conjunction, conjunction[0]))
        return ConjunctionPairs(event[1:], conjunction[1:])


@pytest.mark.parametrize(("change", "told"), [("lose", "1 pairs missing"), ("twice", "more than once")])
def test_a_wrong_index_is_found_out(change: str, told: str) -> None:
    case = prepare("W2", 2000)
    oracle = index_class("scan").build(case.coded.table, case.coded.ranks, case.sample)
    batch = head(case.batch(256), 200)
    assert difference(oracle, oracle, batch, len(case)) == ""
    assert told in difference(_Forgetful(change), oracle, batch, len(case))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_texts_and_columns_of_constants_make_the_same_matcher(name: str) -> None:
    workload = WORKLOADS[name]
    constraints, events = workload.subscriptions(150), workload.events(300)
    written = Subscriptions(forms.schema(constraints.attributes))
    for number, text in enumerate(forms.texts(constraints)):
        written.add(f"s{number}", text)
    compiled, quick = written.compile(), bulk.matcher(constraints, events)
    table = forms.arrow(events)
    assert numbers(compiled.match_rows(table), 150).tolist() == numbers(quick.match_rows(table), 150).tolist()
    assert verify(quick, name, 150, 100) == 100
    for event in forms.dicts(events.head(20)):
        assert quick.match(event) == compiled.match(event)


def test_a_matcher_of_something_else_is_found_out() -> None:
    workload = WORKLOADS["W3"]
    other = bulk.matcher(workload.subscriptions(2000, seed=9), workload.events(64))
    with pytest.raises(ArithmeticError, match="disagree"):
        verify(other, "W3", 2000, 200)


def test_bound_of_the_paper() -> None:
    """Aguilera 1999, §4, by hand for V = 3, K = 30: the exponent is ln 31 / (ln 3 + ln 31)."""
    assert math.log10(bound(3, 30, 10_000) / bound(3, 30, 1_000)) == pytest.approx(0.7576, abs=1e-4)
    assert bound(3, 30, 1) == pytest.approx(93 / 92 * (math.log(93) / math.log(31)) * 31)


def test_growth_is_taken_from_1e4_to_1e6() -> None:
    row = Row("W2", 10_000, "clusters", 64, 64, 0.1, 1.0, 2.0, 3.0, 4.0)
    costs = {1_000: 5.0, 10_000: 1.0, 100_000: 3.0, 1_000_000: 10.0, 10_000_000: 1000.0}
    report = Report([replace(row, subscriptions=size, us_per_event=cost) for size, cost in costs.items()])
    (growth,) = report.growth
    assert (growth.smallest, growth.largest) == (10_000, 1_000_000)
    assert growth.exponent == pytest.approx(0.5)


def test_the_command_on_tiny_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    arguments = ["--quick", "--workload", "W1-30,W2", "--sizes", "200,400", "--batch", "64,128"]
    main([*arguments, "--index", "clusters,tree,scan", "--json", str(path)])
    figures = json.loads(path.read_text())
    rows = figures["indexes"]
    assert len(rows) == 2 * 2 * 2 * 3
    assert {row["index"] for row in rows} == {"clusters", "tree", "scan"}
    assert all(row["verified_events"] == 512 for row in rows if row["index"] != "scan")
    assert {(row["workload"], row["subscriptions"]) for row in figures["engine"]} == {
        (name, size) for name in ("W1-30", "W2") for size in (200, 400)
    }
    coded = encode_subscriptions(WORKLOADS["W2"].subscriptions(400))
    scan = index_class("scan").build(coded.table, coded.ranks, coded.encode(WORKLOADS["W2"].events(1)))
    joined = figures["duckdb"][-1]["joined"]
    events = WORKLOADS["W2"].events(128).head(joined["events"])
    assert joined["matches"] == len(scan.match(coded.encode(events)).event)
    assert all(visit["optimised"] <= visit["plain"] <= visit["bound"] for visit in figures["tree_visits"])
    printed = capsys.readouterr().out
    for word in ("x DuckDB", "clusters", "one dict p50 us", "Nodes of the tree"):
        assert word in printed


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(SystemExit, match="W9"):
        main(["--workload", "W9"])
