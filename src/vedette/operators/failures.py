"""Failed evaluations, counted by operator and kind, and logged; and the calls that were given up and still run."""

from __future__ import annotations

import importlib
import logging
import threading
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from vedette.errors import VedetteError
from vedette.operators.operator import Operator

FailureKind: TypeAlias = Literal["error", "time", "result", "stuck"]
MOST_LINES = 20  # of the log, for one call
_LONGEST = 300  # characters of a reason that an exception gives
_OWN = str(Path(__file__).parents[1])
_IMPORTING = str(Path(importlib.__file__).parent)

_log = logging.getLogger("vedette.operators")


class Failure(NamedTuple):
    """The reason why an evaluation is unknown for an event."""

    kind: FailureKind
    reason: str


def failed(error: BaseException) -> Failure:
    """The failure for an exception of the function, with the line that raised it."""
    said = on_one_line(error)
    if isinstance(error, VedetteError):  # raised on purpose: it says what to mend, and that is not its line
        return Failure("error", said)
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    place = place_of(error) or (f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None)
    return Failure("error", said if place is None else f"{said} ({place})")


def on_one_line(error: BaseException) -> str:
    """The message of an exception on one line; with its type, unless it is an error meant for people."""
    said = " ".join(str(error).split())
    cut = said[:_LONGEST] + "…" * (len(said) > _LONGEST)
    return cut if isinstance(error, VedetteError) else type(error).__name__ + (f": {cut}" if cut else "")


def place_of(error: BaseException) -> str | None:
    """The last line of user code that led to an exception: not of this package, and not the import itself."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith((_OWN, _IMPORTING, "<frozen importlib")):
            place = f"{file}:{line}"
    return place


class Failures:
    """Counts of failures by operator and kind; safe from any number of threads."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[FailureKind, int]] = {}
        self._lock = threading.Lock()

    @property
    def counts(self) -> Mapping[str, Mapping[FailureKind, int]]:
        """Operator -> kind -> number of failures so far."""
        with self._lock:
            return {name: dict(kinds) for name, kinds in self._counts.items()}

    def restore(self, counts: Mapping[str, Mapping[FailureKind, int]]) -> None:
        """Restore earlier `counts`."""
        with self._lock:
            self._counts = {name: dict(kinds) for name, kinds in counts.items()}

    def add(self, counts: Mapping[str, Mapping[FailureKind, int]]) -> None:
        """Add counts from elsewhere."""
        with self._lock:
            for name, kinds in counts.items():
                mine = self._counts.setdefault(name, {})
                for kind, count in kinds.items():
                    mine[kind] = mine.get(kind, 0) + count

    def record(self, operator: Operator, failures: Sequence[tuple[str, Failure]]) -> None:
        """Count the failures of one call, each with the event's name, and log the first ones."""
        with self._lock:
            kinds = self._counts.setdefault(operator.name, {}) if failures else {}
            for _, failure in failures:
                kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
        for event, failure in failures[:MOST_LINES]:
            _log.warning("operator %s, event %s: %s", operator.name, event, failure.reason)
        if len(failures) > MOST_LINES:
            _log.warning("operator %s: %d more events failed", operator.name, len(failures) - MOST_LINES)


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
