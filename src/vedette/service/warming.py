"""How does the first event not wait for a compiler? What matching needs is loaded, or compiled, before any comes."""

from __future__ import annotations

from functools import cache

from vedette.schema.schema import Schema
from vedette.service.engine import Batch, Engine
from vedette.service.kinds import Standing

_TOLD = (
    Standing("filter", "kind = 'a' and name like 'a%' and price between 1 and 2"),
    Standing("pattern", "[kind = 'a'] ; [price > 1] within 1 min by name"),
)
_EVENTS = ({"kind": "a", "name": "ab", "price": 1.5}, {"kind": "b", "name": "ab", "price": 2.0})


@cache
def warm_up() -> None:
    """Once for a process: a filter and a pattern of nobody's are matched, which takes long where none is compiled."""
    engine = Engine(Schema(closed=False))
    engine.add_many(_TOLD)
    numbers = range(len(_EVENTS))
    engine.match(Batch(numbers, [str(number) for number in numbers], _EVENTS, [0, 1]))
    engine.close()
