"""Reports of operators: their failures as they happen, and at the end the evaluations saved."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from vedette.cli.terminal import Terminal, counted

if TYPE_CHECKING:
    from vedette.operators.calling import Calling
    from vedette.operators.failures import FailureKind

_SHOWN = 5  # failures of an operator that are shown one by one
_SAID: Final[Mapping[FailureKind, tuple[str, str]]] = {
    "error": ("error", "errors"),
    "time": ("over its time limit", "over its time limit"),
    "result": ("result that makes no sense", "results that make no sense"),
    "stuck": ("not begun, as too many calls had not come back", "not begun, as too many calls had not come back"),
}


class _FirstFailures(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal
        self._told = Counter[object]()

    def emit(self, record: logging.LogRecord) -> None:
        """Show the first failures of each operator; all of them are counted elsewhere."""
        operator = record.args[0] if isinstance(record.args, tuple) and record.args else None
        self._told[operator] += 1
        if self._told[operator] <= _SHOWN:
            self._terminal.note(record.getMessage())
        elif self._told[operator] == _SHOWN + 1:
            self._terminal.note(f"… and more of {operator}, which are counted")


@contextmanager
def first_failures_logged(terminal: Terminal) -> Iterator[None]:
    """Show the first failures of operators as warnings, within the `with` block."""
    log, handler = logging.getLogger("vedette.operators"), _FirstFailures(terminal)
    before = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before


def report_operators(calling: Calling, terminal: Terminal) -> None:
    """Print the number of evaluations made, and what is unknown because operators failed."""
    counts = calling.counts
    made = counted(sum(calling.made.values()), "evaluation")
    terminal.note(f"{made} of {counts.asked:,} that subscriptions speak of")
    for name, kinds in calling.failures.items():
        parts = ", ".join(counted(count, *_SAID[kind]) for kind, count in kinds.items())
        times = counted(sum(kinds.values()), "time")
        terminal.warn(f"{name} failed {times}: {parts}; what it would have said is unknown", lost=True)
    if counts.joins_given_up:
        times = counted(counts.joins_given_up, "time")
        terminal.warn(f"bindings could be combined in too many ways, {times}: taken not to match", lost=True)
