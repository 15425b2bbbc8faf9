"""Sets of filters with operators, saved and opened again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vedette.errors import FileError, FilterError, SnapshotError
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import operator
from vedette.operators.registry import Operators


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
    matcher = OperatorMatcher(subscriptions(), OPERATORS)
    matcher.match_batch(EVENTS)
    matcher.save(tmp_path / "set")
    return tmp_path / "set"


@pytest.mark.parametrize("verify", [False, True])
def test_it_matches_as_before(saved: Path, verify: bool) -> None:
    before = OperatorMatcher(subscriptions(), OPERATORS)
    again = OperatorMatcher.open(saved, OPERATORS, verify=verify)
    assert again.ids == list(TEXTS)
    assert {id_: again.text(id_) for id_ in again.ids} == TEXTS
    assert again.match_batch(EVENTS).equals(before.match_batch(EVENTS))
    assert again.match({"n": 30}) == before.match({"n": 30}) == ["both", "plain", "either"]
    assert again.schema == before.schema


def test_what_was_learned_is_there_again(saved: Path) -> None:
    learned = OperatorMatcher(subscriptions(), OPERATORS)
    learned.match_batch(EVENTS)
    again = OperatorMatcher.open(saved, OPERATORS)
    mine, theirs = (one.statistics.plain()["observed"] for one in (again, learned))
    assert mine.keys() == theirs.keys()
    for text, counts in mine.items():
        if not text.endswith(" costs"):
            assert counts == theirs[text]
    assert again.plan.statistics.selectivity() == pytest.approx(learned.plan.statistics.selectivity())


def test_what_was_learned_may_be_thrown_away(saved: Path) -> None:
    (saved / "statistics.json").unlink()
    again = OperatorMatcher.open(saved, OPERATORS)
    assert len(again.statistics) == 0
    assert again.match({"n": 30}) == ["both", "plain", "either"]


def test_saved_over_an_older_one(saved: Path) -> None:
    other = Subscriptions({"n": "int"})
    other.add("odd", "not divides(2)")
    OperatorMatcher(other, OPERATORS).save(saved)
    again = OperatorMatcher.open(saved, OPERATORS, verify=True)
    assert again.match({"n": 3}) == ["odd"]


def test_an_empty_set(tmp_path: Path) -> None:
    OperatorMatcher(Subscriptions(), OPERATORS).save(tmp_path / "none")
    again = OperatorMatcher.open(tmp_path / "none", OPERATORS)
    assert again.match({"n": 3}) == []
    assert again.match_batch(EVENTS).num_rows == 0


def test_an_operator_that_is_missing_is_named(saved: Path) -> None:
    with pytest.raises(FilterError, match=r"subscription 'digit':\nline 1, column 1: there is no operator 'digits'"):
        OperatorMatcher.open(saved, Operators(divides))


def test_a_folder_that_is_something_else(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(SnapshotError):
            OperatorMatcher.open(folder, OPERATORS)
    plain = Subscriptions({"n": "int"})
    plain.add("plain", "n > 5")
    plain.compile().save(tmp_path / "plain")
    with pytest.raises(SnapshotError, match=r"without operators\nHint: Matcher\.open opens it"):
        OperatorMatcher.open(tmp_path / "plain", OPERATORS)
    with pytest.raises(SnapshotError, match=r"there is no manifest\.json\nHint: OperatorMatcher\.open opens it"):
        Matcher.open(saved)


def test_nothing_is_saved_among_files_of_others(tmp_path: Path) -> None:
    matcher = OperatorMatcher(subscriptions(), OPERATORS)
    folder = tmp_path / "work"
    folder.mkdir()
    matcher.save(folder)  # an empty folder is free
    (folder / "thesis.txt").write_text("years")
    for taken in (folder, folder / "thesis.txt"):
        with pytest.raises(SnapshotError, match="is there already and is not a snapshot of filters with operators"):
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
            OperatorMatcher.open(saved, OPERATORS, verify=True)
        path.write_bytes(whole)
    OperatorMatcher.open(saved, OPERATORS, verify=True)
    shutil.rmtree(saved / part)
    with pytest.raises(SnapshotError):
        OperatorMatcher.open(saved, OPERATORS)


def test_parts_of_different_sets(saved: Path, tmp_path: Path) -> None:
    other = Subscriptions({"n": "int"})
    other.add("else", "n > 7")
    OperatorMatcher(other, OPERATORS).save(tmp_path / "other")
    shutil.rmtree(saved / "plain")
    shutil.copytree(tmp_path / "other" / "plain", saved / "plain")
    with pytest.raises(SnapshotError, match=r"plain and with_operators were not saved together\nHint: save"):
        OperatorMatcher.open(saved, OPERATORS)


def test_statistics_that_are_damaged(saved: Path) -> None:
    (saved / "statistics.json").write_text('{"version": 1}')
    with pytest.raises(FileError, match=r"statistics.json: not the statistics of operators"):
        OperatorMatcher.open(saved, OPERATORS)
