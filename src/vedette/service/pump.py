"""How do accepted events become notifications? One thread reads the journal, matches, and writes what is to be told.

Each stream has an engine. Changes of subscriptions come in by a queue, each with the number of the event after which it
counts, and are carried out exactly there. What is told, and how far the stream was read, are written together, so that
nothing is told twice or forgotten. Where patterns stand is written now and then; after a crash events since then are
matched again, and give notifications with the same ids, which are there already.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.operators.registry import Operators
from vedette.schema.encode import Reject
from vedette.service import clock
from vedette.service.engine import Batch, Engine, Told
from vedette.service.errors import StoreBusy, StoreFailed, StoreFull
from vedette.service.journal import Journal, Written
from vedette.service.notifying import body_of, id_of
from vedette.service.outbox import Outbox
from vedette.service.registry import Change, Registry, Subscription
from vedette.service.storage.store import Store
from vedette.service.storage.tables import progress
from vedette.service.telemetry import traces
from vedette.service.tenants import Stream
from vedette.service.warming import warm_up

_LOG: Final = logging.getLogger("vedette.service.pump")
BATCH: Final = 2_000  # events that are matched together
_STATE_EVERY: Final = 1.0  # seconds between two writings of where patterns stand
_COMPLAINTS: Final = 10.0  # seconds between two
_FEW: Final = 64  # events; where fewer came, others are waited for a moment: alone each costs ten times as much
_MOMENT: Final = 0.01  # seconds
_PAUSE: Final = 0.5  # seconds before trying again, when nothing can be written

Heard = Callable[[Stream, Batch, list[Told]], None]
Seen = TypeVar("Seen")


@dataclass(slots=True)
class _Flow:
    """One stream on its way through the engine."""

    stream: Stream
    engine: Engine
    read: int  # up to which events the engine has seen
    told: int  # up to which events notifications were written: below it they may be there already
    standing: dict[str, Subscription] = field(default_factory=dict)
    changes: deque[Change] = field(default_factory=deque)  # in order; appended by another thread
    state_written: float = 0.0
    state_event: int = 0
    complained: float = float("-inf")  # when it was last said that events cannot be matched
    moved: bool = False  # since where it stands was last written


class Pump:
    """Matches whatever is accepted. `heard` is told of every batch, for those who watch."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        outbox: Outbox,
        *,
        operators: Operators | None = None,
        now: clock.Clock = clock.now,
        heard: Heard | None = None,
    ) -> None:
        self._store, self._journal, self._outbox = store, journal, outbox
        self._operators = operators
        self._now = now
        self._heard = heard
        self._flows: dict[str, _Flow] = {}
        self._wake = threading.Event()
        self._looks: deque[tuple[str, Callable[[Engine], Any], Future[Any]]] = deque()
        self._ending = self._ended = False
        self._thread: threading.Thread | None = None
        self.warm = False  # until then the loops of matching are being loaded, or compiled
        self.failure: BaseException | None = None
        self.matched: Counter[str] = Counter()  # events, by stream
        self.rejected: Counter[str] = Counter()  # of these, events that break the schema of their stream

    # ------------------------------------------------------------ beginning and ending

    def open(self, stream: Stream, registry: Registry) -> None:
        """Take up a stream where it was left."""
        lateness = timedelta(microseconds=stream.lateness)
        engine = Engine(stream.schema, operators=self._operators, lateness=lateness)
        row = self._store.read(lambda c: c.execute(sa.select(progress).where(progress.c.stream == stream.name)).one())
        read = row.state_event  # from there on events are matched again: patterns have to follow them
        flow = _Flow(stream, engine, read, row.event, state_event=row.state_event)
        engine.restore(row.state)
        there = [one for one in registry.standing(stream.name) if one.kind != "want"]
        flow.standing = {one.id: one for one in there if one.since <= read}
        for id_, error in engine.add_many([one.standing() for one in flow.standing.values()]):
            del flow.standing[id_]
            _LOG.error("subscription %s cannot stand: %s", id_, error)
        later = sorted((one for one in there if one.since > read), key=_since)
        flow.changes.extend(Change(one.since, stream.name, one.id, one) for one in later)
        self._flows[stream.name] = flow

    def start(self) -> None:
        """Begin to match."""
        self._thread = threading.Thread(target=self._run, name="vedette-pump", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Match what was accepted, write where patterns stand, and end."""
        self._ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for flow in self._flows.values():
            flow.engine.close()

    def change(self, change: Change) -> None:
        """A subscription came, changed or went; to be called in the order in which that was written down."""
        flow = self._flows.get(change.stream)
        if flow is not None:
            flow.changes.append(change)
            self._wake.set()

    def wake(self, _stream: str) -> None:
        """There are new events."""
        self._wake.set()

    @property
    def behind(self) -> int:
        """How many numbers the slowest stream is behind what was accepted."""
        return max((self._journal.settled - flow.read for flow in self._flows.values()), default=0)

    @property
    def least(self) -> int:
        """Events below this number are not needed any more."""
        settled = self._journal.settled
        reads = [flow.state_event if flow.moved else flow.read for flow in self._flows.values()]
        return min(reads, default=settled)

    def engine(self, stream: str) -> Engine:
        """The engine of a stream, for those who look."""
        return self._flows[stream].engine

    def look(self, stream: str, what: Callable[[Engine], Seen]) -> Future[Seen]:
        """Let the thread that matches look at the engine of a stream, between two batches: nobody else may."""
        found: Future[Any] = Future()
        self._looks.append((stream, what, found))
        self._wake.set()
        if self._ended:
            self._show()
        return found

    def standing(self, stream: str, id_: str) -> Subscription | None:
        """A subscription as it stands now; to be asked by who is told of a batch."""
        return self._flows[stream].standing.get(id_)

    def _show(self) -> None:
        while True:
            try:
                stream, what, found = self._looks.popleft()
            except IndexError:  # none is left, or another thread was quicker: at the end all may show
                return
            if not found.set_running_or_notify_cancel():
                continue
            try:
                if self._ended:
                    raise StoreBusy("matching has ended\nHint: see /readyz")
                found.set_result(what(self._flows[stream].engine))
            except Exception as error:
                found.set_exception(error)

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            warm_up()
            self.warm = True
            while True:
                self._wake.clear()
                ending = self._ending
                moved = 0
                for flow in list(self._flows.values()):
                    moved += self._advanced(flow)
                self._show()
                if moved:
                    if moved < _FEW and not ending:
                        time.sleep(_MOMENT)
                    continue
                if ending:
                    break
                self._wake.wait(timeout=_STATE_EVERY)
            for flow in self._flows.values():
                self._write(flow, [], flow.read, state=True)
        except BaseException as error:
            self.failure = error
            _LOG.exception("matching has ended")
        finally:
            self._ended = True
            self._show()

    def _advanced(self, flow: _Flow) -> int:
        """Match the next events of a stream; how many there were."""
        upto = self._journal.settled
        # Whatever changed before one of these events was accepted is in the queue by now.
        batch, written = self._patiently(lambda: self._journal.after(flow.stream.name, flow.read, upto, BATCH))
        if len(batch) == BATCH:
            upto = batch.numbers[-1]
        with traces.matching(flow.stream.name, len(batch), [one.trace for one in written.values()]):
            told = self._matched(flow, batch, upto)
        due = flow.moved and time.monotonic() - flow.state_written >= _STATE_EVERY
        if not len(batch):
            flow.read = max(flow.read, upto)  # there is nothing of this stream up to there
            if due:
                self._write(flow, [], flow.read, state=True)
            return 0
        flow.moved = True
        again = batch.numbers[0] <= flow.told
        self._write(flow, self._rows(flow, told, written), batch.numbers[-1], state=due, again=again)
        flow.read = batch.numbers[-1]
        flow.told = max(flow.told, flow.read)
        self.matched[flow.stream.name] += len(batch)
        if self._heard is not None:
            self._heard(flow.stream, batch, told)
        return len(batch)

    def _matched(self, flow: _Flow, batch: Batch, upto: int) -> list[Told]:
        """What a batch tells, every change carried out after the event that it counts after."""
        told: list[Told] = []
        rejects: list[Reject] = []
        begin = 0
        while flow.changes and flow.changes[0].since <= upto:
            end = bisect_right(batch.numbers, flow.changes[0].since, begin)
            if end > begin:
                told += flow.engine.match(batch.part(begin, end), rejects)
            until = batch.numbers[end] if end < len(batch) else upto + 1
            self._carry_out(flow, _before(flow.changes, until))
            begin = end
        if begin < len(batch):
            told += flow.engine.match(batch.part(begin, len(batch)), rejects)
        if rejects:
            self._complain(flow, rejects)
        return told

    def _complain(self, flow: _Flow, rejects: list[Reject]) -> None:
        """Count events that break the schema; now and then one of them is logged."""
        name = flow.stream.name
        self.rejected[name] += len(rejects)
        if time.monotonic() - flow.complained > _COMPLAINTS:
            flow.complained = time.monotonic()
            said = {"stream": name, "attribute": rejects[0].attribute, "reason": rejects[0].reason}
            _LOG.warning("an event cannot be matched", extra=said | {"rejected": self.rejected[name]})

    def _carry_out(self, flow: _Flow, changes: Iterable[Change]) -> None:
        """Let the engine know what became of each subscription; one that cannot stand is left out, and said so.

        No event came between these changes, so that only the last of each subscription counts; and many at once take
        a fraction of the time of one after the other.
        """
        last: dict[str, Subscription | None] = {}
        for change in changes:
            if change.now is None or change.now.kind != "want":
                last.pop(change.id, None)
                last[change.id] = change.now
        for id_ in last:
            flow.standing.pop(id_, None)
            if id_ in flow.engine:
                flow.engine.remove(id_)
        now = {id_: one for id_, one in last.items() if one is not None}
        refused = dict(flow.engine.add_many(one.standing() for one in now.values()))
        for id_, error in refused.items():
            _LOG.error("subscription %s cannot stand: %s", id_, error)
        flow.standing |= {id_: one for id_, one in now.items() if id_ not in refused}

    def _rows(self, flow: _Flow, told: Sequence[Told], written: dict[int, Written]) -> list[dict[str, Any]]:
        """Notifications as rows of the table, in the order of events."""
        older = {one.event for one in told} - written.keys()
        if older:  # patterns that waited for late events tell of events of earlier batches
            written = written | self._patiently(lambda: self._journal.written(sorted(older)))
        moment, seen, rows = self._now(), Counter[tuple[Any, ...]](), []
        said = clock.iso(moment)
        for one in told:
            subscription = flow.standing.get(one.subscription)
            if subscription is None:
                continue
            alike = (one.subscription, one.event, one.kind, tuple(sorted((one.bindings or {}).items())), one.within)
            event = written.get(one.event)
            id_ = id_of(subscription, one, seen[alike])
            seen[alike] += 1
            rows.append(
                {
                    "id": id_,
                    "subscription": subscription.number,
                    "tenant": subscription.tenant,
                    "event": one.event,
                    "kind": one.kind,
                    "body": body_of(id_, subscription, one, None if event is None else event.body, said),
                    "created": moment,
                    "trace": None if event is None else event.trace,
                }
            )
        return rows

    def _write(self, flow: _Flow, rows: list[dict[str, Any]], number: int, *, state: bool, again: bool = False) -> None:
        """Write what is told and how far the stream was read, together; wait while the disk is full."""
        values: dict[str, Any] = {"event": sa.case((progress.c.event > number, progress.c.event), else_=number)}
        if state:
            values |= {"state": flow.engine.to_bytes(), "state_event": number}

        def work(connection: Connection) -> frozenset[int]:
            grown = self._outbox.put(connection, rows, again=again)
            connection.execute(sa.update(progress).where(progress.c.stream == flow.stream.name).values(**values))
            return grown

        def written() -> None:
            nonlocal again
            try:
                self._store.write(work, self._outbox.grown)
            except StoreFailed:
                again = True  # a database that goes away may have written it
                raise

        self._patiently(written)
        if state:
            flow.state_written, flow.state_event, flow.moved = time.monotonic(), number, False

    def _patiently(self, what: Callable[[], Seen]) -> Seen:
        """Read or write; as long as the database cannot, it is tried again, until the service ends."""
        while True:
            try:
                return what()
            except (StoreBusy, StoreFull, StoreFailed) as error:
                if self._ending:
                    raise
                _LOG.warning("matching waits for the database: %s", error)
                time.sleep(_PAUSE)


def _before(changes: deque[Change], number: int) -> list[Change]:
    """Take those changes that count before an event."""
    found = []
    while changes and changes[0].since < number:
        found.append(changes.popleft())
    return found


def _since(one: Subscription) -> int:
    return one.since
