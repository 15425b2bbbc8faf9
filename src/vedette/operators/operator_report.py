"""Reports of what one process learned and counted about operators, for the others."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.operators.calling import Calling
from vedette.operators.statistics import Statistics, StatisticsDelta

_THINGS: Final = 10_000  # predicates and evaluations of one report
_EXAMPLES: Final = 5  # failures of one operator in a report
_OPERATOR_EVENT_REASON: Final = 3

_log = logging.getLogger("vedette.operators")


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """What is new since the last report: plain values of bounded size."""

    statistics: Mapping[str, Any]
    counts: Mapping[str, int]
    by_operator: Mapping[str, int]
    reused: Mapping[str, int]
    failures: Mapping[str, Mapping[str, int]]
    examples: list[tuple[str, str, str]] = field(default_factory=list)  # operator, event, reason


class OperatorReporter:
    """Reports what a calling with fresh statistics did, report by report."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling
        self._told = _CallingCounts(calling)
        self._examples = _FailureExamples()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect examples of failures within the `with` block; other callings must not run meanwhile."""
        _log.addHandler(self._examples)
        try:
            yield
        finally:
            _log.removeHandler(self._examples)

    def report(self) -> OperatorReport:
        """The statistics, counts and failures since the last report."""
        statistics = self._calling.statistics
        fresh = statistics.taken() if isinstance(statistics, StatisticsDelta) else Statistics()
        now = _CallingCounts(self._calling)
        before, self._told = self._told, now
        failures = {name: _less(kinds, before.failures.get(name, {})) for name, kinds in now.failures.items()}
        return OperatorReport(
            fresh.most(_THINGS).plain(),
            _less(now.counts, before.counts),
            _less(now.by_operator, before.by_operator),
            _less(now.reused, before.reused),
            {name: kinds for name, kinds in failures.items() if kinds},
            self._examples.taken(),
        )


def absorb(calling: Calling, report: OperatorReport) -> None:
    """Add a report's statistics and counts; its example failures are logged here."""
    calling.add(
        {
            "statistics": report.statistics,
            "counts": {**report.counts, "by_operator": report.by_operator},
            "reused": report.reused,
            "failures": report.failures,
        }
    )
    for operator, event, reason in report.examples:
        _log.warning("operator %s, event %s: %s", operator, event, reason)


class _CallingCounts:
    """The current counts of a calling."""

    def __init__(self, calling: Calling) -> None:
        counts = calling.counts
        self.counts = {"events": counts.events, "asked": counts.asked, "made": counts.made}
        self.counts["joins_given_up"] = counts.joins_given_up
        self.by_operator = dict(counts.by_operator)
        self.reused = dict(calling.reused)
        self.failures: dict[str, dict[str, int]] = {
            name: {str(kind): count for kind, count in kinds.items()} for name, kinds in calling.failures.items()
        }


def _less(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    more = {name: count - before.get(name, 0) for name, count in now.items()}
    return {name: count for name, count in more.items() if count}


class _FailureExamples(logging.Handler):
    """The first failures of each operator."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._kept: list[tuple[str, str, str]] = []
        self._count = Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record, if it is one of the first."""
        if isinstance(record.args, tuple) and len(record.args) == _OPERATOR_EVENT_REASON:
            operator, event, reason = map(str, record.args)
            self._count[operator] += 1
            if self._count[operator] <= _EXAMPLES:
                self._kept.append((operator, event, reason))

    def taken(self) -> list[tuple[str, str, str]]:
        """The records since the last call."""
        kept, self._kept, self._count = self._kept, [], Counter()
        return kept
