"""One lane of a stream: matches events with some of the subscriptions, and writes the notifications.

Progress is written in the same transaction as notifications, so that none is made twice or lost. Changes of
subscriptions come in by a queue, each with the number of the event after which it counts, and are applied exactly
there. The state of patterns is written now and then; after a crash the events since then are matched again, and give
the same ids.

Failures are contained (`vedette.service.fault_isolation`). A failure may leave the state of patterns half changed: then
the lane goes back to the last written state, as after a crash, and follows `carefully`: it keeps a checkpoint of the
state after each step to go back to.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

import numpy as np
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.schema.encode import Reject
from vedette.service import faults
from vedette.service.engine_loading import add_all, those_refused
from vedette.service.errors import StoreBusy, StoreFailed, StoreFull
from vedette.service.fault_isolation import FAULTS, CulpritSearch
from vedette.service.faults import granted
from vedette.service.journal import JournalEntry
from vedette.service.lane_context import BatchListener, LaneContext
from vedette.service.lane_cursor import LaneCursor
from vedette.service.notification_rows import NotificationRows, one_by_one
from vedette.service.outbox import NewNotification
from vedette.service.quarantine import QuarantineCase, reason_of
from vedette.service.rejected_events import EventFault
from vedette.service.stream_engine import JournalBatch, Notices, StreamEngine
from vedette.service.subscription_registry import Subscription, SubscriptionChange
from vedette.service.telemetry import traces
from vedette.service.tenants import ServiceStream

_LOG: Final = logging.getLogger("vedette.service.pump")
BATCH: Final = 2_000  # events that are matched together
STATE_EVERY: Final = 1.0  # seconds between two writes of the state of patterns
_FEW: Final = 64  # events; where fewer came, others are waited for a moment: alone each costs ten times as much
_MOMENT: Final = 0.01  # seconds
PAUSE: Final = 0.5  # seconds before trying again, when nothing can be written
_LONGESTPAUSE: Final = 30.0  # where that fails again and again
TRIES: Final = 3  # failures in a row of what cannot be contained, after which a lane does not get on
_FIRST_BATCH: Final = 16  # events, where operators are called: it is not known yet how long they take
_SLOW, _QUICK = 1.0, 0.25  # seconds for a batch, beyond which the next is smaller, below which it is larger

LookResult = TypeVar("LookResult")
_since = attrgetter("since")


class _RollbackNeeded(Exception):
    """The state of patterns may be half changed: the lane has to go back."""


class Flow:
    """The subscriptions of one lane, their engine, and the position in the journal; used by the thread of the lane."""

    def __init__(
        self, shared: LaneContext, stream: ServiceStream, name: str, heard: BatchListener | None = None
    ) -> None:
        self.stream, self.name = stream, name
        self.is_plain = not name  # it calls no operators, takes every event, and counts it
        self.standing: dict[str, Subscription] = {}
        self.changes: deque[SubscriptionChange] = deque()  # in order; appended by other threads
        self.read = 0  # number of the newest event that the engine has seen
        self._shared, self._heard = shared, heard
        self._cursor = LaneCursor(stream.name, name)
        self.engine = self._new_engine()
        self._told = 0  # events up to here have notifications written: matched again, they may be there
        self._counted = 0  # up to which events have been counted
        self._handed = 0  # up to which events the journal has handed out
        self._owed: list[QuarantineCase] = []  # those to quarantine, not written down yet
        self._state_written, self._state_event = 0.0, 0
        self._moved = False  # events were matched since the state was last written
        self._spoiled = False
        self._careful, self._careful_until = False, 0
        self._checkpoint: bytes | None = None  # the state of patterns, while it is careful
        self._strikes: Counter[str] = Counter()
        # That one event may take with one subscription.
        self._seconds = shared.limits.matching_seconds if self.is_plain else shared.limits.operator_seconds
        self._size = BATCH if self.is_plain else _FIRST_BATCH

    def _new_engine(self) -> StreamEngine:
        lateness = timedelta(microseconds=self.stream.lateness)
        return StreamEngine(self.stream.schema, operators=self._shared.operators, lateness=lateness)

    # ------------------------------------------------------------ beginning and ending

    def open(self, there: Sequence[Subscription]) -> None:
        """Continue a lane from its stored position, with the current subscriptions."""
        event, state_event, state = self._cursor.opened(self._shared.store, there)
        self._told = self._counted = event
        self._begin_at(state_event, state, there)

    def begin(self, event: int) -> None:
        """Begin a new lane after an event."""
        self._cursor.begin(event)
        self._told = self._counted = self._state_event = self.read = event

    def _begin_at(self, event: int, state: bytes | None, there: Sequence[Subscription]) -> None:
        """Restore the state of patterns after an event; later events are matched again."""
        self.read = self._state_event = event
        later = sorted((one for one in there if one.since > event), key=_since)
        self.changes.extendleft(SubscriptionChange(one.since, self.stream.name, one.id, one) for one in reversed(later))
        left = [one for one in there if one.since <= event]
        for _ in range(TRIES):
            self.engine.close()
            self.engine = self._new_engine()
            self.engine.restore(state)
            self.standing = {}
            try:
                self._stand(left)
                return
            except FAULTS as error:
                self._failed_in("changing", error)
                bad = self._cannot_stand(left)
                left = [one for one in left if one.id not in bad]
        raise InputError("subscriptions cannot stand together, although each can\nHint: see the log for why")

    def change(self, change: SubscriptionChange) -> None:
        """Add a change of a subscription; to be called in the order in which changes were written to the database."""
        self.changes.append(change)

    @property
    def behind(self) -> int:
        """By how many event numbers the lane is behind the newest event of its stream."""
        if not self.is_plain and not self.standing and not self.changes:
            return 0
        return self._shared.journal.newest(self.stream.name) - self.read

    @property
    def needs(self) -> int:
        """Events up to this number are not needed any more."""
        return self._state_event if self._moved else self.read

    def end(self) -> None:
        """Write the state of patterns, so that nothing is matched again after the next start."""
        if self._moved and not self._spoiled:
            self._write([], self.read, state=True)

    def spoil(self, until: int) -> None:
        """Go back before anything else, since patterns may be half changed, and be careful up to an event."""
        self._spoiled = True
        self._careful_until = max(self._careful_until, until)

    def _within(self, work: Callable[[], LookResult]) -> LookResult:
        """Call a function and return its result; TimeLimitExceeded after the time for one event and subscription."""
        return self._shared.watchdog.run(self._seconds, work)

    def _says(self) -> dict[str, Any]:
        return {"stream": self.stream.name, "lane": self.name or "plain"}

    def advance(self) -> int:
        """Match the next events of the stream; returns how many there were."""
        if self._spoiled:
            self._go_back()
        self._settle_owed()
        shared, name = self._shared, self.stream.name
        upto = shared.journal.settled
        if not self.is_plain and not self.standing:  # no subscription needs the events before the next change
            idle = min(upto, self.changes[0].since) if self.changes else upto
            self.read = max(self.read, idle)
        # Whatever changed before one of these events was accepted is in the queue by now.
        begun, size = time.monotonic(), self._size
        batch, written = self._next(upto, size)
        if len(batch) == size:
            upto = batch.numbers[-1]
        rejects, good = self._validated(batch)
        with traces.matching(name, len(batch), [one.trace for one in written.values()]):
            told, upto = self._matched(good, upto, rejects)
        told = granted(told, self._whose, shared.rights, name)
        if upto < (batch.numbers[-1] if len(batch) else 0):  # then it goes back, and on from there
            batch = batch.part(0, bisect_right(batch.numbers, upto))
            rejects = {number: reject for number, reject in rejects.items() if number <= upto}
        due = self._moved and not self._spoiled and time.monotonic() - self._state_written >= STATE_EVERY
        if not len(batch):
            self.read = max(self.read, upto)  # there is nothing of this stream up to there
            if due or self._careful:
                self._write([], self.read, state=True)
            return 1 if self._spoiled else 0
        self._moved = True
        rows = self._rows(told, written, rejects)
        again, last = batch.numbers[0] <= self._told, batch.numbers[-1]
        wrong = faults.faults_of(name, batch, written, rejects, schema_too=self.is_plain)
        self._write(rows, last, state=due or self._careful, again=again, wrong=wrong)
        self._told = max(self._told, last)
        self._count(batch, told, wrong)
        self.read = last  # last: when the lane is not behind any more, everything is counted
        if not self.is_plain:
            self._adapt(time.monotonic() - begun)
        return len(batch)

    def _validated(self, batch: JournalBatch) -> tuple[dict[int, Reject], JournalBatch]:
        """Damaged and invalid events, as this lane rejects them; and the batch without these."""
        rejects = {number: Reject(0, "", why) for number, why in batch.damaged.items()}
        if rejects:
            self._shared.failures["reading"] += len(rejects)
        broken = dict(rejects)
        faults.validate(batch, self.stream.schema, broken, self._within, partial(self._failed_in, "validating"))
        if broken:
            places = [place for place, number in enumerate(batch.numbers) if number not in broken]
            batch = batch.only(places)
        return broken if self.is_plain else rejects, batch  # one lane says for all what breaks the schema

    def _next(self, upto: int, size: int) -> tuple[JournalBatch, dict[int, JournalEntry]]:
        """The next events. Those in memory are handed out once: after going back they are read from the disk."""
        if self.read >= upto:
            return JournalBatch((), (), (), ()), {}
        fresh_too = self.is_plain and self.read >= self._handed
        journal, name, read = self._shared.journal, self.stream.name, self.read
        batch, written = self._patiently(lambda: journal.after(name, read, upto, size, fresh_too))
        if len(batch):
            self._handed = max(self._handed, batch.numbers[-1])
        return batch, written

    def _adapt(self, seconds: float) -> None:
        """Adapt the size of batches: smaller where operators are slow, larger where they are quick."""
        if seconds > _SLOW:
            self._size = max(1, self._size // 2)
        elif seconds < _QUICK:
            self._size = min(BATCH, self._size * 2)

    def _count(self, batch: JournalBatch, told: Sequence[Notices], wrong: Sequence[EventFault]) -> None:
        """Count what is new, and call the listener; an error of the listener does not fail the matching."""
        new = batch.part(bisect_right(batch.numbers, self._counted), len(batch))
        last = batch.numbers[-1]
        first = new.numbers[0] if len(new) else last + 1
        self._counted = max(self._counted, last)
        shared = self._shared
        shared.complaints.put(self.stream.name, [each for each in wrong if each.event >= first])
        if self.is_plain:
            self._shared.matched[self.stream.name] += len(new)
            self._shared.quarantine.pass_by(self.stream.name, len(new))
        if self._heard is None or not len(new):
            return
        heard, some = self._heard, told
        if len(new) < len(batch):
            some = [each.only(each.event >= first) for each in told]
        try:
            self._within(lambda: heard(self.stream, new, some))
        except FAULTS:
            self._shared.failures["watching"] += 1
            _LOG.exception("somebody who watches failed", extra=self._says())

    # ------------------------------------------------------------ matching

    def _matched(self, batch: JournalBatch, upto: int, rejects: dict[int, Reject]) -> tuple[list[Notices], int]:
        """Match a batch, applying each change of subscriptions after its event.

        Returns the outcomes, and the number of the event up to which the batch was matched.
        """
        told: list[Notices] = []
        begin = 0
        try:
            while self.changes and self.changes[0].since <= upto:
                end = bisect_right(batch.numbers, self.changes[0].since, begin)
                if end > begin:
                    told += self._segment(batch.part(begin, end), rejects)
                    begin = end
                until = batch.numbers[end] if end < len(batch) else upto + 1
                self._carry_out(_before(self.changes, until))
            if begin < len(batch):
                told += self._segment(batch.part(begin, len(batch)), rejects)
        except _RollbackNeeded:
            return told, batch.numbers[begin - 1] if begin else self.read
        return told, upto

    def _segment(self, batch: JournalBatch, rejects: dict[int, Reject]) -> list[Notices]:
        """Match events between two changes of subscriptions; events at fault go to `rejects`."""
        found: list[Reject] = []
        if self._careful:
            told = self._carefully(batch, found)
        else:
            try:
                told = [self._within(partial(self.engine.match, batch, found))]
            except FAULTS as error:
                self._failed_in("matching", error)
                found = []
                told = self._carefully(batch, found)
        for reject in found:
            rejects.setdefault(batch.numbers[reject.row], reject)
        return told

    def _failed_in(self, stage: str, error: BaseException) -> None:
        self._shared.failures[stage] += 1
        _LOG.error("matching failed, and looks for what is at fault", extra=self._says(), exc_info=error)

    def _carefully(self, batch: JournalBatch, rejects: list[Reject]) -> list[Notices]:
        """Match with a checkpoint of the state afterwards; if that fails, find out what is at fault."""
        if not self._careful and self.engine.has_state:
            self.spoil(batch.numbers[-1])
            raise _RollbackNeeded
        found: list[Reject] = []

        def work() -> Notices:
            told = self.engine.match(batch, found)
            checkpoint = self.engine.to_bytes()
            self._checkpoint = checkpoint
            return told

        try:
            told = [self._within(work)]
        except FAULTS as error:
            self._failed_in("matching", error)
            told, found = self._contained(batch)
        rejects += found
        return told

    def _contained(self, batch: JournalBatch) -> tuple[list[Notices], list[Reject]]:
        """Outcomes of the subscriptions that are not at fault, and the events that are."""
        some = [one.standing() for one in self.standing.values() if one.id in self.engine]
        search = CulpritSearch(self._new_engine, self._shared.watchdog.run, self._seconds, some, self._strikes)
        outcome = search.outcome(batch, self._checkpoint)
        self._checkpoint = outcome.state
        self.engine.restore(self._checkpoint)
        for culprit in search.culprits:
            self._quarantine(self.standing[culprit.id], reason_of(culprit.error), culprit.event)
        return outcome.told, outcome.rejects

    def _quarantine(self, one: Subscription, reason: str, event: int | None) -> None:
        """Remove a subscription that cannot be matched; it is written as quarantined with the next notifications."""
        self._owe(one, reason, event)
        if one.id in self.engine:
            self.engine.remove_many([one.id])

    def _owe(self, one: Subscription, reason: str, event: int | None) -> None:
        self.standing.pop(one.id, None)
        self._owed.append(QuarantineCase(one, reason, event))

    def _settle_owed(self) -> None:
        if self._owed:
            self._patiently(lambda: self._shared.quarantine.put(self._owed))
            self._owed = []

    # ------------------------------------------------------------ going back

    def _go_back(self) -> None:
        """Go back to the last written state, as after a crash; events since then are matched carefully."""
        state_event, state = self._patiently(lambda: self._cursor.state(self._shared.store))
        self._begin_at(state_event, state, list(self.standing.values()))
        self._checkpoint = state
        self._careful, self._spoiled = True, False

    # ------------------------------------------------------------ changes

    def _carry_out(self, changes: Iterable[SubscriptionChange]) -> None:
        """Apply changes to the engine; a subscription that cannot be added is quarantined.

        No event came between these changes, so that only the last one of each subscription counts; and many at once
        take a fraction of the time of one after the other.
        """
        last: dict[str, Subscription | None] = {}
        for change in changes:
            last.pop(change.id, None)
            last[change.id] = change.now
        if self._careful:  # patterns are made anew from there, so that a mistake in one of them is found
            self.engine.restore(self._checkpoint)
        gone = [id_ for id_ in last if id_ in self.engine]
        for id_ in last:
            self.standing.pop(id_, None)
        try:
            self._within(partial(self.engine.remove_many, gone))
            self._stand([one for one in last.values() if one is not None])
            self._settle_owed()
        except FAULTS as error:
            self._failed_in("changing", error)
            now = [one for one in last.values() if one is not None]
            bad = self._cannot_stand(now)
            self.standing |= {one.id: one for one in now if one.id not in bad}
            self.spoil(self.read + 1)
            raise _RollbackNeeded from error

    def _stand(self, some: Sequence[Subscription]) -> None:
        """Add subscriptions to the engine; those that cannot be added are quarantined."""
        if not some:
            return
        self.standing |= {one.id: one for one in some}
        for id_, error in self._shared.watchdog.run(self._patience(some), partial(add_all, self.engine, some)):
            self._cannot(self.standing[id_], error)

    def _patience(self, some: Sequence[Subscription]) -> float:
        return self._seconds + 0.01 * len(some)

    def _cannot(self, one: Subscription, error: BaseException) -> None:
        self._shared.failures["changing"] += 1
        self._owe(one, f"it cannot stand: {reason_of(error)}", None)

    def _cannot_stand(self, some: Sequence[Subscription]) -> set[str]:
        """Quarantine those of some subscriptions that an engine cannot take; returns their ids."""
        if not some:
            return set()
        run = self._shared.watchdog.run
        refused = those_refused(some, self._new_engine, lambda part, work: run(self._patience(part), work))
        for one, error in refused:
            self._cannot(one, error)
        return {one.id for one, _ in refused}

    # ------------------------------------------------------------ telling

    def _rows(
        self, told: Sequence[Notices], written: Mapping[int, JournalEntry], rejects: dict[int, Reject]
    ) -> list[NewNotification]:
        """Notifications as rows of the table, in the order of events."""
        if not any(map(len, told)):
            return []
        older = {number for each in told for number in np.unique(each.event).tolist()} - written.keys()
        if older:  # patterns that waited for late events match events of earlier batches
            written = {**written, **self._patiently(lambda: self._shared.journal.written(sorted(older)))}
        moment = self._shared.now()
        try:
            return self._within(partial(NotificationRows(self._whose, written, moment).all, told))
        except FAULTS as error:
            self._failed_in("telling", error)
        rows, failed = one_by_one(told, partial(NotificationRows, self._whose, moment=moment), written, self._within)
        for one in failed:
            reason, whose = reason_of(one.error), self.standing.get(one.told.subscription)
            if not one.without_event_too:
                rejects[one.told.event] = Reject(0, "", f"no notification of it can be made: {reason}")
            elif whose is not None:
                self._quarantine(whose, f"its notifications cannot be made: {reason}", one.told.event)
        return rows

    def _whose(self, id_: str) -> Subscription | None:
        """A subscription by its id, also one to be quarantined: notifications of earlier events are still made."""
        return self.standing.get(id_) or next((one for one, _, _ in self._owed if one.id == id_), None)

    # ------------------------------------------------------------ writing

    def _write(
        self,
        rows: list[NewNotification],
        number: int,
        *,
        state: bool,
        again: bool = False,
        wrong: Sequence[EventFault] = (),
    ) -> None:
        """Write notifications and progress together; wait while the disk is full."""
        shared, cursor = self._shared, self._cursor
        standing: bytes | None = None
        if state and self._careful:
            standing = self._checkpoint
        elif state:
            try:
                standing = self._within(self.engine.to_bytes)
            except FAULTS as error:
                self._failed_in("keeping", error)
                state = False
                self.spoil(number)

        owed = self._owed

        def work(connection: Connection) -> frozenset[int]:
            grown = shared.outbox.put(connection, rows, again=again)
            if owed:
                grown |= shared.quarantine.write(connection, owed)
            if wrong:
                before = cursor.event(connection)  # those up to there have been counted
                shared.set_aside.put(connection, [one for one in wrong if one.event > before])
            cursor.move(connection, number, state=(standing,) if state else None)
            return grown

        def written() -> None:
            nonlocal again
            try:
                shared.store.write(work, shared.outbox.grown)
            except StoreFailed:
                again = True  # a database that goes away may have written it
                raise

        self._patiently(written)
        if owed:
            shared.quarantine.written(owed)
            self._owed = []
        if state:
            self._state_written, self._state_event, self._moved = time.monotonic(), number, False
            if self._careful and number >= self._careful_until:
                self._careful, self._checkpoint = False, None

    def _patiently(self, what: Callable[[], LookResult]) -> LookResult:
        """Read or write, with retries while the database is not available, until the service ends."""
        while True:
            try:
                return what()
            except (StoreBusy, StoreFull, StoreFailed) as error:
                if self._shared.ending:
                    raise
                _LOG.warning("matching waits for the database: %s", error)
                time.sleep(PAUSE)


def _before(changes: deque[SubscriptionChange], number: int) -> list[SubscriptionChange]:
    """Take the changes that count before an event."""
    found = []
    while changes and changes[0].since < number:
        found.append(changes.popleft())
    return found
