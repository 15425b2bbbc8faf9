"""What a worker process keeps to call operators: one calling, with its caches, for all tasks with equal operators."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from vedette.operators.calling import Calling
from vedette.operators.operator_report import OperatorReporter
from vedette.operators.statistics import Statistics, StatisticsDelta
from vedette.spark.operators.carried import Caller

_CALLINGS: Final = 4  # that a process keeps
_SETS: Final = 64  # of each of them: versions of filters, and groups of patterns
_T = TypeVar("_T")


class _Kept(Generic[_T]):
    """Cache of the things used last, by key."""

    def __init__(self, most: int, dropped: Callable[[_T], None] = lambda _: None) -> None:
        self._things: OrderedDict[Hashable, _T] = OrderedDict()
        self._most, self._dropped = most, dropped

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        if key not in self._things:
            self._things[key] = make()
        self._things.move_to_end(key)
        while len(self._things) > self._most:
            self._dropped(self._things.popitem(last=False)[1])
        return self._things[key]


class Hosted:
    """Operators in a worker process."""

    def __init__(self, caller: Caller) -> None:
        # The driver reports failures; workers would write them among other lines.
        logging.getLogger("vedette.operators").propagate = False
        self.calling = Calling(caller.carried.operators(), caller.planner, StatisticsDelta())
        self.reporter = OperatorReporter(self.calling)
        self._stamp: str | None = None
        self._made: _Kept[Any] = _Kept(_SETS)

    def kept(self, version: Hashable, make: Callable[[Calling], _T]) -> _T:
        """Something made with the calling, cached for all tasks of a version."""
        made: _T = self._made.get(version, lambda: make(self.calling))
        return made

    def begin(self, caller: Caller) -> None:
        """Take over the driver's statistics; within one job, keep those of this process."""
        if caller.stamp != self._stamp:
            self.calling.statistics.become(Statistics.from_plain(caller.statistics))
            self._stamp = caller.stamp

    def end(self, caller: Caller) -> None:
        """Report new statistics. A task that does not get here is reported with the next one."""
        if caller.reports is not None:
            caller.reports.add([self.reporter.report()])

    def close(self) -> None:
        """End what operators left running."""
        self.calling.close()


_hosted: _Kept[Hosted] = _Kept(_CALLINGS, Hosted.close)


@contextmanager
def hosted(caller: Caller) -> Iterator[Hosted]:
    """The operators of a task, as a context."""
    found = host(caller)
    with found.reporter.listening():
        yield found
    found.end(caller)


def host(caller: Caller) -> Hosted:
    """The operators of a task."""
    found = _hosted.get(caller.key, lambda: Hosted(caller))
    found.begin(caller)
    return found
