"""The benchmark of meeting: its workloads have the properties they are named for, and all ways find the same pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.meeting import GrowthRow, MeetingFigures, Sizes, check, fitted
from benchmarks.meeting_engines import Local, Relational, in_order, read, table_of
from benchmarks.meeting_workloads import NAMES, PLANTED, WORDS, Factors, Name, Workload, generate
from vedette.meeting.constraint_parser import read_constraint
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import PERS
from vedette.meeting.relations import relations
from vedette.schema.columns import Column
from vedette.schema.schema import Schema

FACTORS = [
    Factors(publications, 1_000, variables, operators, conjuncts)
    for publications in (1, 100)
    for variables, conjuncts in ((1, 1), (50, 1), (50, 5))
    for operators in (False, True)
]


def _pairs(workload: Workload) -> int:
    return len(Local(workload).find()[0])


@pytest.mark.parametrize("factors", FACTORS, ids=str)
def test_fixed_results_do_not_depend_on_the_number_of_subscriptions(factors: Factors) -> None:
    sizes = [_pairs(generate("fixed", replace(factors, subscriptions=size))) for size in (1_000, 4_000, 16_000)]
    assert sizes[0] == sizes[1] == sizes[2] >= PLANTED // 5


@pytest.mark.parametrize("factors", FACTORS, ids=str)
def test_proportional_results_grow_as_the_subscriptions_do(factors: Factors) -> None:
    small, large = (_pairs(generate("proportional", replace(factors, subscriptions=size))) for size in (1_000, 8_000))
    assert large == 8 * small > 0


@pytest.mark.parametrize("operators", [False, True])
def test_intermediate_results_grow_where_results_do_not(operators: bool) -> None:
    found = []
    for size in (1_000, 4_000):
        workload = generate("large-intermediate-results", Factors(100, size, 50, operators, 5))
        with Relational(workload) as relational:
            pairs = in_order(relational.papers_queries())
            found.append((len(pairs), relational.intermediate()))
    (few, small), (same, large) = found
    assert few == same
    assert large == pytest.approx(4 * small, rel=0.1)
    assert small > 100 * few


def test_places_of_both_sides_are_apart_but_for_those_planted() -> None:
    made = [generate("fixed-geometric", Factors(20, size, 5)) for size in (100, 1_000)]
    assert [_pairs(each) for each in made] == [PLANTED, PLANTED]
    edges = made[0].subscriptions.edges
    assert edges is not None
    assert (edges[..., 0] > 0).sum() == 100 - PLANTED


def test_uniform_values_give_the_papers_two_pairs_and_far_too_many() -> None:
    found = [_pairs(generate("uniform", Factors(all_operators=False), seed)) for seed in range(4)]
    assert 0.5 < np.mean(found) < 4  # the paper expects 2
    assert _pairs(generate("uniform", Factors(subscriptions=10_000))) > 100 * 10_000 / 50 / 2


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_columns_of_constants_say_the_same(name: Name) -> None:
    workload = generate(name, Factors(12, 150, 20, True, 1 if name == "fixed-geometric" else 4))
    made = AttributeSpace(), AttributeSpace()
    for name_, type_ in sorted(Schema.of(workload.schema).items()):
        made[0].number(Column(name_, type_))  # attributes are numbered as they come
    for side, own in zip(PERS, (workload.publications, workload.subscriptions), strict=True):
        as_written = [read_constraint(text, Schema.of(workload.schema)) for text in own.texts()]
        written, quick = relations(dict(enumerate(as_written)), side), own.relations(side)
        for table, expected in written.items():
            order = [(column, "ascending") for column in expected.column_names if column in _SORTED]
            if len(expected):
                assert quick[table].sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()
        slow, fast = ConstraintTable.of(read(own, workload.schema), made[0]), table_of(own, workload.schema, made[1])
        for array in ("owner", "term_start", "attribute", "sort", "null", "span_start", "low", "last", "place"):
            np.testing.assert_array_equal(getattr(slow, array), getattr(fast, array), array)
            assert getattr(slow, array).dtype == getattr(fast, array).dtype
        assert len(slow.places) == len(fast.places)


_SORTED = ("id", "p_id", "s_id", "field")


def test_all_operators_are_on_both_sides() -> None:
    workload = generate("fixed", Factors(100, 2_000))
    for side in (workload.publications, workload.subscriptions):
        assert {WORDS[op] for op in np.unique(side.op)} == set(WORDS)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="two conjuncts"):
        generate("large-intermediate-results", Factors())
    with pytest.raises(ValueError, match="more conjuncts"):
        generate("fixed", Factors(variables=2, conjuncts=3))


def test_other_pairs_are_found_out() -> None:
    one, two = np.array([0, 1]), np.array([5, 6])
    check("paper", (one[::-1], two[::-1]), (one, two))
    with pytest.raises(ArithmeticError, match="paper finds 2 pairs"):
        check("paper", (one, two[::-1]), (one, two))


def test_growth_is_the_exponent_of_a_power_law() -> None:
    assert fitted([10, 100, 1000], [1, 10**0.5, 10]) == pytest.approx(0.5)
    figures = MeetingFigures(growth=[GrowthRow(size, 1, 3, size**0.25) for size in (10, 100, 1_000)])
    assert figures.exponents == {1: pytest.approx(0.25)}


def test_all_ways_find_the_same_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = Sizes(20, 300, (100, 400), 1)
    monkeypatch.setattr(Sizes, "of", staticmethod(lambda quick: tiny))
    path = tmp_path / "figures.json"
    main(["--quick", "--workload", "meeting", "--json", str(path)])
    figures = json.loads(path.read_text())["meeting"]
    assert [(row["workload"], row["conjuncts"]) for row in figures["engines"]] == list(tiny.cases)
    assert all(min(row["local_s"], row["paper_s"], row["join_s"], row["read_us"]) > 0 for row in figures["engines"])
    assert [row["subscriptions"] for row in figures["growth"]] == [100, 400, 100, 400]
    assert set(figures["exponents"]) == {"1", "5"}
    assert "x paper" in capsys.readouterr().out
