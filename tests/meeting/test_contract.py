"""One suite for every engine: who meets whom, on thousands of random constraints and on cases with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from pyspark.sql import SparkSession

from tests.meeting.engines import (
    IN_PROCESS,
    RELATIONAL,
    Engine,
    in_a_spark_stream,
    in_the_service,
    on_spark,
    on_the_command_line,
    relational,
)
from tests.meeting.generate import Case, case, together
from tests.meeting.named import CASES, SCHEMA, NamedCase
from tests.meeting.oracle import meet
from tests.seeds import some
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.spark.meeting.meet import Strategy

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
BLOCK = 10  # random cases of a test


def check(engine: Engine, given: Case, direction: Direction) -> None:
    """The engine says what the oracle says; a failure shows two texts."""
    found = engine(given.publications, given.subscriptions, given.schema, direction)
    wanted = given.expected(direction)
    for one, other in sorted(found ^ wanted)[:1]:
        said = "meet" if (one, other) in found else "do not meet"
        texts = f"{given.publications[one]!r}\nand {given.subscriptions[other]!r}"
        pytest.fail(f"{len(found ^ wanted)} pairs differ, direction {direction}; it says that these {said}:\n{texts}")


def check_named(engine: Engine, cases: Sequence[NamedCase], direction: Direction) -> None:
    """All of them at once, so that publications meet subscriptions of other cases as well."""
    publications = {each.name: each.publication for each in cases}
    subscriptions = {each.name: each.subscription for each in cases}
    found = engine(publications, subscriptions, SCHEMA, direction)
    wrong = [each.name for each in cases if ((each.name, each.name) in found) is not (direction in each.meet_in)]
    assert not wrong, direction


@pytest.mark.parametrize("block", some(5, usual=2))
@pytest.mark.parametrize("engine", IN_PROCESS)
def test_random_constraints_meet_as_trying_values_says(engine: str, block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        for direction in DIRECTIONS:
            check(IN_PROCESS[engine], case(seed), direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_command_line_finds_the_same(direction: Direction) -> None:
    check(on_the_command_line, together(8000, 8004), direction)
    check_named(on_the_command_line, CASES, direction)


def test_the_service_finds_the_same() -> None:
    check(in_the_service, together(8000, 8002), "publication")


@pytest.mark.parametrize("seed", some(5003, 5000))
@pytest.mark.parametrize("engine", ["local", "standing"])
def test_sides_that_are_long_enough_for_an_index_to_matter(engine: str, seed: int) -> None:
    for direction in DIRECTIONS:
        check(IN_PROCESS[engine], case(seed, count=150), direction)


@pytest.mark.parametrize("seed", some(5, usual=2))
def test_the_queries_of_the_paper_find_the_same(seed: int) -> None:
    """Fewer cases, each with more: what takes long is that the queries are so many."""
    for direction in DIRECTIONS:
        check(relational, case(seed, count=50, kinds=RELATIONAL), direction)


@pytest.mark.long
@pytest.mark.parametrize(  # tests/cli/test_meet.py has Spark meet in every direction, too
    "direction", [pytest.param(each, marks=[pytest.mark.thorough] * (each != DIRECTIONS[0])) for each in DIRECTIONS]
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_spark_finds_the_same(strategy: Strategy, direction: Direction, spark: SparkSession) -> None:
    """Few jobs, each with many constraints: of all types together, and those of the named cases."""
    engine = on_spark(spark, strategy)
    check(engine, together(8000, 8012), direction)
    check_named(engine, CASES, direction)


def test_a_stream_of_spark_finds_the_same(spark: SparkSession) -> None:
    check(in_a_spark_stream(spark), together(8000, 8004), "publication")


def test_the_random_cases_have_many_that_meet_and_many_that_do_not() -> None:
    cases = [case(seed) for seed in range(BLOCK)]
    total = sum(len(each.publications) * len(each.subscriptions) for each in cases)
    for direction in DIRECTIONS:
        assert 0.1 < sum(len(each.expected(direction)) for each in cases) / total < 0.9, direction


@pytest.mark.parametrize("engine", IN_PROCESS)
def test_named_cases(engine: str) -> None:
    for direction in DIRECTIONS:
        check_named(IN_PROCESS[engine], CASES, direction)


def test_named_cases_by_the_queries_of_the_paper() -> None:
    for direction in DIRECTIONS:
        check_named(relational, [each for each in CASES if each.relational], direction)


@pytest.mark.parametrize("named", CASES, ids=lambda each: each.name)
def test_the_oracle_knows_the_named_cases(named: NamedCase) -> None:
    for direction in DIRECTIONS:
        found = meet(named.publication, named.subscription, SCHEMA, direction)
        assert found is (direction in named.meet_in), direction


@pytest.mark.parametrize("engine", [*IN_PROCESS.values(), relational], ids=[*IN_PROCESS, "relations"])
def test_nobody_meets_nobody(engine: Engine) -> None:
    schema = case(0).schema
    assert engine({}, {}, schema, "publication") == set()
    assert engine({"p": "i = 1"}, {}, schema, "open") == set()
    assert engine({}, {"s": "i = 1"}, schema, "subscription") == set()
