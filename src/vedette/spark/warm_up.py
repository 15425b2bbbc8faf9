"""Compiles the kernels before many workers need them: by one process, into the cache that all of them read."""

from __future__ import annotations

from typing import Any

import numpy as np

from vedette.filters.kernels.labels import Labels, joined, padded
from vedette.filters.matcher import Matcher
from vedette.filters.subscription_records import OperatorRecord
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

_VALUES: dict[Kind, Any] = {
    Kind.INT: 1,
    Kind.FLOAT: 0.5,
    Kind.STRING: "a",
    Kind.BOOL: True,
    Kind.TIMESTAMP: "2000-01-01T00:00:00Z",
    Kind.DATE: "2000-01-01",
    Kind.IP: "127.0.0.1",
}  # places need no kernels


def warm_up(matcher: Matcher) -> None:
    """Match an event with a value for every attribute of the subscriptions, and an empty one.

    Where all machine code is on disk already, this takes the time of reading it: less than half a second.
    """
    event: dict[str, Any] = {}
    for column in matcher.segment.codebook.columns:
        value = _VALUES.get(column.type.kind)
        for path in column.paths:
            _put(event, path.split("."), [value] if column.type.is_list else value)
    rejects: list[Reject] = []  # an attribute may be asked for as two types, of which only one has its value here
    rows = matcher.match_rows([event, {}], ordered=True, rejects=rejects)
    nothing = Labels(np.zeros(len(matcher) + 1, np.int64), np.zeros(0, np.uint8))
    for array in nothing:
        array.flags.writeable = False  # as those that are mapped
    list(joined(rows, nothing, ord(","), 1 << 10))
    list(padded(rows, nothing, 1, 1 << 10))


_warm: list[bool] = []


def warm_up_operators() -> None:
    """Plan and call test operators once; quick where the machine code is on disk already."""
    if _warm:
        return
    from vedette.operators.calling import Calling  # a worker that calls nothing needs none of this
    from vedette.operators.operator import operator
    from vedette.operators.registry import Operators

    texts = ("n > 0 and vedetteWarm(?x) and ?x > 0", "n > 0 and (vedetteWarm(1) or vedetteWarm(2))")
    records = [OperatorRecord(str(number), text) for number, text in enumerate(texts)]
    one = operator("vedetteWarm", outputs=1, reads=("n",), time_limit=None)(lambda event: [1])
    with Calling(Operators(one)) as calling:
        calling.of_records(records, Schema.of({"n": "int"})).match_batch([{"n": 1}, {"n": 2}])
    _warm.append(True)


def _put(event: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = event.setdefault(name, {})
        if not isinstance(inner, dict):  # an attribute of a list's elements, or of an attribute that has a value
            return
        event = inner
    event.setdefault(path[-1], value)
