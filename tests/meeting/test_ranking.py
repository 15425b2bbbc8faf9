"""The best few for every publication or subscription: order, ties, several disjuncts, functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

import vedette.meeting.ranking as ranking_module
from tests.meeting.generate import case
from tests.seeds import some
from vedette.errors import FilterError, InputError
from vedette.language.valuesets import NULL, of_intervals
from vedette.meeting.allowed_values import AllowedValues, Disc, Elements, meets
from vedette.meeting.constraint_parser import Constraint, read_constraint
from vedette.meeting.meet import MeetingTables, meet
from vedette.meeting.ranking import Ranking, both_allow, shared_values
from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {"topic": "string", "lot": "int", "price": "float", "at": "point", "tags": "list of string", "until": "timestamp"}
)
OFFERS = {
    "o1": "topic = 'pencils' and lot between 1000 and 10000 and price = 1.00",
    "o2": "topic = 'pencils' and lot between 1 and 6000 and price = 0.90",
    "o3": "topic = 'pens' and lot >= 1 and price = 0.50",
}
WANTS = {
    "w1": "topic = 'pencils' and lot >= 5000 and price <= 1.10",
    "w2": "topic = 'pencils' and lot >= 2000 and price <= 2",
    "w3": "topic in ('pens', 'pencils') and lot <= 6000 and price < 0.95",
}


def ranked(by: Any, per: str = "publication", top: int | None = None) -> list[tuple[str, str, int, float]]:
    found = meet(OFFERS, WANTS, schema=SCHEMA, by=by, per=per, top=top)  # type: ignore[arg-type]
    assert found.column_names == ["publication", "subscription", "rank", "score"]
    return [tuple(row.values()) for row in found.to_pylist()]


def test_the_cheapest_offer_for_everybody() -> None:
    assert ranked("price", "subscription") == [
        ("o2", "w1", 1, 0.9),
        ("o1", "w1", 2, 1.0),
        ("o2", "w2", 1, 0.9),
        ("o1", "w2", 2, 1.0),
        ("o3", "w3", 1, 0.5),
        ("o2", "w3", 2, 0.9),
    ]
    assert ranked("price", "subscription", 1) == [("o2", "w1", 1, 0.9), ("o2", "w2", 1, 0.9), ("o3", "w3", 1, 0.5)]


def test_who_takes_most_of_an_offer() -> None:
    found = ranked("overlap", "publication")
    assert [row[:3] for row in found] == [
        ("o1", "w2", 1),
        ("o1", "w1", 2),
        ("o2", "w3", 1),
        ("o2", "w2", 2),
        ("o2", "w1", 3),
        ("o3", "w3", 1),
    ]
    assert [row[3] for row in found] == pytest.approx([8001 / 9001, 5001 / 9001, 1, 4001 / 6000, 1001 / 6000, 0])
    assert ranked(None, top=99) == found


def test_ties_keep_the_order_that_was_given() -> None:
    assert [row[:3] for row in ranked("lot * 0")] == [
        ("o1", "w1", 1),
        ("o1", "w2", 2),
        ("o2", "w1", 1),
        ("o2", "w2", 2),
        ("o2", "w3", 3),
        ("o3", "w3", 1),
    ]
    assert [row[:3] for row in ranked("until desc", "subscription", 1)] == [
        ("o1", "w1", 1),
        ("o1", "w2", 1),
        ("o2", "w3", 1),
    ]


def test_the_best_of_several_disjuncts_counts() -> None:
    offer = {"o": "price = 3 or price = 1 or price = 2"}
    wants = {"a": "price >= 2", "b": "price >= 1", "c": "price = 3 or price > 0"}
    for by, expected in (("price", {"a": 2, "b": 1, "c": 1}), ("-price", {"a": 3, "b": 3, "c": 3})):
        found = meet(offer, wants, schema=SCHEMA, by=by).to_pylist()
        assert {row["subscription"]: row["score"] for row in found} == expected
        assert [row["rank"] for row in found] == [1, 2, 3]


def test_a_function_is_told_what_both_allow() -> None:
    told: dict[tuple[str, str], Mapping[str, AllowedValues]] = {}

    def fewest(publication: Constraint, subscription: Constraint, both: Mapping[str, AllowedValues]) -> float:
        told[publication.text, subscription.text] = both
        return -len(both)

    wide, narrow = "lot >= 3 and price = 1", "lot = 2"
    found = meet({"o": "lot between 1 and 5"}, {"a": wide, "b": narrow}, schema=SCHEMA, by=fewest).to_pylist()
    assert [(row["subscription"], row["score"]) for row in found] == [("b", -1), ("a", -2)]
    assert told.keys() == {("lot between 1 and 5", wide), ("lot between 1 and 5", narrow)}
    both = told["lot between 1 and 5", wide]
    assert both.keys() == {"lot", "price"}
    assert both["lot"] == of_intervals([(3, 6)])
    assert told["lot between 1 and 5", narrow] == {"lot": of_intervals([(2, 3)])}


def test_what_both_allow_of_lists_places_and_null() -> None:
    def together(one: str, other: str) -> AllowedValues:
        parts = [read_constraint(text, SCHEMA).disjuncts[0] for text in (one, other)]
        (found,) = shared_values(*parts).values()
        return found

    a = of_intervals([(b"a", b"a\0")])
    ab = of_intervals([(b"a", b"a\0"), (b"b", b"b\0")])
    assert together("any(tags) in ('a', 'b')", "any(tags) = 'a'") == Elements("any", a)
    assert together("all(tags) in ('a', 'b')", "all(tags) <= 'b'").quantifier == "all"  # type: ignore[union-attr]
    assert together("all(tags) in ('a', 'b')", "any(tags) = 'a'") == Elements("any", a)
    assert together("tags is not null", "any(tags) in ('a', 'b')") == Elements("any", ab)
    assert together("any(tags) in ('a', 'b')", "tags is not null") == Elements("any", ab)
    assert together("lot is null", "lot is null") == NULL
    inner = together("at within region box(0, 0, 4, 4)", "at within 5 km of point(1, 1)")
    assert isinstance(inner, Disc)
    assert together("at is not null", "at within 5 km of point(1, 1)") == inner


@pytest.mark.parametrize("seed", some(20))
def test_what_both_allow_meets_both(seed: int) -> None:
    made = case(seed)
    parts = [
        [term for text in side.values() for part in read_constraint(text, made.schema).disjuncts for term in part.terms]
        for side in (made.publications, made.subscriptions)
    ]
    for one in parts[0]:
        for other in (term for term in parts[1] if term.column == one.column and meets(one.allowed, term.allowed)):
            both = both_allow(one.allowed, other.allowed)
            if isinstance(both, Disc):  # polygons stand for discs: the point where two touch is off by a little
                both = Disc(both.centre, both.metres + 1000)
            named = not isinstance(both, Elements) or not both.values.is_empty
            if named:
                assert meets(both, one.allowed)
                assert meets(both, other.allowed)


# ---------------------------------------------------------------- the best of many


@pytest.mark.parametrize("seed", some(40))
@pytest.mark.parametrize("per", ["publication", "subscription"])
def test_the_best_are_those_of_sorting_everything(seed: int, per: Any) -> None:
    random = Random(seed)
    descending = random.random() < 0.5
    ranking = Ranking.of("lot desc" if descending else "lot", per, SCHEMA)
    count = random.choice([0, 1, 5, 60])
    p, s = (np.array([random.randint(0, 4) for _ in range(count)], np.int32) for _ in range(2))
    scores = np.array(
        [random.choice([0.0, -0.0, 1, 2, math.inf, -math.inf, math.nan]) for _ in range(count)], np.float64
    )
    best: dict[tuple[int, int], tuple[float, ...]] = {}
    for mine, theirs, score in zip(p.tolist(), s.tolist(), scores.tolist(), strict=True):
        sides = (mine, theirs) if per == "publication" else (theirs, mine)
        key = (1.0, 0.0) if math.isnan(score) else (0.0, -score if descending else score)
        best[sides] = min(best.get(sides, (2.0, 0.0)), key)
    expected = sorted((side, key, other) for (side, other), key in best.items())
    top = random.choice([None, 1, 2, 100])
    places = [sum(row[0] == each[0] for row in expected[:at]) + 1 for at, each in enumerate(expected)]
    wanted = [(side, other, place) for (side, _, other), place in zip(expected, places, strict=True)]
    wanted = [row for row in wanted if top is None or row[2] <= top]

    rows, rank = ranking.best(p, s, scores, top)
    assert rank.dtype == np.int32
    side, other = (p, s) if per == "publication" else (s, p)
    assert list(zip(side[rows].tolist(), other[rows].tolist(), rank.tolist(), strict=True)) == wanted


def test_scores_do_not_depend_on_how_many_are_reckoned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = case(3, 40)
    sides = [
        [read_constraint(text, made.schema) for text in side.values()]
        for side in (made.publications, made.subscriptions)
    ]
    found = MeetingTables.of(*sides).pairs("open")
    tables = found.publications, found.subscriptions, found.publication, found.subscription
    name = next(name for name, type_ in made.schema.items() if type_.kind.numeric and not type_.is_list)
    for by in ("overlap", f"overlap + high({name})"):
        ranking = Ranking.of(by, "subscription", made.schema)
        whole = ranking.scores(*tables)
        with monkeypatch.context() as patch:
            patch.setattr(ranking_module, "_AT_ONCE", 7)
            assert np.array_equal(ranking.scores(*tables), whole, equal_nan=True)
    assert len(whole) > 100


def test_no_pairs_no_scores() -> None:
    found = meet({}, {}, schema=SCHEMA, by="price")
    assert found.num_rows == 0
    assert meet({"o": "lot = 1"}, {"w": "lot = 2"}, schema=SCHEMA, by="overlap", top=3).num_rows == 0


# ---------------------------------------------------------------- what is refused


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match=r"by=7 is int.*\nHint: rank by"):
        Ranking.of(7, "publication", SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="per='offer' is not known"):
        Ranking.of("price", "offer", SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(FilterError, match="unknown attribute prise"):
        ranked("prise")
    with pytest.raises(InputError, match="returned 'much', which is no number"):
        ranked(lambda *_: "much")
    with pytest.raises(ZeroDivisionError):
        ranked(lambda *_: 1 / 0)
    nothing = np.array([], np.int32)
    for top in (0, -1, True, 1.5):
        with pytest.raises(InputError, match="top="):
            Ranking.of("price", "publication", SCHEMA).best(nothing, nothing, np.array([]), top)  # type: ignore[arg-type]
