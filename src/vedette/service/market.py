"""Which offers meet which wants? Both stand for a while, and whoever wants is told once of every offer that meets.

Offers and wants are constraints (Tomasic 2006). Of one stream they are in a `Meeting`, which is kept in memory and made
anew from the database when the service starts.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
import threading
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.meeting.standing import Meeting
from vedette.service import clock, tickets
from vedette.service.costs import cost_of
from vedette.service.errors import NotAllowed, NotFound, OverLimit, StoreBusy
from vedette.service.notifying import meeting_body, meeting_id
from vedette.service.outbox import Outbox
from vedette.service.registry import Change, Subscription, of_row
from vedette.service.settings import Limits
from vedette.service.storage.store import Store
from vedette.service.storage.tables import offers, subscriptions, usage
from vedette.service.tenants import Stream, Streams, Tenant

_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Offer:
    """What somebody offers."""

    number: int
    id: str
    tenant: str
    stream: str
    publisher: str | None
    when: str
    created: int
    expires: int

    def told(self) -> dict[str, Any]:
        """What whoever wants it is told."""
        told: dict[str, Any] = {"id": self.id, "when": self.when, "expires": clock.iso(self.expires)}
        return told if self.publisher is None else told | {"publisher": self.publisher}


class Market:
    """The offers and wants of all streams. Every change is durable before it is answered."""

    def __init__(
        self, store: Store, streams: Streams, outbox: Outbox, limits: Limits, now: clock.Clock = clock.now
    ) -> None:
        self._store, self._streams, self._outbox, self._limits, self._now = store, streams, outbox, limits, now
        self._meetings: dict[str, Meeting] = {}
        self._wants: dict[str, Subscription] = {}
        self._offers: dict[str, Offer] = {}
        self._owed: deque[list[tuple[Subscription, Offer]]] = deque()  # met, and not written down yet
        self._lock = threading.Lock()

    def open(self, stream: Stream) -> None:
        """Take up what stands; those that met before are told of once more nowhere, as ids are the same."""
        self._meetings[stream.name] = meeting = Meeting(stream.schema, clock=self._moment)
        wants = sa.select(subscriptions).where(
            subscriptions.c.stream == stream.name, subscriptions.c.kind == "want", subscriptions.c.expires > self._now()
        )
        there = sa.select(offers).where(offers.c.stream == stream.name, offers.c.expires > self._now())
        for row in self._store.read(lambda c: c.execute(there.order_by(offers.c.number)).all()):
            offer = _offer(row)
            meeting.publications.add(offer.id, offer.when)
            self._offers[offer.id] = offer
        for row in self._store.read(lambda c: c.execute(wants.order_by(subscriptions.c.number)).all()):
            want = of_row(row)
            self._wants[want.id] = want
            self._tell([(want, self._offers[id_]) for id_ in meeting.subscriptions.add(want.id, want.when)])

    def _moment(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._now() / clock.SECOND, dt.UTC)

    # ------------------------------------------------------------ wants

    def change(self, change: Change) -> None:
        """A want came, changed or went; in the thread that writes, so what it meets is told by another."""
        wanted = change.now is not None and change.now.kind == "want"
        if not wanted and change.id not in self._wants:
            return
        with self._lock:
            meeting = self._meetings[change.stream]
            if change.id in self._wants:
                meeting.subscriptions.remove(change.id)
                del self._wants[change.id]
            if change.now is None or not wanted:
                return
            self._wants[change.id] = change.now
            met = meeting.subscriptions.add(change.id, change.now.when)
            pairs = [(change.now, self._offers[id_]) for id_ in met if id_ in self._offers]
        if pairs:
            self._owed.append(pairs)
            with contextlib.suppress(StoreBusy):  # then by the clock
                self._store.submit(self._put_owed, self._outbox.grown)

    # ------------------------------------------------------------ offers

    def offer(
        self, tenant: Tenant, stream: str, when: str, *, publisher: str | None = None, validity: float | None = None
    ) -> tuple[Offer, str]:
        """Let an offer stand; it and its ticket. Whoever wants it is told."""
        meeting = self._meeting(stream)
        Meeting(meeting.schema).publications.add("offer", when)  # refused before anything changes
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

        def work(connection: Connection) -> tuple[Offer, frozenset[int]]:
            if _used(connection, tenant.name, 1) > most:
                raise OverLimit(f"a tenant may have {most:,} offers\nHint: withdraw some")
            made = _offer(connection.execute(sa.insert(offers).values(**values).returning(offers)).one())
            with self._lock:
                met = meeting.publications.add(made.id, made.when)
                self._offers[made.id] = made
                pairs = [(self._wants[id_], made) for id_ in met if id_ in self._wants]
            return made, self._put(connection, pairs)

        made = self._store.write(work, lambda done: self._outbox.grown(done[1]))[0]
        return made, ticket.text

    def withdraw(self, tenant: Tenant, id_: str, ticket: str | None) -> None:
        """Let an offer go; whoever was told of it was."""

        def work(connection: Connection) -> Offer:
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
        """Let go offers whose time is over; how many there were. What could not be told before is told."""
        if self._owed:
            self._store.write(self._put_owed, self._outbox.grown)
        moment = self._now()
        over = [offer for offer in list(self._offers.values()) if offer.expires <= moment]

        def work(connection: Connection) -> None:
            gone = sa.delete(offers).where(offers.c.expires <= moment).returning(offers.c.tenant)
            for tenant, count in Counter(connection.execute(gone).scalars()).items():
                _used(connection, tenant, -count)

        if over:
            self._store.write(work)
            for offer in over:
                self._gone(offer)
        return len(over)

    def _gone(self, offer: Offer) -> None:
        with self._lock:
            if self._offers.pop(offer.id, None) is not None:
                self._meetings[offer.stream].publications.remove(offer.id)

    def page(self, tenant: Tenant, *, after: int = 0, limit: int = 100) -> list[Offer]:
        """The tenant's offers, in the order in which they were made."""
        mine = sa.select(offers).where(offers.c.tenant == tenant.name, offers.c.number > after)
        page = mine.order_by(offers.c.number).limit(min(max(limit, 1), _PAGE))
        return [_offer(row) for row in self._store.read(lambda c: c.execute(page).all())]

    # ------------------------------------------------------------ telling

    def _tell(self, pairs: list[tuple[Subscription, Offer]]) -> None:
        if pairs:
            self._store.write(lambda connection: self._put(connection, pairs), self._outbox.grown)

    def _put_owed(self, connection: Connection) -> frozenset[int]:
        """Within a transaction: tell what is owed. Only the thread that writes takes from it, and fills it."""
        pairs = [pair for some in self._owed for pair in some]
        grown = self._put(connection, pairs)
        self._owed.clear()
        return grown

    def _put(self, connection: Connection, pairs: list[tuple[Subscription, Offer]]) -> frozenset[int]:
        moment, rows = self._now(), []
        for want, offer in pairs:
            id_ = meeting_id(want, offer.id)
            rows.append(
                {
                    "id": id_,
                    "subscription": want.number,
                    "tenant": want.tenant,
                    "event": 0,
                    "kind": "meeting",
                    "body": meeting_body(id_, want, offer.told(), moment),
                    "created": moment,
                    "trace": None,
                }
            )
        return self._outbox.put(connection, rows, again=True)

    def _meeting(self, stream: str) -> Meeting:
        self._streams.get(stream)
        return self._meetings[stream]


def _used(connection: Connection, tenant: str, more: int) -> int:
    """Within a transaction: a tenant has so many more offers; how many that are."""
    changed = sa.update(usage).where(usage.c.tenant == tenant).values(offers=usage.c.offers + more)
    return int(connection.execute(changed.returning(usage.c.offers)).scalar_one())


def _mine(tenant: Tenant, id_: str) -> sa.Select[Any]:
    return sa.select(offers).where(offers.c.id == id_, offers.c.tenant == tenant.name)


def _offer(row: Any) -> Offer:
    values: Mapping[str, Any] = row._mapping
    return Offer(**{name: values[name] for name in Offer.__slots__})
