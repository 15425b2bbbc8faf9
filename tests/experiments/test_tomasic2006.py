"""The experiment on Tomasic 2006: both engines find the same on every workload; it leaves data and plots."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import clock
from benchmarks.meeting_engines import Relational
from benchmarks.meeting_workloads import Factors, generate
from experiments import tomasic2006
from experiments.tomasic import batching, factors, measuring, scaling

TINY = Factors(6, 200, 4)


def test_response_and_throughput_are_of_the_same_batches() -> None:
    rows = list(measuring.measure("fixed", TINY, (6, 4, 1), 2))
    assert [(row.engine, row.batch) for row in rows] == [(e, b) for b in (6, 4, 1) for e in measuring.ENGINES]
    for row in rows:
        assert row.publications_per_s == pytest.approx(1e3 * row.batch / row.response_ms)
    assert {row.operators for row in rows} == {"= != < >="}
    assert [row.timed for row in rows] == [1, 1, 2, 2, 2, 2]
    assert rows[0].pairs == rows[1].pairs > rows[-1].pairs > 0


def test_large_intermediate_results_take_more_variables_than_one() -> None:
    made = [measuring.factors_of("large-intermediate-results", Factors(variables=n)) for n in (1, 50)]
    assert [(each.variables, each.conjuncts) for each in made] == [(2, 2), (50, 5)]
    assert measuring.factors_of("fixed", TINY) == TINY


def test_workloads_scale_as_their_names_say() -> None:
    rows = scaling.all_rows(scaling.Sizes(20, (400, 1_600)))
    for name in factors.WORKLOADS:
        small, large = (row for row in rows if (row.workload, row.engine) == (name, "paper"))
        assert large.pairs == (4 if name == "proportional" else 1) * small.pairs > 0
        if name == "large-intermediate-results":
            assert large.intermediate > 3 * small.intermediate > 30 * small.pairs
        else:
            assert large.intermediate == large.pairs


def test_engines_that_disagree_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = np.zeros(0, np.int64)
    monkeypatch.setattr(Relational, "papers_queries", lambda self: (nobody, nobody))
    with pytest.raises(ArithmeticError, match="paper finds 0 pairs"):
        list(measuring.measure("fixed", TINY, (6,), 1))


def test_publications_are_replaced_not_added() -> None:
    workload = generate("fixed", TINY)
    with Relational(workload) as relational:
        everybody = relational.papers_queries()[0]
        relational.publish(workload.publications.part(0, 1))
        assert set(relational.papers_queries()[0].tolist()) <= {0}
        relational.publish(workload.publications)
        assert len(relational.papers_queries()[0]) == len(everybody)


@pytest.mark.long
def test_it_writes_data_and_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(factors, "QUICK", factors.Sizes((1, 3), (60,), (1, 50), 1))
    monkeypatch.setattr(scaling, "QUICK", scaling.Sizes(5, (100, 200)))
    monkeypatch.setattr(batching, "QUICK", batching.Sizes((1, 4), 4, 100, 1))
    before = clock.used()
    line = tomasic2006.run(tmp_path / "out", quick=True)
    assert clock.used() == before
    assert "\n" not in line
    assert "paper" in line
    figures = ("factors", "scaling", "batching")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        f"tomasic2006-{name}.{suffix}" for name in figures for suffix in ("csv", "png", "svg")
    }
    with (tmp_path / "out" / "tomasic2006-factors.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # Three workloads with two sets of operators, one with its own; several publications also one by one.
    assert len(rows) == 2 * (3 * 2 + 1) * 2 * 3
    assert {row["workload"] for row in rows} == set(factors.WORKLOADS)
    assert all(float(row["response_ms"]) > 0 for row in rows)
