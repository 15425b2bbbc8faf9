"""The experiment on Tomasic 2006: both engines find the same on every workload; claims are judged."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import clock
from benchmarks.meeting_engines import Relational
from benchmarks.meeting_workloads import Factors, generate
from experiments import tomasic2006
from experiments.tomasic import batching, factors, measuring, scaling, uniform

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
    for name in measuring.WORKLOADS:
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


def test_uniform_constraints_meet_as_often_as_expected() -> None:
    rows = [row for all_ in (False, True) for row in uniform.measure(uniform.Sizes(100, (2_000,), 8), 2_000, all_)]
    assert uniform.mean(rows, "=", 2_000) == pytest.approx(2, abs=1.5)
    assert 0.5 < uniform.mean(rows, "= != < >=", 2_000) / (100 * 2_000 / uniform.VARIABLES) < 1
    equal, every = uniform.findings(rows)
    assert (equal.verdict, every.verdict) == ("agrees", "differs")
    assert "only 4,000 pairs speak of the same variable" in every.why


@pytest.mark.long
def test_every_claim_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(factors, "QUICK", factors.Sizes((1, 3), (60,), (1, 50), 1))
    monkeypatch.setattr(scaling, "QUICK", scaling.Sizes(5, (100, 200)))
    monkeypatch.setattr(batching, "QUICK", batching.Sizes((1, 4), 4, 100, 1))
    monkeypatch.setattr(uniform, "QUICK", uniform.Sizes(5, (60, 100), 2))
    before = clock.used()
    found = {figure.name: figure for part in tomasic2006.PAPER.parts for figure in part.figures(True)}
    assert clock.used() == before
    assert set(found) == {*measuring.WORKLOADS, "uniform", "factors"}
    for name in (*measuring.WORKLOADS, "uniform"):
        assert any(finding.claim and not finding.timed for finding in found[name].findings)
    rows = found["factors"].tables[""]
    # Three workloads with two sets of operators, one with its own; several publications also one by one.
    assert len(rows) == 2 * (3 * 2 + 1) * 2 * 3
    assert {row.workload for row in rows} == set(measuring.WORKLOADS)
    assert all(row.response_ms > 0 for row in rows)
