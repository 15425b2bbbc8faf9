"""Models: learnt in parts, kept in a file, and found again by what a pattern says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.muthusamy.forecast_evaluation import probabilities
from tests.patterns.forecasts.simulated import contiguous, cut, record
from vedette.errors import FileError, SnapshotError
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.probability_table import ForecastSettings

PAIR = record("[x = 'a'] , [x = 'b']", within=3)
LETTERS = np.random.default_rng(2).choice(list("abc"), 400).tolist()
SEEN = contiguous(LETTERS, "ab")


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = train([SEEN], [PAIR], ForecastSettings(context=2, smoothing=3.0, horizon=None))
    model.save(tmp_path / "a.model")
    again = Model.load(tmp_path / "a.model")
    assert again.settings == model.settings
    assert probabilities(again, [PAIR], SEEN).tolist() == probabilities(model, [PAIR], SEEN).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]


def test_a_pattern_is_known_by_what_it_says() -> None:
    model = train([SEEN], [PAIR])
    elsewhere = record("[x='a'],[x  = 'b']", within=3, id_="renamed")
    as_seventh = {6: elsewhere}
    moved = contiguous(LETTERS, "ab", pattern=6)
    assert probabilities(model, as_seventh, moved).tolist() == probabilities(model, [PAIR], SEEN).tolist()
    with_feature = record("[x = 'a'] , [x = 'b']", within=3, features=("x = 'c'",))
    assert probabilities(model, [with_feature], SEEN).max() == 0.0  # its symbols mean something else


def test_parts_of_a_history_add_up() -> None:
    keys = (["x"] * 150) + (["y"] * 250)
    whole = contiguous(LETTERS, "ab", keys=keys)
    one, other = (train([cut(whole, *part)], [PAIR]) for part in ((0, 150), (150, 400)))
    together = probabilities(train([whole], [PAIR]), [PAIR], whole)
    assert probabilities(one + other, [PAIR], whole) == pytest.approx(together)
    batches = [cut(whole, begin, begin + 25) for begin in range(0, 400, 25)]
    assert probabilities(train(batches, [PAIR]), [PAIR], whole) == pytest.approx(together)


def test_what_is_learnt_online_can_be_saved() -> None:
    forecaster = Forecaster([PAIR], settings=ForecastSettings(horizon=None))
    forecaster.process(SEEN)
    learnt = probabilities(forecaster.model(), [PAIR], SEEN)
    assert learnt == pytest.approx(probabilities(train([SEEN], [PAIR]), [PAIR], SEEN))


def test_a_model_does_not_change_when_it_is_used() -> None:
    model = train([SEEN], [PAIR])
    before = model.to_bytes()
    Forecaster([PAIR], model).process(SEEN)
    assert model.to_bytes() == before


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(FileError, match="cannot be read"):
        Model.load(path)
    path.write_text("PAR1 something else")
    with pytest.raises(SnapshotError, match=r"is not a model(.|\n)*vedette train"):
        Model.load(path)
    whole = train([SEEN], [PAIR]).to_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-3] + b"???", whole.replace(b'"settings"', b'"sittengs"'), b""):
        path.write_bytes(damaged)
        with pytest.raises(SnapshotError, match="is not a model" if not damaged else "is damaged: its checksum"):
            Model.load(path)
    with pytest.raises(FileError, match="cannot be written"):
        Model().save(tmp_path / "no" / "such" / "folder")
