from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns import witness_names as module
from vedette.patterns.witness_names import WitnessNames, asked_columns
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, STRING

PATTERNS = {
    0: PatternRecord("p", "a:[x = 1 and ip = $who] ; b:[x = 2 and ip = $who and o.user = $u]{1,2} by region"),
    7: PatternRecord("q", "[x = 1] , [x = 2]"),
}
EVENTS = [
    {"x": 1, "ip": "a", "o": {"user": "u0"}},
    {"x": 2, "ip": "a", "o": {"user": "u1"}},
    {"x": 2, "ip": "a", "o": {"user": "u2"}},
]


@pytest.mark.parametrize("as_table", [False, True])
def test_steps_and_bindings(as_table: bool) -> None:
    telling = WitnessNames(PATTERNS)
    telling.keep(4, ["e4", "e5"], pa.Table.from_pylist(EVENTS[:2]) if as_table else EVENTS[:2])
    telling.keep(6, ["e6"], pa.Table.from_pylist(EVENTS[2:]) if as_table else EVENTS[2:])
    witness = [(0, 4), (1, 5), (2, 6)]
    assert telling.id(6) == "e6"
    assert telling.steps(0, witness) == {"a": "e4", "b[1]": "e5", "b[2]": "e6"}
    assert telling.bindings(0, witness) == {"who": "a", "u": "u1"}
    assert telling.steps(7, [(0, 4), (1, 5)]) == {"1": "e4", "2": "e5"}
    assert telling.bindings(7, [(0, 4), (1, 5)]) == {}


def test_what_cannot_be_named_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY", 4)
    telling = WitnessNames(PATTERNS)
    telling.keep(0, ["e0", "e1", "e2"], EVENTS)
    assert not telling.crowded
    telling.keep(3, ["e3", "e4", "e5"], EVENTS)
    assert telling.crowded
    telling.forget(np.array([1, 4]))
    assert not telling.crowded
    telling.keep(6, ["e6"], EVENTS[:1])
    assert telling.steps(0, [(0, 1), (1, 4), (2, 6)]) == {"a": "e1", "b[1]": "e4", "b[2]": "e6"}
    assert telling.bindings(0, [(0, 1), (1, 4)]) == {"who": "a", "u": "u1"}


def test_what_patterns_read() -> None:
    schema = Schema.of({"x": "float", "ip": "string", "temp": "float"}, closed=False)
    record = PatternRecord("p", PATTERNS[0].text, None, Predict(3, 0.5, ("temp > 5",)))
    found = asked_columns([record], schema)
    assert set(found.columns) == {Column("x", FLOAT), Column("ip", STRING), Column("temp", FLOAT)}
    assert found.paths == {"time", "x", "ip", "o.user", "region", "temp"}
