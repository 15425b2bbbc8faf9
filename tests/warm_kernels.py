"""Compile the kernels that tests need once, so that the processes of a test run do not each do it.

`make test` runs both halves at a time, beside the linters; without them everything is slower and otherwise the same.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

import vedette as vd
from vedette.covering.box_decision import DecisionMethod, decide
from vedette.filters.index import DEFAULT, names
from vedette.filters.matcher import Matcher
from vedette.meeting.direction import DIRECTIONS
from vedette.spark.warm_up import warm_up

EVENTS = [
    {"x": number % 7, "name": "abcd"[: number % 5], "time": number, "tags": ["a", "b"][: number % 3], "k": number % 2}
    for number in range(200)
]
TABLE = pa.Table.from_pylist(
    EVENTS, pa.schema({"x": pa.int64(), "name": pa.string(), "tags": pa.list_(pa.string()), "k": pa.int64()})
)
NUMBERS = ("x between 1 and 5", "x in (1, 2) and x != 3", "k = 1 and x > 2", "x is null or k < 5")
TEXTS = (
    "name = 'a'",
    "name like 'a%b' or name contains 'cd' or name startswith 'ab'",
    "name ilike 'a' or name ilike '%b_d'",
    "any(tags) = 'a' or all(tags) in ('b', 'c')",
    "tags contains 'b' and name < 'b'",
)
METHODS: tuple[DecisionMethod, ...] = get_args(DecisionMethod)


@vd.operator
def small(event: Mapping[str, Any]) -> bool:
    """An operator."""
    return bool(event["x"] < 3)


@vd.operator
def even(event: Mapping[str, Any]) -> bool:
    """Another one."""
    return bool(event["x"] % 2 == 0)


def subscribed(*filters: str) -> vd.Subscriptions:
    """Subscriptions to the events above."""
    made = vd.Subscriptions({"x": "int", "name": "string", "time": "timestamp", "tags": "list of string", "k": "int"})
    for number, text in enumerate(filters):
        made.add(f"f{number}", text)
    return made


def matched(subscriptions: vd.Subscriptions, index: str) -> None:
    """One event and many, as it is and from a snapshot, as Spark's workers do it too."""
    matcher = subscriptions.compile(index)
    with tempfile.TemporaryDirectory() as folder:
        matcher.save(Path(folder) / "saved")
        for each in (matcher, Matcher.open(Path(folder) / "saved")):
            each.match(EVENTS[0])
            each.match_batch(TABLE)
            warm_up(each if isinstance(each, Matcher) else each.filters)


def texts() -> None:
    """All that texts and lists need, by the indexes that are not the default; what meets and what covers."""
    for index in names():
        if index != DEFAULT:
            matched(subscribed(*NUMBERS, *TEXTS), index)
    wanted = {"s": "x > 1 and name = 'a'", "t": "x != 3 or name is null", "u": "any(tags) = 'a'"}
    for direction in DIRECTIONS:
        vd.meet({"p": "x between 1 and 3", "q": "x = 2", "r": "any(tags) in ('a', 'b')"}, wanted, direction=direction)
    low, high = np.array([[0, 0], [5, 0], [0, 5], [4, 4]]), np.array([[6, 6], [10, 6], [6, 10], [10, 10]])
    for method in METHODS:
        decide(np.array([1, 1]), np.array([9, 9]), low, high, method=method)


def numbers() -> None:
    """The default index, and all that is matched with it: live, covering, patterns and operators."""
    subscriptions = subscribed(*NUMBERS)
    matched(subscriptions, DEFAULT)
    with subscriptions.live() as live:
        live.match(EVENTS[0])
        live.match_batch(TABLE)
    patterns()
    operators()
    several = subscribed(*NUMBERS, *(f"x between 1 and {number}" for number in range(2, 9)), "x > 0", "x < 4")
    with several.live(covering="auto") as live:
        live.add("new", "x between 2 and 3")
        live.match(EVENTS[0])
        live.match_batch(TABLE)


def patterns() -> None:
    """With variables, partitions, absent steps and forecasts, and after a restart."""
    subscriptions = subscribed(NUMBERS[0])
    subscriptions.add("p", "[x = 1] ; [x = $n] , [x != $n] within 9 s", predict={"within": 3, "threshold": 0.5})
    subscriptions.add("q", "[x = $n and k = $m] ; not [x = 5] ; [x > $n and k >= $m] by k within 9 s")
    stream = vd.StreamMatcher(subscriptions)
    stream.process(EVENTS)
    vd.StreamMatcher.from_bytes(stream.to_bytes(), subscriptions).process(EVENTS[:1])


def operators() -> None:
    """By every planner."""
    for planner in ("sequential", "suborder", "adaptive"):
        calling = vd.Subscriptions({"x": "int"})
        calling.add("o", "x > 1 and (small() or even()) and not small()")
        calling.compile(operators=vd.Operators(small, even), planner=planner).match_batch(EVENTS)


HALVES: Mapping[str, Callable[[], None]] = {"numbers": numbers, "texts": texts}


def compile_all() -> None:
    """Both halves."""
    for half in HALVES.values():
        half()


if __name__ == "__main__":
    for name in sys.argv[1:] or HALVES:
        HALVES[name]()
