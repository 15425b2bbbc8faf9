"""The covering set: whoever is covered stays covered by those that are active, and cancelling promotes who needs it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.random_filters import FILTERS, SCHEMA, random_events
from tests.seeds import EXAMPLES, some
from vedette.covering.cover_set import CoverAnswer, CoveringSet, OpaqueSubscription
from vedette.errors import FilterError, InputError, UnknownSubscription
from vedette.language.ast import Filter
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema

PLANE = Schema.of({"x": "int", "y": "int"})
GRID = [{"x": x, "y": y} for x in (None, *range(7)) for y in (None, *range(7))]
EVENTS = random_events(160)


def truth(text: str, event: Mapping[str, Any], schema: Schema = PLANE) -> bool:
    return evaluate(check(parse(text), schema, text), event) is True


def random_text(random: Random) -> str:
    """A union of boxes of the grid, some with null, some unbounded."""
    return " or ".join(_box(random) for _ in range(random.choice([1, 1, 1, 2])))


def _box(random: Random) -> str:
    parts = []
    for name in "xy":
        low = random.randrange(6)
        high = random.randrange(low, 7)
        parts.append(
            random.choice(
                [
                    f"{name} between {low} and {high}",
                    f"{name} between {low} and {high}",
                    f"{name} >= {low}",
                    f"({name} < {high} or {name} is null)",
                    f"{name} != {low}",
                    f"{name} in ({low}, {high})",
                    f"{name} is null",
                    f"{name} is not null",
                    "true",
                ]
            )
        )
    return " and ".join(parts)


def check_set(found: CoveringSet, texts: Mapping[str, str]) -> None:
    """On the grid, which has every point that the filters can tell apart."""
    active = set(found.active)
    assert active.isdisjoint(found.covered)
    assert active | set(found.covered) == set(texts)
    for id_, answer in found.covered.items():
        assert set(answer.by) <= active
        assert answer.certain
        assert answer.error == 0
        for event in GRID:
            if truth(texts[id_], event):
                assert any(truth(texts[other], event) for other in answer.by)


@pytest.mark.parametrize("seed", some(6, usual=2))
def test_what_is_covered_is_covered_by_active_ones_whatever_comes_and_goes(seed: int) -> None:
    random = Random(seed)
    found = CoveringSet(PLANE)
    texts: dict[str, str] = {}
    for step in range(60):
        if texts and random.random() < 0.35:
            gone = random.choice(list(texts))
            before, named = set(found.active), set(found.covers(gone))
            promoted = found.remove(gone)
            del texts[gone]
            assert set(promoted) <= named
            assert set(found.active) == before - {gone} | set(promoted)
        else:
            texts[f"s{step}"] = random_text(random)
            found.add(f"s{step}", texts[f"s{step}"])
        if step % 10 == 9:
            check_set(found, texts)


@pytest.mark.parametrize("seed", some(4))
def test_exactly_those_are_covered_that_the_grid_shows_to_be(seed: int) -> None:
    """In two dimensions without derived ones every answer is certain, and the witness is an event of the kind."""
    random = Random(100 + seed)
    found = CoveringSet(PLANE, witnesses=True)
    texts: dict[str, str] = {}
    for step in range(60):
        id_, text = f"s{step}", random_text(random)
        active = list(found.active)
        answer = found.add(id_, text)
        texts[id_] = text
        alone = [e for e in GRID if truth(text, e) and not any(truth(texts[other], e) for other in active)]
        assert answer.certain
        if answer.covered:
            assert not alone
            continue
        assert answer.witness is not None
        # Beyond the grid there may be room as well: no filter has a bound above its last value.
        assert truth(text, answer.witness)
        assert not any(truth(texts[other], answer.witness) for other in active)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.lists(FILTERS, min_size=2, max_size=8), st.integers(0, 119))
def test_no_event_is_lost_whatever_the_filters_say(filters: list[Filter], first: int) -> None:
    """Every type, nulls, comparisons of attributes, tests without an order: whoever is covered misses nothing."""
    found = CoveringSet(SCHEMA, witnesses=True)
    made = {f"s{number}": check(filter_, SCHEMA) for number, filter_ in enumerate(filters)}
    for id_, checked in made.items():
        active = list(found.active)
        answer = found.add(id_, normalise(checked))
        if answer.witness is not None:
            assert evaluate(checked, _readable(answer.witness)) is True
            assert not any(evaluate(made[other], _readable(answer.witness)) for other in active)
    found.remove("s0")
    for id_, answer in found.covered.items():
        assert set(answer.by) <= set(found.active)
        for event in EVENTS[first : first + 40]:
            if evaluate(made[id_], event) is True:
                assert any(evaluate(made[other], event) is True for other in answer.by)


def _quoted(values: list[Any], word: str = "") -> list[str]:
    return [f"{word} '{value}'".strip() for value in values]


BOUNDS = {
    "s": _quoted(["a", "ab", "abc", "b", "é", "z%"]),
    "a": _quoted(["10.0.0.1", "10.0.0.2", "10.255.255.255", "2001:db8::1"], "ip"),
    "f": ["-1.5", "0", "1.0", "2.5", "1e300"],
    "d": _quoted(["1970-01-01", "2024-05-01", "2024-05-02"], "date"),
    "t": _quoted(["1970-01-01T00:00:00Z", "2024-05-01T12:30:00Z"], "timestamp"),
    "b": ["true", "false"],
}
BESIDE = [
    "s contains 'b'",
    "not s contains 'b'",
    "s like 'a%'",
    "a in cidr '10.0.0.0/8'",
    "i < j",
    "i >= j",
    "any(li) = 1",
    "i is null",
    "s is not null",
    "true",
]


def _typed_text(random: Random) -> str:
    """One or two conditions on one attribute, with something beside it now and then."""
    name = random.choice(list(BOUNDS))
    parts = [f"{name} {random.choice(['<', '<=', '>', '>=', '!='])} {random.choice(BOUNDS[name])}"]
    if random.random() < 0.4:
        parts.append(f"{name} {random.choice(['<', '>=', '='])} {random.choice(BOUNDS[name])}")
    joined = f"({random.choice([' and ', ' or ']).join(parts)})"
    if random.random() < 0.2:
        joined = f"({joined} or {name} is null)"
    if random.random() < 0.4:
        joined += f" and {random.choice(BESIDE)}"
    return joined


@pytest.mark.parametrize("seed", range(5))
def test_every_type_covers_and_is_covered(seed: int) -> None:
    random = Random(seed)
    found = CoveringSet(SCHEMA, witnesses=True)
    texts: dict[str, str] = {}
    for step in range(120):
        id_ = f"s{step}"
        texts[id_] = _typed_text(random)
        active = list(found.active)
        witness = found.add(id_, texts[id_]).witness
        if witness is not None:
            assert truth(texts[id_], _readable(witness), SCHEMA)
            assert not any(truth(texts[other], _readable(witness), SCHEMA) for other in active)
        if step % 3 == 2:
            gone = random.choice(list(texts))
            found.remove(gone)
            del texts[gone]
    together = 0
    for id_, answer in found.covered.items():
        together += len(answer.by) > 1
        for event in EVENTS:
            if truth(texts[id_], event, SCHEMA):
                assert any(truth(texts[other], event, SCHEMA) for other in answer.by)
    assert len(found.covered) > 20
    assert together > 3


def _readable(witness: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinite numbers, so that witnesses have their names."""
    return {
        path: float(value) if value in ("inf", "-inf", "nan") and path in ("f", "order.total") else value
        for path, value in witness.items()
    }


def answers(*texts: str, **options: Any) -> list[CoverAnswer]:
    found = CoveringSet({"x": "int", "y": "int", "s": "string", "f": "float"}, witnesses=True, **options)
    return [found.add(f"s{number}", text) for number, text in enumerate(texts)]


def test_one_that_others_cover_together() -> None:
    *_, last = answers("x between 0 and 9", "x between 10 and 20", "x between 5 and 15 and y > 3")
    assert last == CoverAnswer("s2", True, ("s0", "s1"), "exact", True)
    *_, last = answers("x between 0 and 9", "x between 11 and 20", "x between 5 and 15 and y > 3")
    assert not last.covered
    assert last.certain
    assert last.witness is not None
    assert last.witness["x"] == 10


def test_pairwise_looks_at_one_other_at_a_time() -> None:
    *_, last = answers("x between 0 and 9", "x between 10 and 20", "x between 5 and 15", method="pairwise")
    assert not last.covered
    assert not last.certain
    *_, last = answers("x between 0 and 9", "x between 10 and 20", "x between 5 and 7", method="pairwise")
    assert (last.by, last.method, last.certain) == (("s0",), "pairwise", True)


def test_sampling_says_how_wrong_it_may_be() -> None:
    *_, last = answers("x between 0 and 9", "x between 10 and 20", "x between 5 and 15", method="sampling", error=1e-3)
    assert last.covered
    assert last.method == "sampling"
    assert not last.certain
    assert 0 < last.error <= 1e-3


def test_a_search_that_is_given_up_says_so() -> None:
    """Cells of a chess board of three dimensions in all colours: no fast decision helps."""
    found = CoveringSet({"x": "int", "y": "int", "z": "int"}, budget=3)
    for number, (x, y, z) in enumerate((x, y, z) for x in range(3) for y in range(3) for z in range(3)):
        found.add(f"s{number}", f"x = {x} and y = {y} and z = {z}")
    last = found.add("all", "x between 0 and 2 and y between 0 and 2 and z between 0 and 2")
    assert (last.covered, last.method, last.certain) == (False, "budget", False)


def test_tests_without_an_order_cover_and_are_covered() -> None:
    assert answers("s contains 'a'", "s contains 'a' and x = 3")[1].by == ("s0",)
    assert answers("s contains 'a' or s contains 'b'", "s contains 'b'")[1].by == ("s0",)
    assert answers("s is not null", "not s contains 'b'")[1].by == ("s0",)
    either = answers("s contains 'a'", "not s contains 'a'", "s > 'b' and x = 1")[2]
    assert either.covered
    assert set(either.by) == {"s0", "s1"}
    other = answers("s contains 'ab'", "s contains 'abc'")[1]
    assert not other.covered  # which is wrong, and said not to be certain
    assert not other.certain


def test_what_depends_on_other_attributes_is_not_certain() -> None:
    less, point = answers("x < y", "x = 1 and y = 2")
    assert not less.certain
    assert not point.covered  # although it is: no box says so
    assert not point.certain


def test_filters_without_boxes_are_compared_as_they_are() -> None:
    pattern = "[x = 1] ; [x = 2] within 5 min"
    found = answers(pattern, "near('a', ?d) and ?d < 5", pattern, "near('a', ?d) and ?d < 5", "x = 1")
    assert [(each.covered, each.by, each.method, each.certain) for each in found[:4]] == [
        (False, (), "opaque", False),
        (False, (), "opaque", False),
        (True, ("s0",), "equal", True),
        (True, ("s1",), "equal", True),
    ]
    odd = ", ".join(str(2 * number + 1) for number in range(17))
    large = f"x in ({odd}) and y in ({odd})"
    found = answers(large, large, "x = 1 and y = 1")
    assert [each.method for each in found] == ["limit", "equal", "empty"]
    assert not found[2].certain  # it is covered, but by one without boxes
    assert answers(pattern, "x = 1")[1].certain  # a pattern does nothing that a filter does


def excepted(count: int) -> str:
    """A filter with exceptions, which have twice as many boxes with every one more."""
    return "x > 0 and " + " and ".join(f"not (x = {number} and y = {number})" for number in range(1, count + 1))


def test_filters_with_vetoes_cover_nothing_but_their_like() -> None:
    found = answers(excepted(20), excepted(20), "x = 5 and y = 5", "x = 5 and y = 6", "x > 0")
    assert [(each.covered, each.by, each.method) for each in found] == [
        (False, (), "limit"),
        (True, ("s0",), "equal"),
        (False, (), "empty"),
        (False, (), "empty"),  # it is covered, but no box says so
        (False, (), "empty"),
    ]
    assert not any(each.certain for each in found[2:])
    few = answers(excepted(5), "x = 5 and y = 5", "x = 5 and y = 6")  # as many boxes as may be
    assert [each.covered for each in few] == [False, False, True]


def test_filters_that_never_match_are_covered_by_nobody() -> None:
    assert answers("x > 3 and x < 2")[0] == CoverAnswer("s0", True, (), "never", True)


def test_cancelling_promotes_in_the_order_of_arrival() -> None:
    found = CoveringSet(PLANE)
    for id_, text in {
        "wide": "x >= 0",
        "second": "x >= 10",
        "third": "x >= 20",
        "other": "y = 1",
        "fourth": "x = 5",
    }.items():
        found.add(id_, text)
    assert found.active == ("wide", "other")
    assert found.covers("wide") == ("second", "third", "fourth")
    assert found.remove("third") == ()
    found.add("third", "x >= 20")
    assert found.remove("wide") == ("second", "fourth")
    assert found.covered["third"].by == ("second",)
    assert found.remove("fourth") == ()
    assert len(found) == 3
    assert "wide" not in found
    assert list(found) == ["second", "other", "third"]


def test_cancelling_what_has_no_boxes() -> None:
    found = CoveringSet(PLANE)
    found.add("a", OpaqueSubscription("what only its like covers"))
    found.add("b", OpaqueSubscription("what only its like covers"))
    assert found.covered["b"].by == ("a",)
    assert found.remove("a") == ("b",)
    assert found.remove("b") == ()
    assert len(found) == 0


def test_texts_that_come_between_others_move_them() -> None:
    """So many between the same two that their labels are numbered anew, several times."""
    found = CoveringSet({"s": "string"})
    found.add("all", "s >= 'a' and s < 'b'")
    found.add("low", "s >= 'b' and s < 'c'")
    for number in range(200):
        text = "bb" + "a" * number
        assert found.add(f"e{number}", f"s = '{text}'").by == ("low",)
    assert found.add("next", "s >= 'c' and s < 'd'").covered is False
    assert set(found.add("both", "s > 'bz' and s < 'cz'").by) == {"low", "next"}
    assert len(found.remove("low")) == 201


def test_ids_and_texts_that_make_no_sense() -> None:
    found = CoveringSet(PLANE)
    found.add("a", "x = 1")
    with pytest.raises(InputError, match="is taken"):
        found.add("a", "x = 2")
    with pytest.raises(UnknownSubscription, match="no subscription 'b'"):
        found.remove("b")
    for text in ("x <", "z = 1", "[x = 1] ; [z = 1]"):
        with pytest.raises(FilterError):
            found.add("c", text)
    with pytest.raises(InputError, match="must be a text, not 5"):
        found.add("c", 5)  # type: ignore[arg-type]
    assert list(found) == ["a"]


def test_settings_that_make_no_sense() -> None:
    wrong: dict[str, Any]
    for wrong, says in (
        ({"method": "foo"}, "the methods are auto, pairwise, sampling, exact"),
        ({"error": 0}, "between 0 and 1"),
        ({"error": 1}, "between 0 and 1"),
        ({"budget": 0}, "at least one step"),
    ):
        with pytest.raises(InputError, match=says):
            CoveringSet(PLANE, **wrong)
