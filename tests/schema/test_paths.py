from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from vedette.errors import InputError, SchemaError
from vedette.operators.operator import operator
from vedette.schema.infer import infer
from vedette.schema.paths import PART_BYTES, PARTS, finder, lookup, over_limit
from vedette.schema.schema import Schema


@pytest.mark.parametrize(
    ("event", "path", "found"),
    [
        ({"a": 1}, "a", 1),
        ({"a": 1}, "b", None),
        ({"a": None}, "a", None),
        ({"a": {"b": {"c": 1}}}, "a.b.c", 1),
        ({"a.b.c": 2, "a": {"b": {"c": 1}}}, "a.b.c", 2),
        ({"a.b": None, "a": {"b": 1}}, "a.b", 1),
        ({"a": {"b.c": 3}}, "a.b.c", 3),
        ({"a": {"b.c": 3, "b": {"c": 4}}}, "a.b.c", 3),
        ({"a.b": {"c": 5}}, "a.b.c", None),
        ({"a": 1}, "a.b", None),
        ({"a": "text"}, "a.b", None),
        ({"a": None}, "a.b", None),
        ({"a": [{"b": 1}, {"b": 2}]}, "a.b", [1, 2]),
        ({"a": [{"b": 1}, {}, None]}, "a.b", [1, None, None]),
        ({"a": []}, "a.b", []),
        ({"a": [1, 2]}, "a.b", None),
        ({"a": [{"b": [1, 2]}, {"b": [3]}, {"b": []}]}, "a.b", [1, 2, 3]),
        ({"a": [[{"b": 1}], [{"b": 2}, None]]}, "a.b", [1, 2, None]),
        ({"a": [[1]]}, "a.b", None),
        ({"a": {"b": [{"c": 1}, {"c": 2}]}}, "a.b.c", [1, 2]),
        ({"a": MappingProxyType({"b": 1})}, "a.b", 1),
        ({"a": ({"b": 1},)}, "a.b", [1]),
    ],
)
def test_lookup(event: dict[str, Any], path: str, found: Any) -> None:
    assert lookup(event, path) == found


def test_pairs_below_a_list_stay_pairs_where_asked() -> None:
    event = {"stops": [{"at": [1.0, 2.0]}, {"at": [3.0, 4.0]}]}
    assert finder("stops.at")(event) == [1.0, 2.0, 3.0, 4.0]
    assert finder("stops.at", flat=False)(event) == [[1.0, 2.0], [3.0, 4.0]]


TOO_DEEP, TOO_LONG = ".".join("a" * (PARTS + 1)), "b." + "é" * (PART_BYTES // 2 + 1)


@pytest.mark.parametrize(("path", "limit"), [(TOO_DEEP, PARTS), (TOO_LONG, PART_BYTES), (".".join("a" * 987), PARTS)])
def test_names_over_a_limit_are_refused_wherever_they_are_read(path: str, limit: int) -> None:
    nested: Any = "int"
    for part in reversed(path.split(".")):
        nested = {part: nested}
    with pytest.raises(SchemaError, match=f"at most {limit}\nHint: "):
        finder(path)
    with pytest.raises(SchemaError, match=f"at most {limit}\nHint: "):
        Schema.of({path: "int"})
    with pytest.raises(SchemaError, match=f"at most {limit}\nHint: "):
        Schema.of(nested)
    with pytest.raises(InputError, match=f"at most {limit}\nHint: "):
        operator(name="f", reads=(path,))(lambda event: True)


def test_names_at_the_limits_are_read() -> None:
    path = ".".join(["é" * (PART_BYTES // 2)] * PARTS)
    assert over_limit(path) is None
    event: Any = 1
    for part in path.split("."):
        event = {part: event}
    assert lookup(event, path) == 1
    assert list(infer([event])) == [path]


def test_keys_of_events_over_a_limit_are_no_attributes() -> None:
    event: Any = {"k" * (PART_BYTES + 1): 1, "fine": 1}
    for _ in range(5_000):
        event = {"a": event, "x": 1}
    assert sorted(infer([event]), key=len) == [".".join(["a"] * depth + ["x"]) for depth in range(PARTS)]
