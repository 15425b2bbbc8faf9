"""How often do subscriptions match? Notifications per event of the last hour, kept in memory.

Every batch is counted in the bucket of its time. A subscription that is younger than the oldest bucket is held against
the events since it stands. After a restart counting begins anew; what was told in all is in the database
(`vedette.service.outbox`).
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from vedette.service import clock
from vedette.service.engine import Told
from vedette.service.registry import Change

BUCKETS: Final = 12
WIDTH: Final = 5 * 60 * clock.SECOND  # of a bucket: they span an hour
_OF: Final = attrgetter("subscription")


class Recent(NamedTuple):
    """What a subscription was told in the last hour, or since it stands, or since the service runs."""

    events: int  # of its stream
    told: int
    told_by_bucket: tuple[int, ...]  # the oldest first

    @property
    def rate(self) -> float | None:
        """Notifications per event; None before any event."""
        return self.told / self.events if self.events else None


@dataclass(slots=True)
class _Bucket:
    number: int
    events: Counter[str] = field(default_factory=Counter)  # by stream
    told: Counter[str] = field(default_factory=Counter)  # by subscription
    before: dict[str, int] = field(default_factory=dict)  # of those that came in it: events that came before


class Figures:
    """Counts what the pump tells. `count` is called by its thread, all else by any."""

    def __init__(self, now: clock.Clock = clock.now) -> None:
        self._now = now
        self.since = now()
        self._lock = threading.Lock()
        self._buckets: deque[_Bucket] = deque(maxlen=BUCKETS)
        # By stream: who stands, or is gone, after which event. It is counted when that event has been matched.
        self._coming: dict[str, OrderedDict[str, int]] = {}

    def changed(self, change: Change) -> None:
        """A subscription came, changed or went."""
        with self._lock:
            coming = self._coming.setdefault(change.stream, OrderedDict())
            new = coming.pop(change.id, None) is not None
            if change.now is not None or not new:
                coming[change.id] = change.since

    def count(self, stream: str, numbers: Sequence[int], told: Sequence[Told]) -> None:
        """A batch of events was matched."""
        with self._lock:
            bucket = self._bucket()
            coming = self._coming.get(stream)
            while coming and next(iter(coming.values())) < numbers[-1]:
                id_, since = coming.popitem(last=False)
                bucket.before[id_] = bucket.events[stream] + bisect_right(numbers, since)
                for each in self._buckets:  # it says something else now, or is gone: what was told before is past
                    each.told.pop(id_, None)
            bucket.events[stream] += len(numbers)
            bucket.told.update(map(_OF, told))

    def _bucket(self) -> _Bucket:
        number = self._now() // WIDTH
        if not self._buckets or self._buckets[-1].number != number:
            while self._buckets and self._buckets[0].number <= number - BUCKETS:
                self._buckets.popleft()
            self._buckets.append(_Bucket(number))
        return self._buckets[-1]

    def recent(self, stream: str, id_: str) -> Recent:
        """What a subscription was told of late."""
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
        if waiting:  # nothing came since it stands
            return Recent(0, 0, (0,) * BUCKETS)
        return Recent(events, sum(told), tuple(told))

    def events(self) -> dict[str, int]:
        """How many events were matched of late, by stream."""
        with self._lock:
            first = self._now() // WIDTH - BUCKETS
            found: Counter[str] = Counter()
            for each in self._buckets:
                if each.number > first:
                    found.update(each.events)
            return dict(found)
