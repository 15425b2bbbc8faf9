"""A cache of results across events, by the values of the inputs; least recently used ones are dropped."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from vedette.operators.operator import Cache
from vedette.operators.results import EvaluationResult


class ResultCache:
    """Results by key: those used last, for a limited time; any number of threads may use it."""

    def __init__(self, kept: Cache, clock: Callable[[], float]) -> None:
        self._kept = kept
        self._clock = clock
        self._found: OrderedDict[Hashable, tuple[float, EvaluationResult]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> EvaluationResult | None:
        """The cached result of a key, unless it is too old."""
        with self._lock:
            entry = self._found.get(key)
            if entry is None:
                return None
            stored, found = entry
            if self._kept.seconds is not None and self._clock() - stored >= self._kept.seconds:
                del self._found[key]
                return None
            self._found.move_to_end(key)
            return found

    def put(self, key: Hashable, found: EvaluationResult) -> None:
        """Cache a result; the least recently used one makes room."""
        with self._lock:
            self._found[key] = self._clock(), found
            self._found.move_to_end(key)
            while len(self._found) > self._kept.size:
                self._found.popitem(last=False)


def key_of(value: Any) -> Hashable:
    """A key that is equal for equal values of one type only: 1, 1.0 and true are three. TypeError if there is none."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, float):
        return float, value.hex()  # NaN is itself, and the two zeros are two
    if isinstance(value, Mapping):
        return dict, frozenset((name, key_of(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(key_of(each) for each in value)
    hash(value)
    return type(value), value
