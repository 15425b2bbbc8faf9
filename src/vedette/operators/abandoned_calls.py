"""Calls of operators that were given up and still run, counted because not all of them can be ended."""

from __future__ import annotations

import threading
from collections import Counter

from vedette.operators.failures import Failure
from vedette.operators.operator import Operator


class AbandonedCalls:
    """Calls that exceeded their time limit, by operator. At the cap, no more are made until some return."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._running: Counter[Operator] = Counter()
        self._lock = threading.Lock()

    def refusal(self, operator: Operator) -> Failure | None:
        """The reason why the operator cannot be called now; None if it can be."""
        if self._running[operator] < self._cap:
            return None
        return Failure("stuck", f"not called: {self._cap} calls that took too long have not come back")

    def add(self, operator: Operator) -> None:
        """Count a call that is given up."""
        with self._lock:
            self._running[operator] += 1

    def remove(self, operator: Operator) -> None:
        """A call that was given up has returned."""
        with self._lock:
            self._running[operator] -= 1


def too_slow(limit: float) -> Failure:
    """The failure of a call that exceeded its time limit."""
    return Failure("time", f"no answer within {limit:g} s")
