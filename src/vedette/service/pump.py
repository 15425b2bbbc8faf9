"""Matches accepted events, and so makes notifications; every stream has lanes, each a thread of its own.

One lane of a stream has the plain subscriptions: filters and patterns that call no operators. Those that call some may
take as long as the operator takes; they are in other lanes, by tenant, so that no others wait for them, and a lane that
is stuck does not hold up the others (`vedette.service.lane`).
"""

from __future__ import annotations

import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from vedette.errors import FilterError
from vedette.language import ast
from vedette.language.parser import parse
from vedette.operators.registry import Operators
from vedette.service import clock
from vedette.service.errors import NotMatching
from vedette.service.journal import Journal
from vedette.service.lane import Lane
from vedette.service.lane_context import BatchListener, LaneContext
from vedette.service.outbox import Outbox
from vedette.service.quarantine import Quarantine
from vedette.service.rejected_events import RejectedEvents
from vedette.service.rights import Rights
from vedette.service.settings import LimitSettings
from vedette.service.storage.store import Store
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import Registry, Subscription, SubscriptionChange
from vedette.service.tenants import ServiceStream

PLAIN: Final = ""  # the name of the lane of plain subscriptions
LANES: Final = 16  # of a stream, for those that call operators; a tenant has one of them
_PATIENCE: Final = 10.0  # seconds that an operator has to come back when the service ends

# A name before a parenthesis, which most texts do not have; lists of networks may be very long.
_MAY_CALL: Final = re.compile(r"(?:\b(?!(?:in|and|or|not)\b)(?!(?<=\bin )cidr\b)\w+|`)\s*\(", re.IGNORECASE)

LookResult = TypeVar("LookResult")


def lane_of(one: Subscription) -> str:
    """The name of the lane that matches a subscription; the same after every start."""
    predict = one.standing().predict
    texts = (one.when, *(() if predict is None else predict.features))
    return f"operators-{zlib.crc32(one.tenant.encode()) % LANES}" if any(map(_calls, texts)) else PLAIN


@lru_cache(maxsize=4_096)
def _calls(text: str) -> bool:
    """Whether a text may call operators, and so take as long as these take."""
    if not _MAY_CALL.search(text):
        return False
    try:
        return _has_call(parse(text))
    except FilterError:  # no lane can compile it
        return False


def _has_call(node: Any) -> bool:
    if isinstance(node, ast.Call):
        return True
    if isinstance(node, tuple):
        return any(map(_has_call, node))
    return is_dataclass(node) and any(_has_call(getattr(node, each.name)) for each in fields(node))


class Pump:
    """The lanes of all streams. `heard` is called with every batch, `heard_later` with outcomes of operator lanes."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        outbox: Outbox,
        rights: Rights,
        *,
        operators: Operators | None = None,
        now: clock.Clock = clock.now,
        heard: BatchListener | None = None,
        heard_later: BatchListener | None = None,
        limits: LimitSettings | None = None,
    ) -> None:
        self.quarantine = Quarantine(store, outbox, now)
        self.set_aside = RejectedEvents(store, now)
        self._shared = LaneContext(
            store, journal, outbox, rights, self.quarantine, self.set_aside, operators, now, limits or LimitSettings()
        )
        self._heard, self._heard_later = heard, heard_later
        self._lanes: dict[str, dict[str, Lane]] = {}  # by stream, then by name
        self._lock = threading.Lock()
        self._started = False

    # ------------------------------------------------------------ beginning and ending

    def begin(self, stream: ServiceStream) -> None:
        """Add a new stream, without subscriptions and events."""
        lane = self._made(stream, PLAIN)
        lane.begin(0)
        self._add(lane)

    def open(self, stream: ServiceStream, registry: Registry) -> None:
        """Continue a stream from its stored positions."""
        there = [one for one in registry.standing(stream.name) if not one.is_want and not self._is_damaged(one)]
        by_lane: dict[str, list[Subscription]] = {PLAIN: []}
        for one in there:
            by_lane.setdefault(self._lane_of(one), []).append(one)
        self.quarantine.load(stream.name)
        for name, some in by_lane.items():
            lane = self._made(stream, name)
            lane.open(some)
            self._add(lane)

    @staticmethod
    def _lane_of(one: Subscription) -> str:
        try:
            return lane_of(one)
        except Exception:  # it cannot be compiled, as its lane will find
            return PLAIN

    def _made(self, stream: ServiceStream, name: str) -> Lane:
        return Lane(self._shared, stream, name, self._heard if name == PLAIN else self._heard_later)

    def _add(self, lane: Lane) -> None:
        with self._lock:
            mine = self._lanes.get(lane.stream.name, {})
            self._lanes[lane.stream.name] = {**mine, lane.name: lane}
            if self._started:
                lane.start()

    def _is_damaged(self, one: Subscription) -> bool:
        if one.damaged:
            self._shared.store.damages.tell("subscriptions", one.id, "its checksum does not fit: it hears of nothing")
        return one.damaged

    def start(self) -> None:
        """Start all lanes."""
        with self._lock:
            self._started = True
            for lane in self.lanes():
                lane.start()

    def close(self) -> None:
        """Match what was accepted, write the state of patterns, and end; operator lanes go on at the next start."""
        self._shared.ending = True
        lanes = self.lanes()
        for lane in lanes:
            lane.wake()
        for lane in lanes:
            lane.join(None if lane.is_plain and lane.stuck is None else _PATIENCE)
        self._shared.watchdog.close()

    def lanes(self) -> list[Lane]:
        """The lanes of all streams."""
        return [lane for lanes in list(self._lanes.values()) for lane in lanes.values()]

    # ------------------------------------------------------------ what is new

    def change(self, change: SubscriptionChange) -> None:
        """Add a change of a subscription; to be called in the order in which changes were written to the database."""
        self.quarantine.heard(change)
        lanes = self._lanes.get(change.stream)
        if lanes is None or (change.now is not None and change.now.is_want):
            return
        mine = None if change.now is None else self._lane_of(change.now)
        if mine is not None and mine not in lanes:
            lane = self._made(lanes[PLAIN].stream, mine)
            lane.begin(change.since)
            lane.change(change)
            self._add(lane)
        for name, lane in lanes.items():
            lane.change(change if name == mine else change._replace(now=None))

    def wake(self, stream: str) -> None:
        """Wake the lanes of a stream: it has new events."""
        for lane in self._lanes.get(stream, {}).values():
            lane.wake()

    def within(self, seconds: float, work: Callable[[], LookResult]) -> LookResult:
        """Call a function and return its result; TimeLimitExceeded if it has not ended after so many seconds."""
        return self._shared.watchdog.run(seconds, work)

    # ------------------------------------------------------------ how it goes

    @property
    def warm(self) -> bool:
        """Whether the kernels of matching are loaded."""
        return all(lane.warm for lane in self.lanes() if lane.is_plain)

    @property
    def behind(self) -> int:
        """By how many event numbers the slowest lane is behind the journal."""
        return max((lane.behind for lane in self.lanes()), default=0)

    @property
    def least(self) -> int:
        """Events below this number are not needed any more."""
        settled = self._shared.journal.settled
        return min((lane.needs for lane in self.lanes()), default=settled)

    @property
    def matched(self) -> Counter[str]:
        """Number of matched events, by stream."""
        return self._shared.matched

    @property
    def rejected(self) -> Counter[str]:
        """Of the matched events, how many could not be: they break the schema, or matching them failed."""
        return self._shared.complaints.count

    @property
    def failures(self) -> Counter[str]:
        """How often matching failed, by stage."""
        return self._shared.failures

    @property
    def failure(self) -> str | None:
        """Why the plain subscriptions of some stream are not matched; None if all are."""
        return next((lane.failure for lane in self.lanes() if lane.is_plain and lane.failure), None)

    @property
    def degraded(self) -> list[str]:
        """Why subscriptions with operators of some tenants are not matched; empty if all are."""
        return [lane.failure for lane in self.lanes() if not lane.is_plain and lane.failure]

    def check(self, stream: str) -> None:
        """NotMatching if events published on a stream would not be matched."""
        lanes = self._lanes.get(stream)
        failure = None if lanes is None else lanes[PLAIN].failure
        if failure is not None:
            raise NotMatching(f"{failure}\nHint: see /readyz; nothing was accepted", retry_after=5)

    # ------------------------------------------------------------ looking

    def engine(self, stream: str) -> StreamEngine:
        """The engine of the plain subscriptions of a stream, for reading."""
        return self._lanes[stream][PLAIN].engine

    def look(
        self, stream: str, what: Callable[[StreamEngine], LookResult], id_: str | None = None
    ) -> Future[LookResult]:
        """Let the thread that matches a subscription call a function with its engine; no other thread may use it."""
        lanes = self._lanes[stream]
        found = next((lane for lane in lanes.values() if id_ in lane.standing), lanes[PLAIN])
        return found.look(what)

    def standing(self, stream: str, id_: str) -> Subscription | None:
        """A subscription as it is matched now; to be called by the listeners of batches."""
        for lane in self._lanes[stream].values():
            if id_ in lane.standing:
                return lane.standing[id_]
        return None
