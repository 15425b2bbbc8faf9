from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from vedette.schema.paths import finder, lookup


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
