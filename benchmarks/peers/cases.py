"""What is measured: rules and events of a workload at a size, the same for everybody.

W1 - W4      benchmarks/workloads.py
expressions  and / or / not, nested, over 20 attributes that every event has; about 1 in 10,000 matches
routing      hypermatch's published workload, rebuilt from its description: six conditions on each rule, ten rules
             share a number, so that every event matches ten of them, whatever the number of rules
routing-plain  the same without the wildcard, which that description measures, too
sigma        detection rules of Sigma on recorded Windows events, texts in lower case on both sides
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import forms
from benchmarks.constants import Constraints, Op
from benchmarks.peers.rules import All, Either, Not, Rule, Test
from benchmarks.workloads import WORKLOADS, Workload

Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A workload at a size; rule number n is the n-th of `rules()`."""

    workload: str
    size: int
    kinds: Mapping[str, str]  # of attributes: int, float, string, strings
    always: str  # an attribute that every event has
    rules: Callable[[], Iterator[Any]] = field(repr=False)  # Rule, or sequences for engines that know them
    events: list[Event] = field(repr=False)
    sample: list[Event] = field(repr=False)  # others of the same kind, that a layout may be chosen by


def make(workload: str, size: int, events: int) -> Case:
    """The same case whenever it is asked for."""
    if workload in WORKLOADS:
        return _constrained(WORKLOADS[workload], size, events)
    if workload == "expressions":
        return _expressions(size, events)
    if workload in ("routing", "routing-plain"):
        return _routing(workload, size, events)
    if workload == "sigma":
        from benchmarks.peers.sigma_rules import case

        return case(size, events)
    raise KeyError(f"there is no workload {workload!r}")


# ---------------------------------------------------------------- W1 - W4


def _constrained(workload: Workload, size: int, events: int) -> Case:
    made = workload.events(events)
    kinds = forms.schema(made.attributes)
    always = next(
        (a.name for a, c in zip(made.attributes, made.columns, strict=True) if c.present.all()), made.attributes[0].name
    )
    return Case(
        workload.name,
        size,
        kinds,
        always,
        partial(_of_constraints, workload, size),
        forms.dicts(made),
        forms.dicts(workload.events(1024, seed=77)),
    )


def _of_constraints(workload: Workload, size: int) -> Iterator[Rule]:
    constraints = _subscriptions(workload.name, size)
    tests = zip(
        constraints.attribute.tolist(),
        constraints.op.tolist(),
        constraints.low.tolist(),
        constraints.high.tolist(),
        strict=True,
    )
    for begin, end in pairwise(constraints.start.tolist()):
        yield All(tuple(_test(constraints, *next(tests)) for _ in range(begin, end)))


@lru_cache(maxsize=1)
def _subscriptions(workload: str, size: int) -> Constraints:
    return WORKLOADS[workload].subscriptions(size)


def _test(constraints: Constraints, place: int, op: int, low: float, high: float) -> Test:
    attribute = constraints.attributes[place]
    if attribute.kind == "string":
        return Test(attribute.name, "=", attribute.vocabulary[int(low)])
    bounds = (int(low), int(high)) if attribute.kind == "int" else (low, high)
    match op:
        case Op.EQUAL:
            return Test(attribute.name, "=", bounds[0])
        case Op.BELOW:
            return Test(attribute.name, "<", bounds[1])
        case Op.ABOVE:
            return Test(attribute.name, ">", bounds[0])
        case _:
            return Test(attribute.name, "between", bounds)


# ---------------------------------------------------------------- and / or / not

_KEYS, _NUMBERS = [f"k{i}" for i in range(10)], [f"n{i}" for i in range(10)]
_KEY_VALUES, _NUMBER_VALUES = 100, 10_000


def _expressions(size: int, events: int) -> Case:
    kinds = {**dict.fromkeys(_KEYS, "string"), **dict.fromkeys(_NUMBERS, "int")}
    rules = partial(_nested_rules, size)
    return Case("expressions", size, kinds, "k0", rules, _flat_events(events, 2), _flat_events(1024, 77))


def _flat_events(count: int, seed: int) -> list[Event]:
    random = np.random.default_rng([seed, 11])
    keys = random.integers(0, _KEY_VALUES, (count, len(_KEYS))).tolist()
    numbers = random.integers(0, _NUMBER_VALUES, (count, len(_NUMBERS))).tolist()
    return [
        {
            **{name: f"v{value:02}" for name, value in zip(_KEYS, key, strict=True)},
            **dict(zip(_NUMBERS, number, strict=True)),
        }
        for key, number in zip(keys, numbers, strict=True)
    ]


def _nested_rules(size: int) -> Iterator[Rule]:
    """`(a or b) and (c or (d and e)) and not (f or g)`, in three shapes; a rule never tests an attribute twice."""
    random = np.random.default_rng([1, 11])
    for begin in range(0, size, 10_000):
        count = min(10_000, size - begin)
        keys = np.argsort(random.random((count, len(_KEYS))), axis=1)[:, :4].tolist()
        numbers = np.argsort(random.random((count, len(_NUMBERS))), axis=1)[:, :3].tolist()
        values = random.integers(0, _KEY_VALUES, (count, 7)).tolist()
        bounds = random.integers(0, _NUMBER_VALUES, (count, 3)).tolist()
        shapes = random.integers(0, 3, count).tolist()
        for k, n, v, b, shape in zip(keys, numbers, values, bounds, shapes, strict=True):
            yield _SHAPES[shape](_leaves(k, n, v, b))


def _leaves(keys: list[int], numbers: list[int], values: list[int], bounds: list[int]) -> list[Test]:
    word = [f"v{value:02}" for value in values]
    k, n = [_KEYS[i] for i in keys], [_NUMBERS[i] for i in numbers]
    return [
        Test(k[0], "=", word[0]),
        Test(k[1], "in", tuple(dict.fromkeys(word[1:4]))),
        Test(k[2], "=", word[4]),
        Test(k[3], "in", tuple(dict.fromkeys(word[5:7]))),
        Test(n[0], "between", (bounds[0], bounds[0] + 400)),
        Test(n[1], "<", bounds[1] // 4),
        Test(n[2], ">", bounds[2]),
    ]


_SHAPES: tuple[Callable[[list[Test]], Rule], ...] = (
    lambda t: All((t[0], Either((t[1], All((t[2], t[5])))), Not(Either((t[3], t[6]))))),
    lambda t: All((Either((t[0], t[2])), t[4], Not(All((t[1], t[6]))), Either((t[3], t[5])))),
    lambda t: Either((All((t[0], t[4], Not(t[1]))), All((t[2], t[5], t[3])))),
)


# ---------------------------------------------------------------- hypermatch's workload


def _routing(workload: str, size: int, events: int) -> Case:
    kinds = dict.fromkeys(("name", "env", "number", "region", "type"), "string") | {"tags": "strings"}
    rules = partial(_routing_rules, size, wildcard=workload == "routing")
    return Case(workload, size, kinds, "env", rules, _routed(size, events, 2), _routed(size, 1024, 77))


def _routing_rules(size: int, *, wildcard: bool) -> Iterator[Rule]:
    named: tuple[Test, ...] = (Test("name", "contains", "-myapp-"),) if wildcard else ()
    for number in range(size):
        yield All(
            (
                *named,
                Test("env", "=", "prod"),
                Test("number", "=", str(number // 10)),
                Test("tags", "has", "tag1"),
                Test("tags", "has", "tag2"),
                Test("region", "=", "moon", negated=True),
                Test("type", "in", ("app", "database")),
            )
        )


def _routed(size: int, events: int, seed: int) -> list[Event]:
    numbers = np.random.default_rng([seed, 12]).integers(0, max(1, size // 10), events).tolist()
    return [
        {
            "name": f"app-myapp-{number}",
            "env": "prod",
            "number": str(number),
            "tags": ["tag1", "tag2"],
            "region": "earth",
            "type": "app",
        }
        for number in numbers
    ]
