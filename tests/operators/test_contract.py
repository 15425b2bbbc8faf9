"""One suite for every planner: the matcher of operators against the oracle, on thousands of random cases."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.operators.generate import SCHEMA, Calls, Made, Writer, events, for_engine, for_oracle, operators, table
from tests.operators.oracle import Oracle
from tests.seeds import some
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError
from vedette.filters.index import names
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import operator
from vedette.operators.operator_plan import PLANNERS
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels
PLAIN = ("n = 1 and s = 'x'", "m is null or f > 1")  # filters without operators may be among the others


class Told(NamedTuple):
    """A match: the number of the event, that of the subscription, and the values of variables."""

    event: int
    subscription: int
    bindings: dict[str, Any]


class Case:
    """Some operators, some filters that call them, and some events."""

    def __init__(self, seed: int, filters: int = 24, count: int = 12, schema: Schema = SCHEMA) -> None:
        self.random, self.schema = Random(seed), schema
        self.made: list[Made] = operators(self.random, self.random.choice([3, 5, 8]))
        writer = Writer(self.random, self.made, schema)
        self.texts = [*(writer.filter() for _ in range(filters)), *PLAIN]
        self.random.shuffle(self.texts)
        self.events = events(self.random, count)
        self.oracles = [Oracle(text, for_oracle(self.made), schema) for text in self.texts]
        self.calls: Calls = Counter()

    def matcher(self, planner: str, **options: Any) -> OperatorMatcher:
        subscriptions = Subscriptions(self.schema)
        for number, text in enumerate(self.texts):
            subscriptions.add(str(number), text)
        made = for_engine(Random(len(self.texts[0])), self.made, self.calls)
        return OperatorMatcher(subscriptions, Operators(*made), planner=planner, **options)

    def expected(self) -> list[tuple[int, int]]:
        return [
            (event, subscription)
            for event, values in enumerate(self.events)
            for subscription, oracle in enumerate(self.oracles)
            if oracle.matches(values)
        ]

    def check(self, found: list[Told]) -> None:
        """What is found is what the oracle finds, once, for values that it accepts."""
        assert sorted((one.event, one.subscription) for one in found) == self.expected()
        for one in found:
            oracle = self.oracles[one.subscription]
            assert oracle.accepts(self.events[one.event], one.bindings), (oracle.text, one)

    def check_calls(self) -> None:
        """No evaluation was made twice for an event, and none that nobody asks for."""
        allowed: Calls = Counter()
        for number, values in enumerate(self.events):
            asked = {each[:2]: each for oracle in self.oracles for each in oracle.evaluations(values)}
            allowed.update((name, repr(inputs), number) for name, _, inputs in asked.values())
        assert self.calls <= allowed, self.calls - allowed


def told(matcher: OperatorMatcher, batch: Any, first: int = 0) -> list[Told]:
    found = matcher.matches(batch)
    pairs = zip(found.event.tolist(), found.subscription.tolist(), found.bindings, strict=True)
    return [Told(first + event, subscription, dict(bindings or {})) for event, subscription, bindings in pairs]


@pytest.mark.parametrize("seed", some(40))
def test_what_matches_by_which_values_with_which_calls_is_the_same_for_all_planners(seed: int) -> None:
    case = Case(seed)
    first: list[Told] | None = None
    for planner in PLANNERS:
        case.calls.clear()
        found = told(case.matcher(planner), case.events)
        case.check_calls()
        if first is None:
            case.check(found)
            first = found
        assert found == first, planner


@pytest.mark.parametrize("seed", some(2006, 2000))
@pytest.mark.parametrize("planner", PLANNERS)
def test_batches_of_any_size_tables_and_single_events(planner: str, seed: int) -> None:
    case = Case(seed, count=20)
    whole = told(case.matcher(planner), case.events)
    case.check(whole)
    assert told(case.matcher(planner), table(case.events)) == whole
    matcher, found, first = case.matcher(planner), [], 0
    while first < len(case.events):
        size = case.random.choice([0, 1, 2, 5])
        found += told(matcher, case.events[first : first + size], first)
        first += size
    assert found == whole
    for number, event in enumerate(case.events):
        assert matcher.match(event) == [str(one.subscription) for one in whole if one.event == number]


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_batch_that_is_too_large_for_one_block(planner: str) -> None:
    case = Case(2100, filters=5, count=4200)
    whole = told(case.matcher(planner), case.events)
    matcher = case.matcher(planner)
    pieces = [told(matcher, case.events[first : first + 600], first) for first in range(0, 4200, 600)]
    assert whole == [one for piece in pieces for one in piece]
    for number in range(0, 4200, 100):
        expected = [place for place, oracle in enumerate(case.oracles) if oracle.matches(case.events[number])]
        assert [one.subscription for one in whole if one.event == number] == expected


@pytest.mark.parametrize("seed", some(2210, 2200))
@pytest.mark.parametrize("planner", PLANNERS)
def test_without_a_schema(planner: str, seed: int) -> None:
    case = Case(seed, schema=Subscriptions().schema)
    found = told(case.matcher(planner), case.events)
    case.check(found)
    assert told(case.matcher(planner), table(case.events)) == found


@pytest.mark.parametrize("seed", some(3006, 3000))
@pytest.mark.parametrize("planner", PLANNERS)
def test_what_was_learned_changes_no_answer(planner: str, seed: int) -> None:
    case = Case(seed)
    taught = case.matcher(planner)
    untaught = told(taught, case.events)
    case.check(untaught)
    for _ in range(3):
        assert told(taught, case.events) == untaught
    assert len(taught.statistics) > 0
    case.calls.clear()
    assert told(case.matcher(planner, statistics=taught.statistics), case.events) == untaught
    case.check_calls()
    assert told(case.matcher(planner, learn=False), case.events) == untaught


@pytest.mark.parametrize("seed", some(4004, 4000))
@pytest.mark.parametrize("index", names())
def test_any_index_may_stand_before_them(index: str, seed: int) -> None:
    case = Case(seed)
    case.check(told(case.matcher("adaptive", index=index), case.events))


@pytest.mark.parametrize("seed", some(5010, 5000))
def test_variables_that_nothing_binds_are_refused(seed: int) -> None:
    case = Case(seed, filters=1)
    while not any(each.outputs for each in case.made):
        case.made = operators(case.random, 8)
    case.texts = [Writer(case.random, case.made).filter(safe=False)]
    with pytest.raises(FilterError, match=r"nothing binds \?"):
        case.matcher("adaptive")


@pytest.mark.parametrize("planner", PLANNERS)
def test_null_is_a_value_that_joins_nothing(planner: str) -> None:
    subscriptions = Subscriptions()
    texts = [
        "p(?x) and ?x is null",
        "p(?x) and q(?y) and ?x is null",
        "p(?x) and q(?x) and ?x is null",
        "p(?x) and q(?x)",
    ]
    for number, text in enumerate([*texts, "p(?x) and not q(?x)"]):
        subscriptions.add(str(number), text)
    finds = operator("p", outputs=1)(lambda event: [None, 1]), operator("q", outputs=1)(lambda event: [None, 1])
    found = told(OperatorMatcher(subscriptions, Operators(*finds), planner=planner), [{}])
    assert [(one.subscription, one.bindings) for one in found] == [
        (0, {"x": None}),
        (1, {"x": None, "y": None}),
        (3, {"x": 1}),
        (4, {"x": None}),  # nothing that q finds forbids it
    ]
