"""Compile the kernels that nearly every test needs once, so that the processes of a test run do not each do it.

`make test` runs it beside the linters; without it everything is slower and otherwise the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import vedette as vd


@vd.operator
def small(event: Mapping[str, Any]) -> bool:
    """An operator."""
    return bool(event["x"] < 3)


@vd.operator
def even(event: Mapping[str, Any]) -> bool:
    """Another one."""
    return event["x"] % 2 == 0


def compile_all() -> None:
    """Match a few filters, with operators too, and patterns in every way that tests do."""
    subscriptions = vd.Subscriptions({"x": "int", "name": "string", "time": "timestamp"})
    filters = ("x between 1 and 5", "name = 'a'", "name like 'a%b' or name contains 'cd'", "x in (1, 2) and x != 3")
    exceptions = " and ".join(f"not (x = {number} and name = 'a')" for number in range(9))
    for number, text in enumerate((*filters, f"x > 0 and {exceptions}")):
        subscriptions.add(f"f{number}", text)
    events = [{"x": number % 7, "name": "abcd"[: number % 5], "time": number} for number in range(200)]
    for index in ("clusters", "tree", "scan"):
        matcher = subscriptions.compile(index)
        matcher.match(events[0])
        matcher.match_batch(pa.Table.from_pylist(events, pa.schema({"x": pa.int64(), "name": pa.string()})))
    subscriptions.live().match(events[0])
    for planner in ("sequential", "suborder", "adaptive"):
        calling = vd.Subscriptions({"x": "int"})
        calling.add("o", "x > 1 and (small() or even()) and not small()")
        vd.OperatorMatcher(calling, vd.Operators(small, even), planner=planner).matches(events)
    subscriptions.add("p", "[x = 1] ; [x = $n] , [x != $n] within 9 s", predict={"within": 3, "threshold": 0.5})
    stream = vd.StreamMatcher(subscriptions)
    stream.process(events)
    vd.StreamMatcher.from_bytes(stream.to_bytes(), subscriptions).process(events[:1])
    wanted = {"s": "x > 1 and name = 'a'", "t": "x != 3 or name is null"}
    for direction in ("publication", "subscription", "open"):
        vd.meet({"p": "x between 1 and 3", "q": "x = 2"}, wanted, direction=direction)


if __name__ == "__main__":
    compile_all()
