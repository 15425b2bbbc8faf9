"""Subscriptions that lie within others, and some that do not.

few     intervals on 3 of 10 attributes, within one of twenty wide ones; events anywhere, so few match
all     the same, but one of the wide ones is so wide that every event matches it
many    as few, but events within the wide ones
stock   W2 with tails of prices and volumes instead of bands: those of one symbol lie within one another
apart   W3: hardly any lies within another
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.constants import Constraints, Events, Op, Values
from benchmarks.workloads import Ranges, Stock

_FAMILIES = 20
_TESTED = 3  # attributes of each
_WIDE = 0.2  # of an attribute, a wide one


@dataclass(frozen=True)
class Workload:
    """Subscriptions and events, as many as are asked for."""

    subscriptions: Callable[[int], Constraints]
    events: Callable[[int, int], Events]  # how many, and a seed


def _families(count: int) -> tuple[Constraints, NDArray[np.float64]]:
    """Wide ones, each followed by those that lie within it; and where the wide ones begin in all attributes."""
    random = np.random.default_rng(61)
    families, members = _FAMILIES, -(-count // _FAMILIES)
    attributes = Ranges().events(1).attributes
    tested = np.sort(np.argsort(random.random((families, len(attributes))), axis=1)[:, :_TESTED], axis=1)
    wide_low = random.random((families, _TESTED)) * (1 - _WIDE)
    low = np.repeat(wide_low, members, axis=0)[:count]
    width = _WIDE * random.uniform(0.05, 0.6, low.shape)
    inside = low + random.random(low.shape) * (_WIDE - width)
    first = np.arange(count) % members == 0
    inside[first], width[first] = low[first], _WIDE
    everywhere = np.full((families, len(attributes)), np.nan)
    np.put_along_axis(everywhere, tested, wide_low, axis=1)
    attribute = np.repeat(tested, members, axis=0)[:count].astype(np.int16).ravel()
    start = np.arange(0, _TESTED * count + 1, _TESTED, dtype=np.int64)
    op = np.full(_TESTED * count, Op.BETWEEN, np.int8)
    made = Constraints(attributes, start, attribute, op, inside.ravel(), (inside + width).ravel())
    return made, everywhere


def _everything(count: int) -> Constraints:
    """The same, but the first asks for nothing."""
    made, _ = _families(count)
    start = np.maximum(made.start - _TESTED, 0)
    rest = slice(_TESTED, None)
    return Constraints(made.attributes, start, made.attribute[rest], made.op[rest], made.low[rest], made.high[rest])


def _within(count: int, seed: int) -> Events:
    """Events inside of wide ones; elsewhere uniform."""
    random = np.random.default_rng([seed, 62])
    _, begin = _families(2_000)
    chosen = begin[random.integers(0, len(begin), count)]
    values = np.where(np.isnan(chosen), random.random(chosen.shape), chosen + _WIDE * random.random(chosen.shape))
    return Events(Ranges().events(1).attributes, tuple(Values(each, np.ones(count, np.bool_)) for each in values.T))


def _tails(count: int) -> Constraints:
    """W2 with tails instead of bands, for few symbols: those of one symbol lie within one another."""
    stock = Stock()
    made = stock.subscriptions(count)
    op = made.op.copy()
    op[1::3] = np.where(op[1::3] == Op.BETWEEN, Op.BELOW, op[1::3])
    op[2::3] = Op.ABOVE
    return Constraints(made.attributes, made.start, made.attribute, op, made.low, made.high)


COVERING = {
    "few": Workload(lambda count: _families(count)[0], Ranges().events),
    "all": Workload(_everything, Ranges().events),
    "many": Workload(lambda count: _families(count)[0], _within),
    "stock": Workload(_tails, Stock().events),
    "apart": Workload(Ranges().subscriptions, Ranges().events),
}
