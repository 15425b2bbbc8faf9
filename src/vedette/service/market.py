"""Matches offers with wants; each pair that meets makes one notification.

Offers and wants are constraints (Tomasic 2006). Those of a stream are held in memory by `Meetings`, rebuilt from the
database when the service starts; notifications are written by transactions of their own, after the commit of the offer
or want.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.service import clock, tickets
from vedette.service.costs import cost_of
from vedette.service.errors import NotAllowed, NotFound, OverLimit, StoreBusy, StoreFailed
from vedette.service.fault_isolation import TimedCall
from vedette.service.meetings import MarketOffer, MeetingListener, Meetings, OfferPair, WithdrawnOffer
from vedette.service.notification import meeting_body, meeting_id
from vedette.service.outbox import NewNotification, Outbox
from vedette.service.quarantine import Quarantine, QuarantineCase
from vedette.service.rights import Rights
from vedette.service.settings import LimitSettings
from vedette.service.storage.row_checksums import row_sum
from vedette.service.storage.store import Store
from vedette.service.storage.tables import offers, subscriptions, usage
from vedette.service.subscription_registry import WANTS, Subscription, SubscriptionChange, of_row
from vedette.service.tenants import ServiceStream, Streams, Tenant

_PATIENCE: Final = 10.0  # seconds that what is under way has to come back when the service ends
_PAGE: Final = 1_000
_AT_ONCE: Final = 500  # offers, or notifications, in one transaction: nobody who writes waits for long


class Market:
    """The offers and wants of all streams. Every change is durable before it is answered."""

    def __init__(
        self,
        store: Store,
        streams: Streams,
        rights: Rights,
        outbox: Outbox,
        limits: LimitSettings,
        now: clock.Clock,
        quarantine: Quarantine,
        run: TimedCall,
        failures: Counter[str],
    ) -> None:
        self._store, self._streams, self._outbox, self._limits, self._now = store, streams, outbox, limits, now
        self._may, self._quarantine, self._run, self._failures = rights.may, quarantine, run, failures
        self._meetings: dict[str, Meetings] = {}
        self._owed: dict[int, list[OfferPair]] = {}  # met, and not written down yet
        self._at_fault: dict[int, QuarantineCase] = {}  # to be quarantined, and not written down yet
        self._serials = itertools.count()
        self._started = False

    def begin(self, stream: ServiceStream) -> None:
        """Add a stream without offers and wants."""
        hearers = MeetingListener(self._owe, self._cannot)
        seconds = self._limits.matching_seconds
        made = Meetings(stream.name, stream.schema, self._moment, self._run, seconds, hearers, self._failures)
        self._meetings[stream.name] = made
        if self._started:
            made.start()

    def start(self) -> None:
        """Begin to meet offers and wants."""
        self._started = True
        for one in self._meetings.values():
            one.start()

    def close(self) -> None:
        """End; what was not written yet is found again when the service starts."""
        for one in self._meetings.values():
            one.close(_PATIENCE)

    def carry_out(self) -> None:
        """Meet all that has come, in the calling thread, where there is no other."""
        for one in self._meetings.values():
            one.carry_out()

    @property
    def behind(self) -> int:
        """Number of changes and results that are not met or not written yet."""
        return sum(one.behind for one in self._meetings.values()) + len(self._owed) + len(self._at_fault)

    def open(self, stream: ServiceStream) -> None:
        """Load the offers and wants of a stream; pairs that met before are not notified again, as ids are the same.

        What an earlier version accepted and this one refuses is left out, and logged.
        """
        self.begin(stream)
        put = self._meetings[stream.name].put
        wants = (
            sa.select(subscriptions)
            .where(
                subscriptions.c.stream == stream.name,
                WANTS,
                subscriptions.c.expires > self._now(),
            )
            .where(subscriptions.c.quarantined.is_(None))
        )
        there = sa.select(offers).where(offers.c.stream == stream.name, offers.c.expires > self._now())
        for row in self._store.read(lambda c: c.execute(there.order_by(offers.c.number)).all()):
            if self._store.damages.fits("offers", row):
                put(_offer(row))
        for row in self._store.read(lambda c: c.execute(wants.order_by(subscriptions.c.number)).all()):
            if self._store.damages.fits("subscriptions", row):
                want = of_row(row)
                put(SubscriptionChange(want.since, want.stream, want.id, want))

    def _moment(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._now() / clock.SECOND, dt.UTC)

    # ------------------------------------------------------------ wants

    def check_want(self, stream: ServiceStream, when: str) -> None:
        """FilterError if a text cannot be a want, given the offers and wants of the stream."""
        self._meetings[stream.name].check(when)

    def change(self, change: SubscriptionChange) -> None:
        """Add, replace or remove a want."""
        if change.now is None or change.now.is_want:
            self._meetings[change.stream].put(change)

    # ------------------------------------------------------------ offers

    def offer(
        self, tenant: Tenant, stream: str, when: str, *, publisher: str | None = None, validity: float | None = None
    ) -> tuple[MarketOffer, str]:
        """Register an offer, notify matches; return (offer, ticket)."""
        self._streams.get(stream)
        most = tenant.limits.get("subscriptions", self._limits.subscriptions)
        cost = cost_of(when)
        if cost > self._limits.subscription_cost:
            raise OverLimit(f"this offer costs {cost:,.0f}, and one may cost {self._limits.subscription_cost:,.0f}")
        seconds = self._limits.validity if validity is None else validity
        if not 0 < seconds <= self._limits.longest_validity:
            raise InputError(f"a validity of {seconds:g} s\nHint: at most {self._limits.longest_validity:g} s")
        ticket = tickets.new(tickets.TICKET)
        moment = self._now()
        values = {
            "id": "o_" + secrets.token_hex(12),
            "tenant": tenant.name,
            "stream": stream,
            "publisher": publisher,
            "when": when,
            "ticket": ticket.hash,
            "created": moment,
            "expires": moment + int(seconds * clock.SECOND),
        }
        values["sum"] = row_sum("offers", values)

        self._meetings[stream].check(when)

        def work(connection: Connection) -> MarketOffer:
            if _used(connection, tenant.name, 1) > most:
                raise OverLimit(f"a tenant may have {most:,} offers\nHint: withdraw some")
            return _offer(connection.execute(sa.insert(offers).values(**values).returning(offers)).one())

        return self._store.write(work, self._meetings[stream].put), ticket.text

    def withdraw(self, tenant: Tenant, id_: str, ticket: str | None) -> None:
        """Remove an offer; notifications that were made of it stay."""

        def work(connection: Connection) -> MarketOffer:
            row = connection.execute(_mine(tenant, id_)).first()
            if row is None:
                raise NotFound(f"there is no offer {id_[:80]!r}")
            if not tickets.holds(ticket, row.ticket):
                raise NotAllowed("this is not the ticket of the offer\nHint: send it: Vedette-Ticket: vt_…")
            connection.execute(sa.delete(offers).where(offers.c.id == id_))
            _used(connection, tenant.name, -1)
            return _offer(row)

        self._store.write(work, self._gone)

    def expire(self) -> int:
        """Remove expired offers and return how many; notifications that could not be written before are written."""
        self.settle()
        over = offers.c.expires <= self._now()
        first = sa.select(offers.c.number).where(over).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda connection: connection.execute(first).scalars().all()):

            def work(connection: Connection, some: Sequence[int] = some) -> list[MarketOffer]:
                gone = sa.delete(offers).where(offers.c.number.in_(some)).returning(offers)
                rows = [_offer(row) for row in connection.execute(gone)]
                for tenant, count in Counter(row.tenant for row in rows).items():
                    _used(connection, tenant, -count)
                return rows

            done += len(self._store.write(work, self._all_gone))
        return done

    def settle(self) -> None:
        """Write the notifications that are due, and quarantine wants that are at fault."""
        while self._owed:
            self._store.write(self._put_owed, self._told)
        for serial, case in list(self._at_fault.items()):
            self._quarantine.put([case])
            del self._at_fault[serial]

    def _all_gone(self, some: Iterable[MarketOffer]) -> None:
        for offer in some:
            self._gone(offer)

    def _gone(self, offer: MarketOffer) -> None:
        self._meetings[offer.stream].put(WithdrawnOffer(offer.id))

    def page(self, tenant: Tenant, *, after: int = 0, limit: int = 100) -> list[MarketOffer]:
        """The tenant's offers, in the order in which they were made."""
        mine = sa.select(offers).where(offers.c.tenant == tenant.name, offers.c.number > after)
        page = mine.order_by(offers.c.number).limit(min(max(limit, 1), _PAGE))
        return [_offer(row) for row in self._store.read(lambda c: c.execute(page).all())]

    # ------------------------------------------------------------ telling

    def _owe(self, pairs: list[OfferPair]) -> None:
        """Write notifications of these pairs with the next transaction."""
        if pairs:
            self._owed[next(self._serials)] = pairs
            with contextlib.suppress(StoreBusy, StoreFailed):  # then by the clock
                self._store.submit(self._put_owed, self._told)

    def _cannot(self, want: Subscription, reason: str) -> None:
        """Have a want at fault quarantined, by the next `settle`."""
        self._at_fault[next(self._serials)] = QuarantineCase(want, reason)

    def _put_owed(self, connection: Connection) -> tuple[list[int], frozenset[int]]:
        """Within a transaction: write due notifications of wants that still exist; which, and whose queues grew."""
        serials, pairs = [], list[OfferPair]()
        for serial, some in list(self._owed.items()):
            serials.append(serial)
            pairs += some
            if len(pairs) > _AT_ONCE:
                break
        return serials, self._put(connection, self._standing(connection, pairs))

    @staticmethod
    def _standing(connection: Connection, pairs: Sequence[OfferPair]) -> list[OfferPair]:
        """The pairs whose wants are unchanged, also by what was written before in this transaction."""
        numbers = sorted({want.number for want, _ in pairs})
        there: set[tuple[int, int]] = set()
        for begin in range(0, len(numbers), _AT_ONCE):
            some = subscriptions.c.number.in_(numbers[begin : begin + _AT_ONCE])
            rows = connection.execute(sa.select(subscriptions.c.number, subscriptions.c.version).where(some))
            there.update((number, version) for number, version in rows)
        return [(want, offer) for want, offer in pairs if (want.number, want.version) in there]

    def _told(self, done: tuple[list[int], frozenset[int]]) -> None:
        """Forget the pairs whose notifications are written, and wake their readers."""
        serials, grown = done
        for serial in serials:
            self._owed.pop(serial, None)
        self._outbox.grown(grown)

    def _put(self, connection: Connection, pairs: Iterable[OfferPair]) -> frozenset[int]:
        moment, rows = self._now(), []
        for want, offer in pairs:
            stream = offer.stream
            if not (self._may(want.tenant, "subscribe", stream) and self._may(offer.tenant, "publish", stream)):
                continue  # a right was revoked since the offer or want was registered
            id_ = meeting_id(want, offer.id)
            body = meeting_body(id_, want, offer.told(), moment)
            rows.append(NewNotification(id_, want.number, want.tenant, 0, "meeting", moment, None, body))
        return self._outbox.put(connection, rows, again=True)


def _used(connection: Connection, tenant: str, more: int) -> int:
    """Within a transaction: add to the number of a tenant's offers; returns the new number."""
    changed = sa.update(usage).where(usage.c.tenant == tenant).values(offers=usage.c.offers + more)
    return int(connection.execute(changed.returning(usage.c.offers)).scalar_one())


def _mine(tenant: Tenant, id_: str) -> sa.Select[Any]:
    return sa.select(offers).where(offers.c.id == id_, offers.c.tenant == tenant.name)


def _offer(row: Any) -> MarketOffer:
    values: Mapping[str, Any] = row._mapping
    return MarketOffer(**{name: values[name] for name in MarketOffer.__slots__})
