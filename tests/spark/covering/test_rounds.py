"""Rounds of workers give the answers of a covering set that takes one subscription after the other."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.covering.test_cover_set import PLANE, random_text
from tests.covering.test_matcher import TEXTS
from tests.language.random_filters import SCHEMA
from vedette.covering.box_decision import DecisionMethod
from vedette.covering.cover_judge import CoverSettings
from vedette.covering.cover_set import CoverAnswer, CoveringSet, CoverInput, OpaqueSubscription
from vedette.errors import FilterError, NotSupported
from vedette.filters.subscription_set import schema_of
from vedette.schema.schema import Schema
from vedette.spark.covering.box_reading import reading
from vedette.spark.covering.cover_rounds import CoverRounds, RoundSizes
from vedette.spark.covering.judge_task import SCHEMA as VERDICTS
from vedette.spark.covering.judge_task import JudgeTask, judging

METHODS: tuple[DecisionMethod, ...] = ("auto", "pairwise", "exact", "sampling")


class Here:
    """Workers of this process, which get what travels and hand back what travels."""

    def __init__(self, parts: int, batch: int) -> None:
        self.parts = parts
        self._batch = batch
        self.blocks: list[int] = []

    def read(self, texts: Sequence[str | None], schema: Schema) -> Any:
        table = pa.table({"number": pa.array(range(len(texts)), pa.int64()), "when": pa.array(texts, pa.string())})
        return pa.Table.from_batches(reading(schema)(iter(table.to_batches(self._batch)))).sort_by("number")

    def judge(self, task: JudgeTask) -> Any:
        self.blocks.append(len(task.block))
        parts = pa.record_batch({"id": pa.array(range(self.parts), pa.int64())})
        sent = pickle.loads(pickle.dumps(task))  # noqa: S301
        return pa.Table.from_batches(judging(sent)(iter([parts])), VERDICTS)


def both(
    said: Sequence[CoverInput],
    schema: Schema,
    settings: CoverSettings,
    sizes: RoundSizes,
    *,
    parts: int = 3,
    batch: int = 50,
) -> tuple[list[CoverAnswer], list[Any], CoverRounds]:
    """The answers of one after the other, and of rounds; with witnesses, which show every difference."""
    method, error, budget = settings.method, settings.error, settings.budget
    ids = [f"s{number}" for number in range(len(said))]
    plain = CoveringSet(schema, method=method, error=error, budget=budget, witnesses=True)
    wanted = [plain.add(id_, each) for id_, each in zip(ids, said, strict=True)]
    found = CoveringSet(schema, method=method, error=error, budget=budget, witnesses=True)
    rounds = CoverRounds(Here(parts, batch), found, schema, settings, sizes)
    answers = list(rounds.answers(ids, said))
    assert found.active == plain.active
    assert dict(found.covered) == dict(plain.covered)
    return wanted, answers, rounds


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_boxes_of_a_plane(method: Any, seed: int) -> None:
    random = Random(seed)
    said = [random_text(random) for _ in range(120)]
    sizes = RoundSizes(random.choice([0, 1, 20]), random.choice([1, 7, 30]), random.choice([30, 200]))
    wanted, found, _ = both(said, PLANE, CoverSettings(method), sizes, parts=random.choice([1, 4]))
    assert found == wanted


def test_boxes_of_integers_that_no_float_is() -> None:
    random = Random(0)
    said = [re.sub(r"[0-9]+", lambda found: str(2**53 + int(found[0])), random_text(random)) for _ in range(120)]
    floats = Schema.of({"x": "float", "y": "float"})
    wanted, found, _ = both(said, floats, CoverSettings(), RoundSizes(1, 30, 200), parts=4)
    assert found == wanted
    assert 10 < sum(answer.covered for answer in wanted) < 120


WIDE = Schema.of(dict.fromkeys("abcdef", "int") | {"s": "string", "t": "string", "m": "string"})


def mixed_text(random: Random, spread: int) -> str:
    """Some of six numbers, of texts that many ask for and texts that one asks for, and of tests without an order."""
    parts = []
    for name in random.sample("abcdef", random.randrange(1, 4)):
        low = random.randrange(spread)
        width = random.randrange(1, spread)
        parts.append(
            random.choice([f"{name} between {low} and {low + width}", f"{name} < {width}", f"{name} >= {low}"])
        )
    kind = random.random()
    if kind < 0.3:
        parts.append(f"s = 'k{random.randrange(6)}'")
    elif kind < 0.5:
        parts.append(f"s between 'k{random.randrange(spread)}' and 'l{random.randrange(spread)}'")
    elif kind < 0.6:
        parts.append(f"t < 'u{random.randrange(10**9)}'")
    if random.random() < 0.15:
        negated = random.choice(["", "not "])
        parts.append(f"{negated}(m contains 'x{random.randrange(4)}' or m contains 'y{random.randrange(40)}')")
    elif random.random() < 0.15:
        parts.append(
            random.choice([f"m contains 'x{random.randrange(9)}'", f"not m contains 'x{random.randrange(9)}'"])
        )
    if random.random() < 0.03:
        parts.append(random.choice(["s is null", "m = 'abc'", "a < b", "t is not null"]))
    return " and ".join(parts)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("count", "spread"), [(1, 10), (300, 6), (1500, 60)])
def test_texts_tests_and_numbers_together(method: Any, count: int, spread: int) -> None:
    random = Random(count)
    said = [mixed_text(random, spread) for _ in range(count)]
    wanted, found, rounds = both(said, WIDE, CoverSettings(method, budget=500), RoundSizes(30, 16, 128))
    assert found == wanted
    if count > 1000:
        assert len({answer.method for answer in found}) > 2 or method == "pairwise"
        assert 0 < rounds.judged_again < count / 2


def test_numbers_of_texts_that_move() -> None:
    """Texts that halve one gap again and again use it up, in the middle of blocks, and at their beginning."""
    between = ["b" * number + "c" for number in range(1, 200)]
    said = [f"s between 'a' and '{end}' and a < {number % 7}" for number, end in enumerate(between)]
    said += [f"s between '{end}' and 'd' and a < {number % 5}" for number, end in enumerate(reversed(between))]
    for method in METHODS:
        for size in (1, 10, 64):
            wanted, found, _ = both(said, WIDE, CoverSettings(method), RoundSizes(5, size, size))
            assert found == wanted


def test_what_has_no_boxes_is_told_in_its_turn() -> None:
    many = " and ".join(f"{name} not in (1, 3, 5, 7, 9)" for name in "abcdef")
    lowest = f"a > {-(2**63)} and s = 'only here' and b between 1 and 2"
    opaque = OpaqueSubscription("fraud(a)")
    pattern = "[a = 1] ; [b = 2] within 5 min"
    said: list[CoverInput] = []
    for turn in range(30):
        said += [f"a between {turn} and 90", opaque, f"b < {turn}", many, lowest, f"m contains 'x{turn % 3}'", pattern]
    wanted, found, _ = both(said, WIDE, CoverSettings(), RoundSizes(3, 8, 32))
    assert found == wanted
    assert {"opaque", "limit", "equal"} <= {answer.method for answer in found}


def test_texts_that_make_no_sense_are_told_and_the_rest_goes_on() -> None:
    said = ["a < 1", "a <", "a < 0", "unknown_function(a) <", "b = 1", "b = 'x'", "b = 1 and a = 2"]
    found = CoveringSet(WIDE)
    rounds = CoverRounds(Here(2, 3), found, WIDE, CoverSettings(), RoundSizes(1, 2, 2))
    answers = list(rounds.answers([f"s{number}" for number in range(len(said))], said))
    assert [type(answer) is CoverAnswer for answer in answers] == [True, False, True, False, True, False, True]
    assert all(isinstance(answer, CoverAnswer | FilterError | NotSupported) for answer in answers)
    assert found.active == ("s0", "s4")


@given(st.lists(TEXTS, min_size=2, max_size=25), st.sampled_from(METHODS), st.integers(0, 2), st.integers(1, 9))
def test_any_filters(said: list[str], method: Any, first: int, size: int) -> None:
    wanted, found, _ = both(said, SCHEMA, CoverSettings(method), RoundSizes(first, size, size), batch=size + 1)
    assert found == wanted


def test_one_that_was_taken_up_with_its_boxes_can_go() -> None:
    random = Random(5)
    said = [mixed_text(random, 6) for _ in range(200)]
    ids = [f"s{number}" for number in range(len(said))]
    plain, found = CoveringSet(WIDE), CoveringSet(WIDE)
    for id_, each in zip(ids, said, strict=True):
        plain.add(id_, each)
    list(CoverRounds(Here(2, 64), found, WIDE, CoverSettings(), RoundSizes(10, 20, 40)).answers(ids, said))
    random.shuffle(ids)
    for id_ in ids:
        assert found.remove(id_) == plain.remove(id_)


@pytest.mark.parametrize("size", [7, 64, 200])
def test_attributes_that_come_to_depend_on_others_in_the_middle(size: int) -> None:
    """From then on an event with a witness's values need not exist, and before that it does."""
    random = Random(size)
    said = [f"a > {random.randrange(90)} and b < {random.randrange(90)}" for _ in range(150)]
    said[40:40] = ["a = 'text'", "c.d = 1"]
    said[90:90] = ["c = 1", "b contains 'x'"]
    wanted, found, _ = both(said, schema_of(None), CoverSettings(), RoundSizes(5, size, size))
    assert found == wanted
    assert {answer.certain for answer in found} == {True, False}
