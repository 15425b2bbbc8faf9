"""The breadth of a filter: if one covers another, it is at least as broad.

Filters that are decided first can cover those decided later, so broad ones go first.
"""

from __future__ import annotations

import math

from vedette.language.normalform import Conjunction, NormalForm
from vedette.language.valuesets import AnyKey, AnySet
from vedette.schema.columns import Column
from vedette.schema.keys import NumberKey

_BITS = 64.0
_PREFIX = 8  # bytes of a text that are looked at
_LEAST, _MOST = -(2**63), 2**63
_TEST = 8.0  # bits that a test without an order is taken to cut off


def breadth(form: NormalForm) -> float:
    """The binary logarithm of the share of events that a filter matches, if events were spread evenly."""
    return max((_of_conjunction(one) for one in form.conjunctions), default=-math.inf)


def _of_conjunction(one: Conjunction) -> float:
    values = sum(_of_values(column, values) for column, values in one.values)
    return values - _TEST * sum(1 if probe.positive else len(probe.tests) for _, probe in one.probes)


def _of_values(column: Column, values: AnySet) -> float:
    textual = column.type.kind.textual
    width = float(values.null)
    for one in values.intervals:
        low = _number(one.low, _LEAST if not textual else 0)
        high = _number(one.high, _MOST if not textual else 2**64)
        width += float(max(high - low, 1))
    return math.log2(max(width, 1.0)) - _BITS


def _number(key: AnyKey | None, unbounded: int) -> NumberKey:
    if key is None:
        return unbounded
    return int.from_bytes(key[:_PREFIX].ljust(_PREFIX, b"\0")) if isinstance(key, bytes) else key
