"""The benchmark of matching with covering: workloads that are what they say, and rows for all of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import covering, forms
from benchmarks.__main__ import main
from benchmarks.covering import Sizes, measure
from benchmarks.covering_workloads import COVERING
from vedette.covering.matcher import CoveringMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.kernels.match_rows import MatchRows

TINY = Sizes((400,), 512, 20, 2)


def _matcher(name: str, count: int) -> CoveringMatcher:
    made = COVERING[name].subscriptions(count)
    subscriptions = Subscriptions(forms.schema(made.attributes))
    for number, text in enumerate(forms.texts(made)):
        subscriptions.add(f"s{number}", text)
    return CoveringMatcher.compile(subscriptions)


def test_nearly_all_lie_within_twenty_wide_ones() -> None:
    found = _matcher("few", 1000)
    assert len(found) - len(found.covered) == 20
    assert all(len(answer.by) == 1 for answer in found.covered.values())


def test_events_are_where_few_or_many_match() -> None:
    matcher = _matcher("few", 1000)
    matching = {
        name: np.mean(np.diff(matcher.match_rows(forms.arrow(COVERING[name].events(500, 4))).start) > 0)
        for name in ("few", "many")
    }
    assert matching["few"] < 0.4
    assert matching["many"] == 1.0


def test_some_of_the_tails_are_covered_and_none_of_those_that_lie_apart() -> None:
    assert len(_matcher("stock", 2000).covered) > 400
    assert not len(_matcher("apart", 400).covered)


@pytest.mark.parametrize("name", COVERING)
def test_a_row_says_how_both_did(name: str) -> None:
    row = measure(name, 400, TINY)
    assert row.subscriptions == 400
    assert min(row.flat_us, row.covering_us, row.one_flat_us, row.one_covering_us) > 0
    assert row.ratio == row.flat_us / row.covering_us
    assert (row.covered == 0) == (name == "apart")


def test_other_matches_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: CoveringMatcher, *arguments: object, **options: object) -> MatchRows:
        return MatchRows(np.zeros(513, np.int64), np.zeros(0, np.int32))

    monkeypatch.setattr(CoveringMatcher, "match_rows", wrong)
    with pytest.raises(ArithmeticError, match="other matches"):
        measure("many", 400, TINY)


def test_from_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(covering.Sizes, "of", lambda quick: TINY)
    main(["--quick", "--workload", "covering", "--json", str(tmp_path / "figures.json")])
    rows = json.loads((tmp_path / "figures.json").read_text())["covering"]["matching"]
    assert [row["workload"] for row in rows] == list(COVERING)
