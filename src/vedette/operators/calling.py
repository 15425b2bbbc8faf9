"""The context of operator calls: the operators, the planner, statistics, counts and failures."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from vedette.filters.index import DEFAULT as DEFAULT_INDEX
from vedette.filters.subscription_records import OperatorRecord
from vedette.filters.subscription_set import SubscriptionSet
from vedette.operators.registry import DEFAULT_PLANNER, Operators
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.operators.evaluation_rounds import EvaluationCounts
    from vedette.operators.failures import FailureKind
    from vedette.operators.matcher import OperatorMatcher
    from vedette.operators.operator_runner import OperatorRunner
    from vedette.operators.statistics import Statistics


class Calling:
    """Shared by all matchers of filters and steps, which learn, count and cache results together.

    Without given operators, the installed ones are used. Modules that call operators are imported on first use.
    """

    def __init__(
        self,
        operators: Operators | None = None,
        planner: str = DEFAULT_PLANNER,
        statistics: Statistics | None = None,
        *,
        learn: bool = True,
    ) -> None:
        self._given = None if operators is None else Operators.of(operators)
        self.planner = planner
        self._known = statistics
        self._learn = learn  # what operators cost
        self._lock = threading.Lock()

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of operators, learned so far."""
        from vedette.operators.statistics import Statistics

        return Statistics() if self._known is None else self._known

    @cached_property
    def counts(self) -> EvaluationCounts:
        """Counts of evaluations asked for and made."""
        from vedette.operators.evaluation_rounds import EvaluationCounts

        return EvaluationCounts()

    @cached_property
    def _runner(self) -> OperatorRunner:
        from vedette.operators.operator_runner import OperatorRunner

        return OperatorRunner()

    @cached_property
    def operators(self) -> Operators:
        """The operators by name; installed ones are looked up on first use."""
        return Operators.installed() if self._given is None else self._given

    @property
    def installed(self) -> bool:
        """Whether the installed operators are used, because none were given."""
        return self._given is None

    def matcher(self, subscriptions: SubscriptionSet, *, index: str = DEFAULT_INDEX) -> OperatorMatcher:
        """A matcher of the filters of a set, with and without operators; patterns are left out."""
        from vedette.operators.matcher import OperatorMatcher

        return OperatorMatcher(
            subscriptions,
            self.operators,
            planner=self.planner,
            statistics=self.statistics,
            index=index,
            learn=self._learn,
            counts=self.counts,
            runner=self._runner,
        )

    def of_records(
        self, records: Iterable[OperatorRecord], schema: Schema, index: str = DEFAULT_INDEX
    ) -> OperatorMatcher:
        """A matcher of these records alone, which are filters that call operators."""
        own = SubscriptionSet(schema)
        for each in records:
            own.take(each.id, each.text, subscriber=each.subscriber, source=each.origin)
        return self.matcher(own, index=index)

    @property
    def made(self) -> Mapping[str, int]:
        """Evaluations made, by operator; one that several parts asked for counts once per event."""
        reused = self._runner.reused
        return {name: count - reused[name] for name, count in self.counts.by_operator.items()}

    @property
    def failures(self) -> Mapping[str, Mapping[FailureKind, int]]:
        """Failures of operators: by name, then by kind."""
        return self._runner.failures.counts

    @property
    def reused(self) -> Mapping[str, int]:
        """Evaluations reused from another matcher of the same events, by operator."""
        return self._runner.reused

    # ------------------------------------------------------------ several places

    def add(self, plain: Mapping[str, Any]) -> None:
        """Add statistics and counts from elsewhere; safe from any number of threads."""
        from vedette.operators.evaluation_rounds import EvaluationCounts
        from vedette.operators.statistics import Statistics

        counts = plain["counts"]
        with self._lock:
            self.statistics.absorb(Statistics.from_plain(plain["statistics"]))
            self.counts.add(EvaluationCounts(**counts))
            self._runner.reused.update(plain["reused"])
            self._runner.failures.add(plain["failures"])

    def known(self) -> Statistics:
        """A copy of the statistics, safe while others add to them."""
        with self._lock:
            return self.statistics.copy()

    # ------------------------------------------------------------ kept

    def plain(self) -> dict[str, Any]:
        """Statistics and counts, for JSON."""
        return {
            "statistics": self.statistics.plain(),
            "counts": asdict(self.counts),
            "reused": dict(self._runner.reused),
            "failures": self.failures,
        }

    def resume(self, plain: Mapping[str, Any]) -> None:
        """Restore what `plain` returned; it is added to what was learned and counted here."""
        from vedette.operators.statistics import Statistics

        if not self.counts.made:
            self.statistics.become(Statistics.from_plain(plain["statistics"]))
            plain = {**plain, "statistics": Statistics(self.statistics.memory).plain()}
        self.add(plain)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End the background work of operators."""
        if "_runner" in self.__dict__:  # else nothing was called
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
