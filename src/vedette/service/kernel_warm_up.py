"""Loads or compiles what matching needs, before the first event comes."""

from __future__ import annotations

from functools import cache
from typing import Any

from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.service.stream_engine import EngineSubscription, JournalBatch, StreamEngine

_TOLD = (
    EngineSubscription("filter", "kind = 'a' and name like 'a%' and price between 1 and 2"),
    EngineSubscription("pattern", "[kind = 'a'] ; [price > 1] within 1 min by name"),
)
_EVENTS = ({"kind": "a", "name": "ab", "price": 1.5}, {"kind": "b", "name": "ab", "price": 2.0})


@cache
def warm_up() -> None:
    """Match a test filter and a test pattern, once per process; slow where the kernels are not compiled yet."""
    engine = StreamEngine(Schema(closed=False))
    engine.add_many(_TOLD)
    numbers = range(len(_EVENTS))
    engine.match(JournalBatch(numbers, [str(number) for number in numbers], _EVENTS, [0, 1]))
    engine.to_bytes()
    engine.close()


@cache
def warm_up_operators() -> None:
    """The same for subscriptions that call operators."""

    @operator(reads=("price",))
    def warming(event: Any) -> bool:
        return True

    engine = StreamEngine(Schema(closed=False), operators=Operators(warming))
    engine.add_many(
        [
            EngineSubscription("operator", "warming() and price > 1"),
            EngineSubscription("pattern", "[warming()] ; [price > 1]"),
        ]
    )
    numbers = range(len(_EVENTS))
    engine.match(JournalBatch(numbers, [str(number) for number in numbers], _EVENTS, [0, 1]))
    engine.to_bytes()
    engine.close()
