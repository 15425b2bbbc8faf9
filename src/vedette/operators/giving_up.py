"""How many calls of an operator have been given up, and still run? Python cannot end them, so they are counted."""

from __future__ import annotations

import threading
from collections import Counter

from vedette.operators.failures import Failure
from vedette.operators.operator import Operator


class GivenUp:
    """Calls that did not come back in time, by operator. Beyond the cap, no more are made until some come back."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._running: Counter[Operator] = Counter()
        self._lock = threading.Lock()

    def refusal(self, operator: Operator) -> Failure | None:
        """Why the operator is not called now; None if it can be."""
        if self._running[operator] < self._cap:
            return None
        return Failure("stuck", f"not called: {self._cap} calls that took too long have not come back")

    def add(self, operator: Operator) -> None:
        """A call is given up."""
        with self._lock:
            self._running[operator] += 1

    def remove(self, operator: Operator) -> None:
        """A call that was given up has come back."""
        with self._lock:
            self._running[operator] -= 1


def too_slow(limit: float) -> Failure:
    """The failure of a call that is given up."""
    return Failure("time", f"no answer within {limit:g} s")
