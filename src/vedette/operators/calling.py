"""What is needed to call operators: which there are, by which planner, what is known of them; and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, Self

from vedette.matching.indexes import DEFAULT as DEFAULT_INDEX
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.failures import Kind
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.planners import DEFAULT
from vedette.operators.registry import Operators
from vedette.operators.rounds import Counts
from vedette.operators.running import Runner
from vedette.operators.statistics import Statistics


class Calling:
    """Handed down to whoever matches filters or steps: all of them learn, count and keep results together.

    Without operators, those that are installed are there.
    """

    def __init__(
        self, operators: Operators | None = None, planner: str = DEFAULT, statistics: Statistics | None = None
    ) -> None:
        self._given = None if operators is None else Operators.of(operators)
        self.planner = planner
        self.statistics = Statistics() if statistics is None else statistics
        self.counts = Counts()
        self._runner = Runner()
        self._lock = threading.Lock()

    @cached_property
    def operators(self) -> Operators:
        """By name; installed ones are looked for when they are first needed."""
        return Operators.installed() if self._given is None else self._given

    @property
    def installed(self) -> bool:
        """None were handed in."""
        return self._given is None

    def matcher(self, subscriptions: Subscriptions, *, index: str = DEFAULT_INDEX) -> OperatorMatcher:
        """A matcher of the filters of a set, with and without operators; patterns are left out."""
        return OperatorMatcher(
            subscriptions,
            self.operators,
            planner=self.planner,
            statistics=self.statistics,
            index=index,
            filters_only=True,
            counts=self.counts,
            runner=self._runner,
        )

    @property
    def made(self) -> Mapping[str, int]:
        """Evaluations that were made, by operator; what several asked of an event counts once."""
        reused = self._runner.reused
        return {name: count - reused[name] for name, count in self.counts.by_operator.items()}

    @property
    def failures(self) -> Mapping[str, Mapping[Kind, int]]:
        """Failures of operators: by name, then by kind."""
        return self._runner.failures.counts

    @property
    def reused(self) -> Mapping[str, int]:
        """Evaluations that others had made of the same events, by operator."""
        return self._runner.reused

    # ------------------------------------------------------------ several places

    def add(self, plain: Mapping[str, Any]) -> None:
        """Learn and count what was learned and counted elsewhere; any number of threads may."""
        counts = plain["counts"]
        with self._lock:
            self.statistics.absorb(Statistics.from_plain(plain["statistics"]))
            self.counts.add(Counts(**counts))
            self._runner.reused.update(plain["reused"])
            self._runner.failures.add(plain["failures"])

    def known(self) -> Statistics:
        """A copy of what is known now, while others add to it."""
        with self._lock:
            return self.statistics.copy()

    # ------------------------------------------------------------ kept

    def plain(self) -> dict[str, Any]:
        """What was learned and counted, for JSON."""
        return {
            "statistics": self.statistics.plain(),
            "counts": asdict(self.counts),
            "reused": dict(self._runner.reused),
            "failures": self.failures,
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any], operators: Operators | None, planner: str) -> Self:
        """Go on from what `plain` gave."""
        made = cls(operators, planner, Statistics.from_plain(plain["statistics"]))
        made.counts = Counts(**plain["counts"])
        made._runner.reused.update(plain["reused"])
        made._runner.failures.restore(plain["failures"])
        return made

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End what operators left running in the background."""
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
