"""How are events accepted? They are written down in one sequence, and on the disk before anybody is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, Final, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError

from vedette.errors import InputError
from vedette.service import clock
from vedette.service.engine import Batch
from vedette.service.errors import StoreBusy
from vedette.service.fresh import Fresh, FreshEvents
from vedette.service.incoming import Incoming
from vedette.service.storage import bulk
from vedette.service.storage.store import WAITING, Store, failures_told
from vedette.service.storage.tables import events

_AT_ONCE: Final = 500  # events that are deleted in one transaction: nobody who writes waits for long


class Accepted(NamedTuple):
    """What became of a batch of events."""

    numbers: tuple[int, ...]  # of those that are new, in order
    places: tuple[int, ...]  # of these among all
    ids: tuple[str, ...]  # of all of them

    @property
    def duplicates(self) -> int:
        """Those whose id was there already: they count once."""
        return len(self.ids) - len(self.numbers)


class Written(NamedTuple):
    """An event as it is written down."""

    body: bytes
    trace: str | None


class _Waiting(NamedTuple):
    """Events of one publisher, on their way to the disk."""

    stream: str
    rows: list[dict[str, Any]]
    events: list[dict[str, Any]]
    done: Future[Accepted]

    def fresh(self, accepted: Accepted) -> Iterator[Fresh]:
        """Those of them that are new, as they were accepted."""
        for number, place in zip(accepted.numbers, accepted.places, strict=True):
            row = self.rows[place]
            yield Fresh(number, row["id"], self.events[place], row["body"], row["trace"], row["received"])


class Journal:
    """The sequence of accepted events of all streams."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._now = now
        self._settled = 0  # up to here all changes of subscriptions that came before are known
        self._grown: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []  # those that the next write takes along
        self._fresh = FreshEvents()

    def start(self, grown: Callable[[str], None]) -> None:
        """Begin; `grown` hears which stream has new events, in the thread that writes."""
        last = sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))
        self._settled = int(self._store.read(lambda connection: connection.execute(last).scalar_one()))
        self._grown = grown
        self._fresh.begin(self._settled)

    @property
    def settled(self) -> int:
        """The newest event that may be matched: every change of subscriptions before it has been heard of."""
        return self._settled

    def publish(self, stream: str, incoming: Sequence[Incoming], trace: str | None = None) -> Future[Accepted]:
        """Write events down; the result is there once they are on the disk. StoreBusy if too many wait.

        Whoever comes while others wait for the disk is written down with them, by the same statement.
        """
        received = self._now()
        rows = [
            {
                "stream": stream,
                "source": one.source,
                "id": one.id,
                "received": received,
                "body": one.body,
                "trace": trace,
            }
            for one in incoming
        ]
        mine = _Waiting(stream, rows, [one.event for one in incoming], Future())
        with self._lock:
            if len(self._waiting) >= WAITING:
                raise StoreBusy("too many events wait for the disk\nHint: try again in a moment")
            first = not self._waiting
            self._waiting.append(mine)
        if first:
            self._submit()
        return mine.done

    def _submit(self) -> None:
        taken: list[_Waiting] | None = None  # None: it was not their turn yet

        def take() -> list[_Waiting]:
            nonlocal taken
            with self._lock:
                some, self._waiting = self._waiting, []
            # Whoever went away before it was their turn is left out; from here on nobody can go.
            taken = [each for each in some if each.done.set_running_or_notify_cancel()]
            return taken

        try:
            written = self._store.submit(
                lambda connection: _written(connection, take()), lambda accepted: self._then(taken or (), accepted)
            )
        except BaseException as error:
            _fail(take(), error)
            return
        # If nothing could be written at all, it was nobody's turn: all who wait hear of it.
        written.add_done_callback(lambda done: _tell(take() if taken is None else taken, done))

    def _then(self, waiting: Sequence[_Waiting], outcomes: Sequence[Accepted | BaseException]) -> None:
        grown: dict[str, None] = {}
        for each, one in zip(waiting, outcomes, strict=True):
            if isinstance(one, Accepted) and one.numbers:
                self._fresh.put(each.stream, each.fresh(one))
                self._settled = max(self._settled, one.numbers[-1])
                grown[each.stream] = None
        for stream in grown if self._grown is not None else ():
            self._grown(stream)  # type: ignore[misc]

    def after(self, stream: str, number: int, upto: int, limit: int) -> tuple[Batch, dict[int, Written]]:
        """The next events of a stream, of those that may be matched, and how they are written down, by number."""
        fresh = self._fresh.take(stream, number, upto, limit)
        if fresh is not None:
            batch = Batch(
                [one.number for one in fresh],
                [one.id for one in fresh],
                [one.event for one in fresh],
                [one.received for one in fresh],
            )
            return batch, {one.number: Written(one.body, one.trace) for one in fresh}
        columns = sa.select(events.c.number, events.c.id, events.c.body, events.c.trace, events.c.received)
        wanted = columns.where(events.c.stream == stream, events.c.number > number, events.c.number <= upto)
        rows = self._store.read(lambda c: c.execute(wanted.order_by(events.c.number).limit(limit)).all())
        numbers, ids, bodies, traces, received = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [], [])
        batch = Batch(numbers, ids, list(map(orjson.loads, bodies)), received)
        return batch, dict(zip(numbers, map(Written, bodies, traces), strict=True))

    def written(self, numbers: Sequence[int]) -> dict[int, Written]:
        """The events of these numbers, as far as they are still there."""
        wanted = sa.select(events.c.number, events.c.body, events.c.trace).where(events.c.number.in_(numbers))
        rows = self._store.read(lambda c: c.execute(wanted).all())
        return {row.number: Written(row.body, row.trace) for row in rows}

    def recent(self, stream: str, since: int, limit: int) -> Batch:
        """The latest events of a stream that came since a moment, numbered from 0: what dry runs are tried on."""
        wanted = sa.select(events.c.body, events.c.received).where(
            events.c.stream == stream, events.c.received >= since
        )
        rows = self._store.read(lambda c: c.execute(wanted.order_by(events.c.number.desc()).limit(limit)).all())
        rows = rows[::-1]
        numbers = range(len(rows))
        bodies, received = [orjson.loads(row.body) for row in rows], [row.received for row in rows]
        return Batch(numbers, [str(number) for number in numbers], bodies, received)

    def forget(self, before: int, least: int) -> int:
        """Delete events that came before a moment and that nobody needs: below the number `least`."""
        old = sa.select(events.c.number).where(events.c.received < before, events.c.number < least).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda c: c.execute(old).scalars().all()):
            gone = sa.delete(events).where(events.c.number.in_(some))
            done += self._store.write(lambda c, gone=gone: c.execute(gone).rowcount)  # type: ignore[misc]
        return done


def _written(connection: Connection, waiting: Sequence[_Waiting]) -> Sequence[Accepted | BaseException]:
    """What became of the events of each publisher; the mistake of one is not that of the others."""
    try:
        with connection.begin_nested():
            return _inserted(connection, waiting)
    except (InputError, DataError):
        return [_inserted_alone(connection, each) for each in waiting]


def _inserted_alone(connection: Connection, one: _Waiting) -> Accepted | BaseException:
    try:
        with failures_told(), connection.begin_nested():
            return _inserted(connection, [one])[0]
    except InputError as error:
        return error


def _inserted(connection: Connection, waiting: Sequence[_Waiting]) -> list[Accepted]:
    """SQL leaves out those whose id is there; of those that came together the first one counts."""
    before = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))).scalar_one())
    rows = [row for each in waiting for row in each.rows]
    bulk.insert(connection, events, rows, new_only=True)
    number, new = events.c.number, events.c.number > before
    first, last, count = connection.execute(
        sa.select(sa.func.min(number), sa.func.max(number), sa.func.count()).where(new)
    ).one()
    if count == len(rows) and (not count or last - first + 1 == count):  # all are new, and numbered as they came
        numbers = iter(range(first or 0, (first or 0) + count))
        return [_accepted(each, [next(numbers) for _ in each.rows]) for each in waiting]
    identity = sa.select(events.c.stream, events.c.source, events.c.id, number)
    found = {(stream, source, id_): at for stream, source, id_, at in connection.execute(identity.where(new))}
    return [
        _accepted(each, [found.pop((each.stream, row["source"], row["id"]), None) for row in each.rows])
        for each in waiting
    ]


def _accepted(one: _Waiting, numbers: Sequence[int | None]) -> Accepted:
    """What became of one publisher's events: the numbers of those that are new."""
    places = tuple(place for place, number in enumerate(numbers) if number is not None)
    mine = tuple(number for number in numbers if number is not None)
    return Accepted(mine, places, tuple(row["id"] for row in one.rows))


def _tell(waiting: Sequence[_Waiting], done: Future[Sequence[Accepted | BaseException]]) -> None:
    """Answer all who were written down together."""
    error = CancelledError() if done.cancelled() else done.exception()
    if error is not None:
        _fail(waiting, error)
        return
    for each, one in zip(waiting, done.result(), strict=True):
        if isinstance(one, Accepted):
            each.done.set_result(one)
        else:
            each.done.set_exception(one)


def _fail(waiting: Sequence[_Waiting], error: BaseException) -> None:
    for each in waiting:
        each.done.set_exception(error)
