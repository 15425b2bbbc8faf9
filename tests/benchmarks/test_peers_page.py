"""What becomes of a run of the peers: its page, its plots, and where Vedette loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import cases
from benchmarks.peers.building import without_addresses
from benchmarks.peers.losses import losses, reasons
from benchmarks.peers.measuring import too_late
from benchmarks.peers.plan import parsed
from benchmarks.peers.protocol import Figures
from benchmarks.peers.record import Record, Row


def figures(rate: float, build_s: float) -> Figures:
    return Figures("1", build_s, 100.0, 5, rate / 2, rate, (1.0, 2.0), (0.5, 1e6 / rate))


RECORD = Record(
    {"cpu": "a fast one"},
    "2026-01-01 00:00 UTC",
    60.0,
    rows=[
        Row("W2", 10, "vedette", figures(1000.0, 1.0), 10, 10, 3),
        Row("W2", 10, "a-tree", figures(2000.0, 2.0), 5, 10, 3),
        Row("W2", 10, "quick", figures(9000.0, 0.1), 10, 10, 3, void="1 matches are missing"),
        Row("W2", 100, "vedette", figures(900.0, 1.0), 100, 100, 3),
        Row("W2", 100, "a-tree", figures(90.0, 2.0), 100, 100, 3),
    ],
    missing={"quamina": "there is no go on this machine"},
)


def test_where_vedette_loses_and_wrong_answers_are_nobodys_gain() -> None:
    assert losses(RECORD) == [
        "- events/s, parsed in:",
        "  - W2 at 10: a-tree 2,000, Vedette 1,000, 5 of 10 rules",
        "- events/s, JSON in:",
        "  - W2 at 10: a-tree 1,000, Vedette 500, 5 of 10 rules",
        "- p99 of one event, µs:",
        "  - W2 at 10: a-tree 500, Vedette 1,000, 5 of 10 rules",
    ]


def test_reasons_are_given_where_somebody_is_ahead() -> None:
    (why,) = reasons(RECORD)
    assert why.startswith("- p99 of one event, µs: one call crosses")
    assert reasons(Record(rows=RECORD.rows[3:])) == []


def test_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.peers.page import write_page

    text = write_page(RECORD, tmp_path).read_text()
    assert "- cpu: a fast one" in text
    assert "- quamina: there is no go on this machine" in text
    assert "| **10** | **vedette** | **1,000** |" in text
    assert "| 10 | a-tree (5 of 10 rules) | 2,000 | 0.5 |" in text
    assert "void, wrong answers: 1 matches are missing" in text
    assert "(benchmarks/W2.svg)" in text
    assert "\nWhy:\n" in text
    assert "a-tree" in (tmp_path / "benchmarks" / "W2.svg").read_text()


def test_a_budget_cuts_off_the_greatest_sizes() -> None:
    plan, _ = parsed([])
    order = plan.cases()
    assert order[-1] == ("expressions", 1_000_000)
    assert order.index(("expressions", 1_000)) < order.index(("W2", 1_000))
    assert order.index(("sigma", 100_000)) < order.index(("W2", 1_000))
    assert plan.limits_at(1_000) == plan.limits
    assert plan.limits_at(1_000_000).build_s > plan.limits_at(100_000).build_s > plan.limits.build_s


def test_some_sizes_only() -> None:
    plan, _ = parsed(["--workloads", "W2,routing,expressions", "--sizes", "1e5,1000000"])
    assert plan.cases() == [
        ("routing", 100_000), ("expressions", 100_000), ("W2", 100_000), ("expressions", 1_000_000)
    ]  # fmt: skip
    with pytest.raises(SystemExit):
        parsed(["--sizes", "many"])


def test_a_peer_that_did_not_end_is_not_tried_with_more() -> None:
    case = cases.make("W2", 20, 1)
    record = Record(rows=[Row("W2", 10, "a-tree", Figures(failed="building is not done after 60 s"))])
    assert too_late(record, case, "a-tree") == "not tried: building is not done after 60 s at 10"
    assert too_late(record, case, "duckdb") is None


def test_a_record_has_no_addresses() -> None:
    assert (
        without_addresses("x@v1: reading https://host.example/x/@v/v1.info: 403") == "x@v1: reading the registry: 403"
    )
