"""The experiment on Muthusamy 2010: its models are what they say, its claims are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.pattern_workloads import Sequences, Stream, graph
from experiments import muthusamy2010
from experiments.muthusamy import forecasts, full_model, heat_waves, logins, matching, output
from experiments.muthusamy.full_model import FullModel
from experiments.report.running import run
from vedette.filters.subscription_records import Predict

_HOT, _WARM = 90.0, 75.0


def test_machines_apart_have_as_many_states_as_is_said() -> None:
    made = Sequences(patterns=12, length=5, pool=6)
    apart, _ = graph(made.records(), merge=False)
    apart.expand_all()
    assert len(apart) == matching.unmerged_states(made)


def test_what_the_paper_says_of_states_holds() -> None:
    """Counts, not times: a smaller pool and a Gaussian have fewer states, long patterns share fewer."""
    rows = matching.figure_9(matching.Sizes((40, 80), (10, 40), (0, 3), (3, 8), (10, 40), 40, 300))
    states = {(r.subscriptions, r.pool, r.patterns): r.states for r in rows if r.panel == "ab"}
    assert states["uniform_cs", 40, 40] < states["uniform_cs", 40, 80] <= 2 * states["uniform_cs", 40, 40]
    assert states["uniform_cs", 10, 80] < states["uniform_cs", 40, 80]
    assert states["gaussian_cs", 40, 80] < states["uniform_cs", 40, 80]
    short, long = (r.commonality for r in rows if r.panel == "d" and r.subscriptions == "uniform_cs")
    assert short > long
    of_pools = [r for r in rows if (r.panel, r.subscriptions, r.publications) == ("ef", "uniform_cs", "uniform_pub")]
    few, many = (r.transitions for r in of_pools)
    assert few > many


def test_only_events_that_move_a_machine_are_predicted_from() -> None:
    sequences = Sequences(patterns=1, length=3, pool=4, loose=0, seed=5)
    seen = forecasts.observed(Stream(sequences, partial=1, full=1), sequences.records(Predict(2)))
    assert seen.moved.any()
    assert (seen.observations.depth[seen.moved] > 0).all()
    assert (seen.observations.symbol[seen.moved] != 0).all()


def test_the_full_model_has_a_state_for_every_combination() -> None:
    assert full_model.STATES == 1365
    degrees = np.array([_HOT, _WARM, np.nan, *[_HOT] * 6])[:, None]
    states = FullModel().states(degrees)[:, 0]
    assert states[0] == 1 + 3
    assert states[1] == 5 + 3 * 4 + 2
    assert states[2] == full_model.NOTHING
    assert states[-3] != full_model.STATES - 1
    assert states[-2] == states[-1] == full_model.STATES - 1


def test_the_full_model_forecasts_by_first_passage() -> None:
    """Days are hot with p = 0.8, independently: five in a row come within five days with p^5."""
    model = FullModel()
    degrees = np.where(np.random.default_rng(1).random((4000, 50)) < 0.8, _HOT, _WARM)
    model.train(degrees)
    after_warm = FullModel().states(np.full((5, 1), _WARM))[-1, 0]
    after_hot = full_model.STATES - 1
    assert model.forecast(1, "first passage")[after_hot] == pytest.approx(0.8, abs=0.01)
    assert model.forecast(3, "first passage")[after_hot] <= 1.0
    assert model.forecast(3, "paper")[after_hot] > 1.0
    assert model.forecast(4, "first passage")[after_warm] == 0.0
    assert model.forecast(5, "first passage")[after_warm] == pytest.approx(0.8**5, abs=0.05)


def test_a_day_that_nobody_measured_is_an_event_without_a_temperature() -> None:
    calendar = heat_waves.Calendar(
        np.datetime64("2004-12-30"), ["a", "b"], np.array([[90.0, 70.0], [np.nan, 71.0], [91.0, 72.0]])
    )
    assert calendar.judged_from == 2
    events = calendar.events(0, 2).to_pylist()
    assert [(event["code"], event["temp_f"]) for event in events] == [
        ("a", 90.0),
        ("b", 70.0),
        ("a", None),
        ("b", 71.0),
    ]
    assert calendar.events(2, 3)["time"].to_pylist()[0].isoformat() == "2005-01-01T00:00:00"


def test_every_claim_is_judged_and_what_has_no_data_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(output, "DATA", tmp_path / "nowhere")
    monkeypatch.setattr(matching, "QUICK", matching.Sizes((10, 20), (10, 20), (0, 2), (3, 5), (10, 20), 10, 300))
    monkeypatch.setattr(forecasts, "QUICK", forecasts.Sizes(2, (1, 4), (20, 40)))
    said: list[str] = []
    record = run(muthusamy2010.PAPER, tmp_path / "out", True, said.append)
    assert [figure["name"] for figure in record["figures"]] == ["figure9", "figure10"]
    assert [one["title"] for one in record["left_out"]] == ["Figure 11", "Logins"]
    assert "Figure 11 is left out: " in said[2]
    assert all("(paper, §6" in line for line in said[:2])
    written = {file.name for file in (tmp_path / "out").iterdir()}
    plots = {f"muthusamy2010-figure{number}.{suffix}" for number in (9, 10) for suffix in ("csv", "png", "svg")}
    assert written == plots | {"muthusamy2010-figure9-times.csv", "muthusamy2010.json"}


def test_heat_waves_of_some_cities() -> None:
    pytest.importorskip("matplotlib")
    if not (output.DATA / heat_waves.DAYS).exists():
        pytest.skip(f"{heat_waves.DAYS} is not among the shared data")
    figure, beside = heat_waves.figures(quick=True)
    scores = {(row.model, row.days): row for row in beside.tables[""]}
    peer, ours = (scores[name, "hot"] for name in (heat_waves.PEER, "chain, context, features"))
    assert ours.brier < peer.brier
    assert ours.mcc > peer.mcc
    assert ours.worst_gap <= heat_waves.GAP
    assert {row.model for row in figure.tables[""]} >= {"chain, paper", "full model, paper"}
    deciles = [row for row in beside.tables["calibration"] if (row.model, row.days) == ("chain", "all")]
    assert sum(row.forecasts for row in deciles) == scores["chain", "all"].forecasts
    assert figure.findings[0].verdict == "agrees"


def test_logins_are_counted_as_by_others() -> None:
    pytest.importorskip("matplotlib")
    if not (output.DATA / logins.SESSIONS).exists():
        pytest.skip(f"{logins.SESSIONS} is not among the shared data")
    (figure,) = logins.figures(quick=True)
    assert "all as counted before" in figure.line
    assert [(row.matches, row.addresses) for row in figure.tables[""]][:2] == [(440, 9), (361, 45)]
    scores = {row.model: row for row in figure.tables["scores"]}
    assert scores["chain, context"].brier < scores[logins.PEER].brier
