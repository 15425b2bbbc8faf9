"""How the kernels get compiled before many workers need them: by one process, into the cache that all of them read."""

from __future__ import annotations

from typing import Any

import numpy as np

from vedette.kernels.labels import Labels, joined, padded
from vedette.matching.matcher import Matcher
from vedette.schema.encode import Reject
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
    """Match an event that has a value for every attribute that is asked for, and one that has none.

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


def _put(event: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = event.setdefault(name, {})
        if not isinstance(inner, dict):  # an attribute of a list's elements, or of an attribute that has a value
            return
        event = inner
    event.setdefault(path[-1], value)
