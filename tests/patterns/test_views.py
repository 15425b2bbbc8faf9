"""Views in the steps of patterns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError
from vedette.language.check import check
from vedette.language.parser import parse

PATTERN = "[text(code) in ('1', '4624') and user = $u] ; [any(strings(*)) icontains 'mimikatz' and user = $u]"
EVENTS: list[dict[str, Any]] = [
    {"id": "a", "time": 1, "code": 4624, "user": "eve"},
    {"id": "b", "time": 2, "code": "1", "user": "bob"},
    {"id": "c", "time": 3, "user": "eve", "more": {"image": ["MimiKatz.exe"]}},
    {"id": "d", "time": 4, "user": "bob", "more": {"image": ["x"]}},
]


def test_steps_may_use_views() -> None:
    subscriptions = Subscriptions()
    subscriptions.add("p", PATTERN)
    stream = StreamMatcher(subscriptions)
    told = [*stream.process(EVENTS).to_pylist(), *stream.finish().to_pylist()]
    assert [(each["subscription"], each["event"]) for each in told] == [("p", 2)]


def test_of_tables_too() -> None:
    subscriptions = Subscriptions()
    subscriptions.add("p", PATTERN)
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "time": [1, 2, 3],
            "code": ["4624", None, None],
            "user": ["eve", "bob", "eve"],
            "more": pa.array([None, None, [("image", "MimiKatz.exe")]], pa.map_(pa.string(), pa.string())),
        }
    )
    stream = StreamMatcher(subscriptions)
    told = [*stream.process(table).to_pylist(), *stream.finish().to_pylist()]
    assert [(each["subscription"], each["event"]) for each in told] == [("p", 2)]


def test_join_variables_may_not() -> None:
    text = "[text(user) = $u] ; [text(user) = $u]"
    with pytest.raises(FilterError, match=r"text\(user\) is a view, which is compared with constants only"):
        check(parse(text), None, text)
