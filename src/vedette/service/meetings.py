"""The offers and wants of one stream, met in a thread of their own, so that publishing and matching do not wait.

Offers and wants come in by a queue, in the order in which they were written, and pairs that meet are handed on. A pair
that fails, or takes too long, is left out; a want that fails with several offers, or cannot be registered at all, is
quarantined, and an offer that fails with several wants makes no more notifications. The others go on.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.errors import FilterError, VedetteError
from vedette.meeting.live_meeting import Meeting, Side
from vedette.schema.schema import Schema
from vedette.service import clock
from vedette.service.fault_isolation import FAULTS, TimedCall
from vedette.service.quarantine import reason_of
from vedette.service.subscription_registry import Subscription, SubscriptionChange

_LOG: Final = logging.getLogger("vedette.service.market")
_SEVERAL: Final = 3  # failures with different others, after which an offer or want is at fault itself
_SHARE: Final = 0.25  # of the time that matching may take, for the search of what is at fault
_PATIENCE: Final = 0.1  # seconds that a check waits for a meeting in use


@dataclass(frozen=True, slots=True)
class MarketOffer:
    """A registered offer."""

    number: int
    id: str
    tenant: str
    stream: str
    publisher: str | None
    when: str
    created: int
    expires: int

    def told(self) -> dict[str, Any]:
        """The offer as notifications have it."""
        told: dict[str, Any] = {"id": self.id, "when": self.when, "expires": clock.iso(self.expires)}
        return told if self.publisher is None else told | {"publisher": self.publisher}


class WithdrawnOffer(NamedTuple):
    """An offer was withdrawn or has expired."""

    id: str


OfferPair: TypeAlias = tuple[Subscription, MarketOffer]


class MeetingListener(NamedTuple):
    """Callbacks for pairs that meet and wants at fault; called by the thread of the stream."""

    met: Callable[[list[OfferPair]], None]
    at_fault: Callable[[Subscription, str], None]


class Meetings:
    """Offers and wants of one stream. `put` and `check` may be called by any thread, the rest by the stream's own."""

    def __init__(
        self,
        name: str,
        schema: Schema,
        moment: Callable[[], dt.datetime],
        run: TimedCall,
        seconds: float,
        hearers: MeetingListener,
        failures: Counter[str],
    ) -> None:
        self.name, self._schema, self._moment = name, schema, moment
        self._run, self._seconds, self._hearers, self._failures = run, seconds, hearers, failures
        self.wants: dict[str, Subscription] = {}
        self.offers: dict[str, MarketOffer] = {}
        self.meeting = self._new()
        self._strikes: dict[tuple[str, str], BaseException] = {}  # wants and offers that failed together, and how
        self._changes: deque[SubscriptionChange | MarketOffer | WithdrawnOffer] = deque()
        self._wake, self._ending, self._busy = threading.Event(), False, threading.Lock()
        self._thread: threading.Thread | None = None

    def _new(self) -> Meeting:
        return Meeting(self._schema, clock=self._moment)

    # ------------------------------------------------------------ the queue

    def put(self, change: SubscriptionChange | MarketOffer | WithdrawnOffer) -> None:
        """Queue a change of a want or an offer; in the order in which these were written to the database."""
        self._changes.append(change)
        self._wake.set()

    @property
    def behind(self) -> int:
        """Number of changes that have not been applied."""
        return len(self._changes) + self._busy.locked()

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._work, name=f"vedette-market-{self.name}", daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """End after the change under way; changes that are left are loaded when the service starts again."""
        self._ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        while not self._ending:
            self._wake.wait()
            self._wake.clear()
            self.carry_out()

    def carry_out(self) -> None:
        """Apply all queued changes."""
        while not self._ending:
            with self._busy:
                if not self._changes:
                    return
                change = self._changes.popleft()
                try:
                    self._carried_out(change)
                except FAULTS:  # what was not contained: it must not end the thread
                    self._failed("a change of offers and wants failed")

    def _carried_out(self, change: SubscriptionChange | MarketOffer | WithdrawnOffer) -> None:
        match change:
            case WithdrawnOffer():
                self._let_go(change.id)
            case MarketOffer():
                self._offered(change)
            case SubscriptionChange():
                self._let_go(change.id)
                if change.now is not None and change.now.is_want:
                    self._wanted(change.now)

    # ------------------------------------------------------------ what comes

    def check(self, when: str) -> None:
        """FilterError if a text contradicts the registered ones; not checked if these are in use for too long."""
        meeting = self.meeting
        if meeting.lock.acquire(timeout=_PATIENCE):
            try:
                meeting.read(when, {})
            finally:
                meeting.lock.release()

    def _offered(self, offer: MarketOffer) -> None:
        if (error := self._taken(self.meeting.publications, offer.id, offer.when)) is not None:
            _LOG.error("the offer %s cannot stand: %s", offer.id, error)
            return
        self.offers[offer.id] = offer
        met, failed = self._met(self.meeting.publications, offer.when, list(self.wants))
        self._hearers.met([(self.wants[id_], offer) for id_ in met])
        self._blame(offer.id, {(id_, offer.id): why for id_, why in failed})

    def _wanted(self, want: Subscription) -> None:
        if (error := self._taken(self.meeting.subscriptions, want.id, want.when)) is not None:
            _LOG.error("the want %s cannot stand: %s", want.id, error)
            why = f"{type(error).__name__}: {error.message}" if isinstance(error, FilterError) else reason_of(error)
            self._hearers.at_fault(want, f"it cannot stand: {why}")
            return
        self.wants[want.id] = want
        met, failed = self._met(self.meeting.subscriptions, want.when, list(self.offers))
        self._hearers.met([(want, self.offers[id_]) for id_ in met])
        self._blame(want.id, {(want.id, id_): why for id_, why in failed})

    def _taken(self, side: Side, id_: str, when: str) -> BaseException | None:
        """Add an offer or a want; returns why it cannot be added, or None."""
        try:
            self._run(self._seconds, partial(side.take, id_, when))
        except VedetteError as error:  # an earlier version took it, or another came as another type in the same moment
            return error
        except FAULTS as error:
            self._failed("an offer or a want cannot stand")
            self._begin_anew()
            return error
        return None

    def _blame(self, newcomer: str, failed: Mapping[tuple[str, str], BaseException]) -> None:
        """Remove those that have failed with several others by now, the one with the most failures first."""
        self._strikes |= failed
        while self._strikes:
            counts = Counter(id_ for pair in self._strikes for id_ in pair)
            worst = max(counts, key=lambda id_: (counts[id_], id_ == newcomer))
            if counts[worst] < _SEVERAL:
                return
            why = next(why for pair, why in self._strikes.items() if worst in pair)
            if (want := self._let_go(worst)) is not None:
                self._hearers.at_fault(want, reason_of(why))
            else:
                _LOG.error("the offer %s tells nobody any more: %s", worst, reason_of(why))

    def _let_go(self, id_: str) -> Subscription | None:
        """Remove an offer or a want, and its failures; returns the want, if it was one."""
        self._strikes = {pair: why for pair, why in self._strikes.items() if id_ not in pair}
        for side in (self.meeting.publications, self.meeting.subscriptions):
            if id_ in side:
                side.remove(id_)
        self.offers.pop(id_, None)
        return self.wants.pop(id_, None)

    # ------------------------------------------------------------ what meets

    def _met(self, side: Side, when: str, others: Sequence[str]) -> tuple[list[str], list[tuple[str, BaseException]]]:
        """The others that a text of this side meets, and those with which that could not be found out."""
        try:
            return self._run(self._seconds, partial(side.meets, when)), []
        except FAULTS:
            self._failed("offers and wants cannot be met, and what is at fault is looked for")
        is_offer = side is self.meeting.publications
        self._begin_anew()
        met: list[str] = []
        failed: list[tuple[str, BaseException]] = []
        self._split(is_offer, when, others, met, failed)
        return met, failed

    def _split(
        self, is_offer: bool, when: str, others: Sequence[str], met: list[str], failed: list[tuple[str, BaseException]]
    ) -> None:
        """The same by halving, in separate meetings; the search ends when several have failed."""
        if not others or len(failed) >= _SEVERAL:
            return

        def work() -> list[str]:
            alone = self._new()
            mine, theirs = alone.publications, alone.subscriptions
            if not is_offer:
                mine, theirs = theirs, mine
            for id_ in others:
                theirs.take(id_, (self.wants if is_offer else self.offers)[id_].when)
            return mine.meets(when)

        try:
            met += self._run(max(self._seconds * _SHARE, 0.01), work)
        except FAULTS as error:
            if len(others) == 1:
                failed.append((others[0], error))
                return
            half = len(others) // 2
            self._split(is_offer, when, others[:half], met, failed)
            self._split(is_offer, when, others[half:], met, failed)

    def _begin_anew(self) -> None:
        """Rebuild the meeting with all offers and wants: a failure may have left it half changed."""
        meeting = self._new()
        for id_, offer in self.offers.items():
            meeting.publications.take(id_, offer.when)
        for id_, want in self.wants.items():
            meeting.subscriptions.take(id_, want.when)
        self.meeting = meeting

    def _failed(self, what: str) -> None:
        self._failures["meeting"] += 1
        _LOG.exception(what, extra={"stream": self.name})
