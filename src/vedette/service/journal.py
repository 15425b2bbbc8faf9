"""The journal: accepted events in one sequence, on the disk before the publisher is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError

from vedette.errors import InputError
from vedette.service import clock
from vedette.service.accepted_events import AcceptedBuffer, AcceptedEvents
from vedette.service.errors import StoreBusy, StoreDamaged
from vedette.service.incoming_events import IncomingEvent
from vedette.service.storage import bulk_insert
from vedette.service.storage.row_checksums import event_sums
from vedette.service.storage.store import WAITING, Savepoint, Store, translated_failures
from vedette.service.storage.tables import events
from vedette.service.stream_engine import JournalBatch

NOBODY: Final = ""  # who publishes without a key: no tenant has this name
_COLUMNS: Final = ("stream", "tenant", "source", "id", "received", "body", "trace", "sum")
_IDENTITY: Final = 4  # so many of them, from the first, identify an event
NEWEST: Final = sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))  # the number of the newest event, or 0
_NEW: Final = events.c.number > sa.bindparam("before")
_NEW_NUMBERS: Final = sa.select(sa.func.min(events.c.number), sa.func.max(events.c.number), sa.func.count()).where(_NEW)
_NEW_IDENTITIES: Final = sa.select(*(events.c[name] for name in _COLUMNS[:_IDENTITY]), events.c.number).where(_NEW)
_AT_ONCE: Final = 500  # events that are deleted in one transaction: nobody who writes waits for long


class AcceptedBatch(NamedTuple):
    """Result of publishing a batch of events."""

    numbers: Sequence[int]  # of those that are new, in order
    places: Sequence[int]  # of these among all
    ids: tuple[str, ...]  # of all of them

    @property
    def duplicates(self) -> int:
        """Number of events whose id was there already; these count once."""
        return len(self.ids) - len(self.numbers)


class JournalEntry(NamedTuple):
    """The stored body and trace of an event."""

    body: bytes
    trace: str | None


class _PendingBatch(NamedTuple):
    """Events of one publisher that wait to be written."""

    stream: str
    tenant: str
    received: int
    trace: str | None
    incoming: Sequence[IncomingEvent]
    done: Future[AcceptedBatch]

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows of the table, with their checksums."""
        stream, tenant, received, trace = self.stream, self.tenant, self.received, self.trace
        sums = event_sums(stream, tenant, received, trace, [(one.source, one.id, one.body) for one in self.incoming])
        return [
            (stream, tenant, source, id_, received, body, trace, sum_)
            for (source, id_, _, body), sum_ in zip(self.incoming, sums, strict=True)
        ]

    def accepted(self, numbers: Sequence[int | None]) -> AcceptedBatch:
        """The result, with the numbers of those events that are new."""
        ids = tuple([one.id for one in self.incoming])
        if isinstance(numbers, range):
            return AcceptedBatch(numbers, range(len(numbers)), ids)
        places = [place for place, number in enumerate(numbers) if number is not None]
        return AcceptedBatch([number for number in numbers if number is not None], places, ids)

    def fresh(self, accepted: AcceptedBatch) -> AcceptedEvents:
        """The new events of the batch, as they were accepted."""
        new = self.incoming
        if accepted.duplicates:
            new = [new[place] for place in accepted.places]
        return AcceptedEvents(accepted.numbers, new, self.trace, self.received, self.tenant)


class Journal:
    """The sequence of accepted events of all streams."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._now = now
        self._settled = 0  # all changes of subscriptions before this event are known
        self._grown: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._waiting: list[_PendingBatch] = []  # those that the next write takes along
        self._fresh = AcceptedBuffer()
        self._begun = 0  # the newest event when this began
        self._newest: dict[str, int] = {}

    def start(self, grown: Callable[[str], None]) -> None:
        """Begin; `grown` is called with each stream that has new events, in the thread that writes."""
        self._settled = int(self._store.read(lambda connection: connection.execute(NEWEST).scalar_one()))
        self._begun = self._settled
        self._grown = grown
        self._fresh.begin(self._settled)

    @property
    def settled(self) -> int:
        """Number of the newest event that may be matched: every change of subscriptions before it is known."""
        return self._settled

    def newest(self, stream: str) -> int:
        """Number of the newest event of a stream that may be matched; of all streams, if that is not known."""
        return self._newest.get(stream, self._begun)

    def publish(
        self, stream: str, incoming: Sequence[IncomingEvent], trace: str | None = None, *, tenant: str = NOBODY
    ) -> Future[AcceptedBatch]:
        """Write events; the future has its result when they are on the disk. StoreBusy if too many wait.

        Ids are unique within a stream, a tenant and a source. Events that are published while others wait for the disk
        are written together with them, by the same statement.
        """
        mine = _PendingBatch(stream, tenant, self._now(), trace, incoming, Future())
        with self._lock:
            if len(self._waiting) >= WAITING:
                raise StoreBusy("too many events wait for the disk\nHint: try again in a moment")
            first = not self._waiting
            self._waiting.append(mine)
        if first:
            self._submit()
        return mine.done

    def _submit(self) -> None:
        taken: list[_PendingBatch] | None = None  # None: it was not their turn yet

        def take() -> list[_PendingBatch]:
            nonlocal taken
            with self._lock:
                some, self._waiting = self._waiting, []
            # Batches that were cancelled before are left out; from here on none can be cancelled.
            taken = [each for each in some if each.done.set_running_or_notify_cancel()]
            return taken

        try:
            written = self._store.submit(
                lambda connection: _written(connection, take()), lambda accepted: self._then(taken or (), accepted)
            )
        except BaseException as error:
            _fail(take(), error)
            return
        # If nothing could be written at all, no batch was taken: all that wait get the error.
        written.add_done_callback(lambda done: _tell(take() if taken is None else taken, done))

    def _then(self, waiting: Sequence[_PendingBatch], outcomes: Sequence[AcceptedBatch | BaseException]) -> None:
        grown: dict[str, None] = {}
        for each, one in zip(waiting, outcomes, strict=True):
            if isinstance(one, AcceptedBatch) and one.numbers:
                self._fresh.put(each.stream, each.fresh(one))
                self._newest[each.stream] = max(self._newest.get(each.stream, 0), one.numbers[-1])
                self._settled = max(self._settled, one.numbers[-1])
                grown[each.stream] = None
        for stream in grown if self._grown is not None else ():
            self._grown(stream)  # type: ignore[misc]

    def after(
        self, stream: str, number: int, upto: int, limit: int, fresh_too: bool = True
    ) -> tuple[JournalBatch, dict[int, JournalEntry]]:
        """The next events of a stream that may be matched, and their stored entries by number.

        Events in memory are handed out once, to the caller with `fresh_too`; all other calls read the disk.
        """
        fresh = self._fresh.take(stream, number, upto, limit) if fresh_too else None
        if fresh is not None:
            return _joined(fresh)
        rows = self._stored(stream, number, upto, limit)
        numbers = [row.number for row in rows]
        read, damaged = _read(numbers, [row.body for row in rows])
        ids, received, tenants = ([getattr(row, name) for row in rows] for name in ("id", "received", "tenant"))
        batch = JournalBatch(numbers, ids, read, received, tenants, damaged)
        return batch, {row.number: JournalEntry(row.body, row.trace) for row in rows}

    def _stored(self, stream: str, number: int, upto: int, limit: int) -> list[sa.Row[Any]]:
        """The next events of a stream from the disk; damaged rows are left out and reported."""
        found: list[sa.Row[Any]] = []
        mine = sa.select(events).where(events.c.stream == stream, events.c.number <= upto).order_by(events.c.number)
        while len(found) < limit:
            wanted = mine.where(events.c.number > number).limit(limit - len(found))
            try:
                rows = self._store.read(lambda c, wanted=wanted: c.execute(wanted).all())  # type: ignore[misc]
            except StoreDamaged:
                return found + self._one_by_one(stream, number, upto, limit - len(found))
            found += self._store.damages.whole("events", rows)
            if not rows:
                break
            if rows[-1].number <= number:  # its index is damaged
                return found + self._one_by_one(stream, number, upto, limit - len(found))
            number = rows[-1].number
        return found

    def _one_by_one(self, stream: str, number: int, upto: int, limit: int) -> list[sa.Row[Any]]:
        """The same, event by event, where some pages of the database cannot be read."""
        found: list[sa.Row[Any]] = []
        for each in range(number + 1, upto + 1):
            wanted = sa.select(events).where(events.c.number == each)
            try:
                row = self._store.read(lambda c, wanted=wanted: c.execute(wanted).first())  # type: ignore[misc]
            except StoreDamaged:
                self._store.damages.tell("events", each, "its page of the database cannot be read")
                continue
            if row is not None and row.stream == stream and self._store.damages.fits("events", row):
                found.append(row)
                if len(found) == limit:
                    break
        return found

    def written(self, numbers: Sequence[int]) -> dict[int, JournalEntry]:
        """The stored entries of these events, as far as they still exist."""
        wanted = sa.select(events).where(events.c.number.in_(numbers))
        rows = self._store.damages.whole("events", self._store.read(lambda c: c.execute(wanted).all()))
        return {row.number: JournalEntry(row.body, row.trace) for row in rows}

    def recent(self, stream: str, since: int, limit: int, *, by: str | None = None) -> JournalBatch:
        """The latest events of a stream since a moment, numbered from 0, for dry runs.

        All of them, or only those that were published `by` a tenant.
        """
        wanted = sa.select(events).where(events.c.stream == stream, events.c.received >= since)
        if by is not None:
            wanted = wanted.where(events.c.tenant == by)
        rows = self._store.read(lambda c: c.execute(wanted.order_by(events.c.number.desc()).limit(limit)).all())
        rows = self._store.damages.whole("events", rows[::-1])
        numbers = range(len(rows))
        bodies, received = [orjson.loads(row.body) for row in rows], [row.received for row in rows]
        return JournalBatch(numbers, [str(number) for number in numbers], bodies, received)

    def forget(self, before: int, least: int) -> int:
        """Delete events that were received before a moment and are not needed: below the number `least`."""
        old = sa.select(events.c.number).where(events.c.received < before, events.c.number < least).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda c: c.execute(old).scalars().all()):
            gone = sa.delete(events).where(events.c.number.in_(some))
            done += self._store.write(lambda c, gone=gone: c.execute(gone).rowcount)  # type: ignore[misc]
        return done


def _joined(some: Sequence[AcceptedEvents]) -> tuple[JournalBatch, dict[int, JournalEntry]]:
    """Accepted events as one batch, and their entries by number."""
    entries: dict[int, JournalEntry] = {}
    numbers: list[int] = []
    ids: list[str] = []
    read: list[dict[str, Any]] = []
    received: list[int] = []
    tenants: list[str] = []
    for each in some:
        count, trace = len(each.numbers), each.trace
        numbers += each.numbers
        ids += [one.id for one in each.events]
        read += [one.event for one in each.events]
        received += [each.received] * count
        tenants += [each.tenant] * count
        entries.update(
            (number, JournalEntry(one.body, trace)) for number, one in zip(each.numbers, each.events, strict=True)
        )
    return JournalBatch(numbers, ids, read, received, tenants), entries


def _read(numbers: Sequence[int], bodies: Sequence[bytes]) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Decode events; one that cannot be read is empty, with its reason in the second result, by number."""
    try:
        return list(map(orjson.loads, bodies)), {}
    except Exception:  # some of them cannot be read: those alone are left out
        read: list[dict[str, Any]] = []
        damaged: dict[int, str] = {}
        for number, body in zip(numbers, bodies, strict=True):
            try:
                read.append(orjson.loads(body))
            except Exception as error:
                read.append({})
                damaged[number] = f"it cannot be read: {type(error).__name__}: {str(error)[:200]}"
        return read, damaged


def _written(connection: Connection, waiting: Sequence[_PendingBatch]) -> Sequence[AcceptedBatch | BaseException]:
    """Results for each publisher; the error of one does not fail the others."""
    if len(waiting) <= 1:  # an error undoes the whole job, which is its own
        return _inserted(connection, waiting)
    savepoint = Savepoint(connection, "publishers")
    try:
        found = _inserted(connection, waiting)
    except (InputError, DataError):
        savepoint.rollback()
        return [_inserted_alone(connection, each) for each in waiting]
    savepoint.release()
    return found


def _inserted_alone(connection: Connection, one: _PendingBatch) -> AcceptedBatch | BaseException:
    savepoint = Savepoint(connection, "publisher")
    try:
        with translated_failures():
            found = _inserted(connection, [one])[0]
    except InputError as error:
        savepoint.rollback()
        return error
    savepoint.release()
    return found


def _inserted(connection: Connection, waiting: Sequence[_PendingBatch]) -> list[AcceptedBatch]:
    """Insert all rows; SQL leaves out those whose id exists, and of equal ids in one write the first counts."""
    before = int(connection.execute(NEWEST).scalar_one())
    rows = [row for each in waiting for row in each.rows()]
    bulk_insert.insert(connection, events, _COLUMNS, rows, new_only=True)
    first, last, count = connection.execute(_NEW_NUMBERS, {"before": before}).one()
    if count == len(rows) and (not count or last - first + 1 == count):  # all are new, and numbered as they came
        ends = list(accumulate((len(each.incoming) for each in waiting), initial=first or 0))
        return [each.accepted(range(*ends[place : place + 2])) for place, each in enumerate(waiting)]
    there = connection.execute(_NEW_IDENTITIES, {"before": before})
    found = {tuple(row[:-1]): row[-1] for row in there}
    numbers = iter([found.pop(row[:_IDENTITY], None) for row in rows])
    return [each.accepted(list(islice(numbers, len(each.incoming)))) for each in waiting]


def _tell(waiting: Sequence[_PendingBatch], done: Future[Sequence[AcceptedBatch | BaseException]]) -> None:
    """Set the results of all who were written together."""
    error = CancelledError() if done.cancelled() else done.exception()
    if error is not None:
        _fail(waiting, error)
        return
    for each, one in zip(waiting, done.result(), strict=True):
        if isinstance(one, AcceptedBatch):
            each.done.set_result(one)
        else:
            each.done.set_exception(one)


def _fail(waiting: Sequence[_PendingBatch], error: BaseException) -> None:
    for each in waiting:
        each.done.set_exception(error)
