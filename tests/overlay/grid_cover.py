"""Covering that is obviously exact: filters over two small integers, tried on every pair of them."""

from __future__ import annotations

import functools

from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.overlay.messages import SubscriptionKey
from vedette.schema.schema import Schema

SIDE = 6
SCHEMA = Schema.of({"x": "int", "y": "int"})
EVENTS = [
    {name: value for name, value in (("x", x), ("y", y)) if value is not None}
    for x in (None, *range(SIDE))
    for y in (None, *range(SIDE))
]


@functools.cache
def points(text: str) -> frozenset[int]:
    """The numbers of the events that a filter matches."""
    checked = check(parse(text), SCHEMA, text)
    return frozenset(number for number, event in enumerate(EVENTS) if evaluate(checked, event))


class GridCover:
    """Those that cover most of what is left, one after the other."""

    def __init__(self, schema: Schema) -> None:
        self._told: dict[SubscriptionKey, frozenset[int]] = {}

    def offer(self, key: SubscriptionKey, text: str) -> tuple[SubscriptionKey, ...] | None:
        left, used = points(text), []
        while left:
            best = max(self._told, key=lambda each: len(left & self._told[each]), default=None)
            if best is None or not left & self._told[best]:
                self.told(key, text)
                return None
            left -= self._told[best]
            used.append(best)
        return tuple(used)

    def told(self, key: SubscriptionKey, text: str) -> None:
        self._told[key] = points(text)

    def withdraw(self, key: SubscriptionKey) -> None:
        self._told.pop(key, None)
