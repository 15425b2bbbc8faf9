"""Match rates of subscriptions: notifications per event in the last hour, kept in memory.

Every batch is counted in the bucket of its time. For a subscription that is younger than the oldest bucket, the events
since its registration count. After a restart counting begins anew; total counts are in the database
(`vedette.service.outbox`).
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from vedette.service import clock
from vedette.service.stream_engine import Notices
from vedette.service.subscription_registry import SubscriptionChange

BUCKETS: Final = 12
WIDTH: Final = 5 * 60 * clock.SECOND  # of a bucket: they span an hour


class RecentCounts(NamedTuple):
    """Events and notifications in the last hour, or since registration, or since the service runs."""

    events: int  # of its stream
    told: int
    told_by_bucket: tuple[int, ...]  # the oldest first

    @property
    def rate(self) -> float | None:
        """Notifications per event; None before any event."""
        return self.told / self.events if self.events else None


NOTHING: Final = RecentCounts(0, 0, (0,) * BUCKETS)


@dataclass(slots=True)
class _CountBucket:
    number: int
    events: Counter[str] = field(default_factory=Counter)  # by stream
    told: Counter[str] = field(default_factory=Counter)  # by subscription
    before: dict[str, int] = field(default_factory=dict)  # of those that came in it: events that came before


def _add(bucket: _CountBucket, told: Sequence[Notices]) -> None:
    for each in told:
        bucket.told.update(each.counts())


class Figures:
    """Counts outcomes of matching. `count` is called by the thread that matches, all else by any."""

    def __init__(self, now: clock.Clock = clock.now) -> None:
        self._now = now
        self.since = now()
        self._lock = threading.Lock()
        self._buckets: deque[_CountBucket] = deque(maxlen=BUCKETS)
        # By stream: subscriptions added or removed, and after which event. Applied when that event has been matched.
        self._coming: dict[str, OrderedDict[str, int]] = {}

    def changed(self, change: SubscriptionChange) -> None:
        """A subscription was added, replaced or removed: its counts begin anew after that event."""
        with self._lock:
            coming = self._coming.setdefault(change.stream, OrderedDict())
            new = coming.pop(change.id, None) is not None
            if change.now is not None or not new:
                coming[change.id] = change.since

    def count(self, stream: str, numbers: Sequence[int], told: Sequence[Notices]) -> None:
        """Count a batch of matched events."""
        with self._lock:
            bucket = self._bucket()
            coming = self._coming.get(stream)
            while coming and next(iter(coming.values())) < numbers[-1]:
                id_, since = coming.popitem(last=False)
                bucket.before[id_] = bucket.events[stream] + bisect_right(numbers, since)
                for each in self._buckets:  # it was replaced or removed: earlier notifications do not count
                    each.told.pop(id_, None)
            bucket.events[stream] += len(numbers)
            _add(bucket, told)

    def count_told(self, told: Sequence[Notices]) -> None:
        """Count further outcomes of events that were counted before."""
        with self._lock:
            _add(self._bucket(), told)

    def _bucket(self) -> _CountBucket:
        number = self._now() // WIDTH
        if not self._buckets or self._buckets[-1].number != number:
            while self._buckets and self._buckets[0].number <= number - BUCKETS:
                self._buckets.popleft()
            self._buckets.append(_CountBucket(number))
        return self._buckets[-1]

    def recent(self, stream: str, id_: str) -> RecentCounts:
        """The recent counts of a subscription."""
        with self._lock:
            last = self._now() // WIDTH
            told = [0] * BUCKETS
            events = 0
            for each in self._buckets:
                place = each.number - last + BUCKETS - 1
                if not 0 <= place < BUCKETS:
                    continue
                if id_ in each.before:
                    events = -each.before[id_]
                events += each.events[stream]
                told[place] = each.told[id_]
            waiting = id_ in self._coming.get(stream, ())
        if waiting:  # no event came since it was registered
            return NOTHING
        return RecentCounts(events, sum(told), tuple(told))

    def events(self) -> dict[str, int]:
        """How many events were matched recently, by stream."""
        with self._lock:
            first = self._now() // WIDTH - BUCKETS
            found: Counter[str] = Counter()
            for each in self._buckets:
                if each.number > first:
                    found.update(each.events)
            return dict(found)
