"""Converts elementary tests to JSON and back, so that nothing has to be pickled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.value_tests import PROBES
from vedette.language.normalform import Elementary, ElementProbe, ValueProbe
from vedette.language.valuesets import AnyKey, Interval, ValueSet
from vedette.schema.keys import joined_key, split

Spec: TypeAlias = dict[str, Any]


def to_spec(test: Elementary) -> Spec:
    """An elementary test as plain data that `json.dumps` can write."""
    if isinstance(test, ValueProbe):
        return test.fields()
    inner = _set_spec(test.test) if isinstance(test.test, ValueSet) else to_spec(test.test)
    return {"test": test.quantifier, "of": inner}


def from_spec(spec: Spec) -> Elementary:
    """The inverse of `to_spec`."""
    kind = spec["test"]
    if kind in ("any", "all"):
        inner = spec["of"]
        return ElementProbe(kind, _set_from(inner) if inner["test"] == "in" else _simple(from_spec(inner)))
    if kind in PROBES:
        return PROBES[kind].of_fields(spec)
    raise ValueError(f"unknown kind of test {kind!r}")


def _simple(test: Elementary) -> ValueProbe:
    if isinstance(test, ElementProbe):
        raise ValueError("a test of elements inside another one")
    return test


def _set_spec(values: ValueSet[Any]) -> Spec:
    bounds = [[_key_spec(interval.low), _key_spec(interval.high)] for interval in values.intervals]
    return {"test": "in", "intervals": bounds, "null": values.null}


def _set_from(spec: Spec) -> ValueSet[Any]:
    intervals: list[Interval[Any]] = [Interval(_key_from(low), _key_from(high)) for low, high in spec["intervals"]]
    return ValueSet(tuple(intervals), spec["null"])


def _key_spec(key: AnyKey | None) -> int | str | list[int] | None:
    if isinstance(key, Fraction):
        return list(split(key))
    return key.hex() if isinstance(key, bytes) else key


def _key_from(key: int | str | list[int] | None) -> Any:
    if isinstance(key, list):
        return joined_key(*key)
    return bytes.fromhex(key) if isinstance(key, str) else key


def ordered(tests: frozenset[Elementary]) -> list[Elementary]:
    """The tests in an order that depends only on the tests themselves."""
    return sorted(tests, key=lambda test: json.dumps(to_spec(test))) if len(tests) > 1 else list(tests)


def tokens_to_bytes(tokens: Sequence[frozenset[Elementary]]) -> NDArray[np.uint8]:
    """All tokens as one JSON text, in bytes."""
    text = json.dumps([[to_spec(test) for test in ordered(tests)] for tests in tokens], separators=(",", ":"))
    return np.frombuffer(text.encode(), np.uint8)


def tokens_from_bytes(text: NDArray[np.uint8]) -> tuple[frozenset[Elementary], ...]:
    """The inverse of `tokens_to_bytes`."""
    return tuple(frozenset(from_spec(spec) for spec in tests) for tests in json.loads(text.tobytes()))
