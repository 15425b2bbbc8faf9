"""Sets of filters with operators, saved and opened again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import vedette as vd
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FileError, FilterError, SnapshotError
from vedette.filters.matcher import Matcher
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings


@operator(time_limit=None)
def divides(event: Mapping[str, Any], number: int) -> bool:
    return bool(event["n"] % number == 0)


@operator(outputs=1, time_limit=None)
def digits(event: Mapping[str, Any]) -> list[int]:
    return [int(each) for each in str(event["n"])]


OPERATORS = Operators(divides, digits)
TEXTS = {
    "both": "divides(2) and divides(3)",
    "plain": "n > 5",
    "digit": "digits(?d) and ?d > 6",
    "late": "n < 3",
    "either": "n = 1 or divides(5)",
}
EVENTS = [{"n": number} for number in range(40)]


def subscriptions() -> Subscriptions:
    subs = Subscriptions({"n": "int"})
    for id_, text in TEXTS.items():
        subs.add(id_, text, subscriber="alice" if id_ == "both" else None)
    return subs


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    matcher = subscriptions().compile(operators=OPERATORS)
    matcher.match_batch(EVENTS)
    matcher.save(tmp_path / "set")
    return tmp_path / "set"


@pytest.mark.parametrize("verify", [False, True])
def test_it_matches_as_before(saved: Path, verify: bool) -> None:
    before = subscriptions().compile(operators=OPERATORS)
    again = Engine.open(saved, operators=OPERATORS, verify=verify)
    assert list(again) == list(TEXTS)
    assert {id_: again.text(id_) for id_ in again} == TEXTS
    assert again.match_batch(EVENTS).equals(before.match_batch(EVENTS))
    assert again.match({"n": 30}) == before.match({"n": 30}) == ["both", "plain", "either"]
    assert again.schema == before.schema


def test_what_was_learned_is_there_again(saved: Path) -> None:
    learned = subscriptions().compile(operators=OPERATORS)
    learned.match_batch(EVENTS)
    again = Engine.open(saved, operators=OPERATORS)
    mine, theirs = (one.statistics.plain()["observed"] for one in (again, learned))
    assert mine.keys() == theirs.keys()
    for text, counts in mine.items():
        if not text.endswith(" costs"):
            assert counts == theirs[text]
    assert _selectivity(again) == pytest.approx(_selectivity(learned))


def _selectivity(engine: Engine) -> Any:
    assert engine.calls is not None
    return engine.calls.plan.statistics.selectivity()


def test_what_was_learned_may_be_thrown_away(saved: Path) -> None:
    (saved / "statistics.json").unlink()
    again = Engine.open(saved, operators=OPERATORS)
    assert len(again.statistics) == 0
    assert again.match({"n": 30}) == ["both", "plain", "either"]


def test_saved_over_an_older_one(saved: Path) -> None:
    other = Subscriptions({"n": "int"})
    other.add("odd", "not divides(2)")
    other.compile(operators=OPERATORS).save(saved)
    again = Engine.open(saved, operators=OPERATORS)
    assert again.match({"n": 3}) == ["odd"]


def test_an_empty_set(tmp_path: Path) -> None:
    Subscriptions().compile(operators=OPERATORS).save(tmp_path / "none")
    again = Engine.open(tmp_path / "none", operators=OPERATORS)
    assert again.match({"n": 3}) == []
    assert again.match_batch(EVENTS).num_rows == 0


def test_an_operator_that_is_missing_is_named(saved: Path) -> None:
    with pytest.raises(FilterError, match=r"subscription 'digit':\nline 1, column 1: there is no operator 'digits'"):
        Engine.open(saved, operators=Operators(divides))


def test_a_folder_that_is_something_else(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(SnapshotError):
            Engine.open(folder, operators=OPERATORS)
    with pytest.raises(SnapshotError, match=r"there is no manifest\.json\nHint: vedette\.open opens it"):
        Matcher.open(saved)


def test_nothing_is_saved_among_files_of_others(tmp_path: Path) -> None:
    matcher = subscriptions().compile(operators=OPERATORS)
    folder = tmp_path / "work"
    folder.mkdir()
    matcher.save(folder)  # an empty folder is free
    (folder / "thesis.txt").write_text("years")
    for taken in (folder, folder / "thesis.txt"):
        with pytest.raises(SnapshotError, match="is there already and is not a snapshot of filters and patterns"):
            matcher.save(taken)
    assert (folder / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize("part", ["plain", "with_operators"])
def test_a_part_that_is_gone_or_damaged(part: str, saved: Path) -> None:
    files = sorted(path for path in (saved / part).rglob("*") if path.is_file())
    assert files
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] + b"?" * (len(whole) - len(whole) // 2))
        with pytest.raises(SnapshotError):
            Engine.open(saved, operators=OPERATORS)
        path.write_bytes(whole)
    Engine.open(saved, operators=OPERATORS)
    shutil.rmtree(saved / part)
    with pytest.raises(SnapshotError):
        Engine.open(saved, operators=OPERATORS)


def test_parts_of_different_sets(saved: Path, tmp_path: Path) -> None:
    other = Subscriptions({"n": "int"})
    other.add("else", "n > 7 and divides(2)")
    other.add("more", "n > 7")
    other.compile(operators=OPERATORS).save(tmp_path / "other")
    shutil.rmtree(saved / "plain")
    shutil.copytree(tmp_path / "other" / "plain", saved / "plain")
    with pytest.raises(SnapshotError, match=r"plain and with_operators were not saved together\nHint: save"):
        Engine.open(saved, operators=OPERATORS)


def test_how_long_nothing_is_remembered_is_there_again(saved: Path) -> None:
    Statistics(memory=50).save(saved / "statistics.json")
    with vd.open(saved, operators=OPERATORS) as engine:
        assert (len(engine.statistics), engine.statistics.memory) == (0, 50)


def test_a_model_that_is_gone_or_another_is_noticed(tmp_path: Path) -> None:
    subs = subscriptions()
    subs.add("p", "[n = 1] ; [n = 2]", predict={"within": 3})
    folder, model = tmp_path / "saved", Model(ForecastSettings(context=0))
    subs.compile(operators=OPERATORS, model=model).save(folder)
    with vd.open(folder, operators=OPERATORS) as engine:
        assert engine.model is not None
        assert engine.model.settings.context == 0
    Model().save(folder / "model")
    with pytest.raises(SnapshotError, match=r"model was not saved with the subscriptions beside it"):
        vd.open(folder, operators=OPERATORS)
    (folder / "model").unlink()
    with pytest.raises(SnapshotError, match=r"model is missing\nHint: restore it from a copy, or hand in another"):
        vd.open(folder, operators=OPERATORS)
    with vd.open(folder, operators=OPERATORS, model=model) as engine:
        assert engine.model is model
    subs.compile(operators=OPERATORS).save(folder)
    with vd.open(folder, operators=OPERATORS) as engine:
        assert engine.model is None


def test_statistics_that_are_damaged(saved: Path) -> None:
    (saved / "statistics.json").write_text('{"version": 1}')
    with pytest.raises(FileError, match=r"statistics.json: not the statistics of operators"):
        Engine.open(saved, operators=OPERATORS)
