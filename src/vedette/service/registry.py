"""Who wants to hear of what, and until when? Subscribe, renew, replace, unsubscribe (Liu 2007, §5.1).

A subscription stands for a validity period. Whoever made it holds a ticket, which renewing, replacing and cancelling
need; and it is seen by its tenant alone. Every change says after which event it counts, so that what a crash makes
the service do again comes out the same.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.matching.patterns import Predict
from vedette.operators.registry import Operators
from vedette.service import clock, tickets
from vedette.service.costs import cost_of
from vedette.service.delivery import signing
from vedette.service.errors import NotAllowed, NotFound, OverLimit
from vedette.service.kinds import Standing, kind_of
from vedette.service.outbox import Outbox
from vedette.service.settings import Limits
from vedette.service.storage.store import Store
from vedette.service.storage.tables import counters, events, subscriptions, usage
from vedette.service.tenants import Stream, Streams, Tenant

Kind = Literal["filter", "operators", "pattern", "want"]
QUEUE: Final[Mapping[str, Any]] = {"type": "queue"}
_PAGE: Final = 1_000
_AT_ONCE: Final = 100  # subscriptions that expire in one transaction: nobody who writes waits for long


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to hear of, as it was checked."""

    when: str
    stream: str = "default"
    subscriber: str | None = None
    predict: Mapping[str, Any] | None = None
    validity: float | None = None  # seconds
    delivery: Mapping[str, Any] = field(default_factory=lambda: QUEUE)
    want: bool = False  # a constraint that meets offers, not a filter of events
    dialect: str | None = None
    rule: str | None = None  # as it was handed in, where that was another dialect
    origin: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """What stands."""

    number: int
    id: str
    tenant: str
    stream: str
    subscriber: str | None
    kind: Kind
    when: str
    rule: str | None
    dialect: str | None
    origin: Mapping[str, Any] | None
    predict: Mapping[str, Any] | None
    delivery: Mapping[str, Any]
    version: int
    since: int
    created: int
    expires: int
    cost: float

    def standing(self) -> Standing:
        """As the engine knows it."""
        return Standing(self.id, self.when, None if self.predict is None else Predict.of(self.predict))


class Change(NamedTuple):
    """After the event of this number, a subscription is there (again), or gone."""

    since: int
    stream: str
    id: str
    now: Subscription | None
    gone: int | None = None  # the number of one that is gone


class Made(NamedTuple):
    """A new subscription, and the secret that changing it takes."""

    subscription: Subscription
    ticket: str


class Registry:
    """The subscriptions. `heard` is told of every change as soon as it is durable, in order."""

    def __init__(
        self,
        store: Store,
        streams: Streams,
        outbox: Outbox,
        limits: Limits,
        heard: Callable[[Change], None],
        now: clock.Clock = clock.now,
        operators: Operators | None = None,
    ) -> None:
        self._store = store
        self._streams = streams
        self._outbox = outbox
        self._limits = limits
        self._heard = heard
        self._now = now
        self._operators = operators

    # ------------------------------------------------------------ checks

    def check(self, wanted: Wanted) -> tuple[Kind, float]:
        """What a subscription would be, and what it costs; an error says why it cannot stand."""
        stream = self._streams.get(wanted.stream)
        predict = None if wanted.predict is None else Predict.of(wanted.predict)
        kind: Kind = "want"
        if wanted.want:
            _check_want(wanted, stream)
        else:
            kind = kind_of(Standing("s", wanted.when, predict), stream.schema, self._operators)
        cost = cost_of(wanted.when, predicts=predict is not None)
        if cost > self._limits.subscription_cost:
            raise OverLimit(
                f"this subscription costs {cost:,.0f}, and one may cost {self._limits.subscription_cost:,.0f}\n"
                "Hint: split it, or ask for fewer regular expressions, steps and operators"
            )
        return kind, cost

    def _until(self, validity: float | None) -> int:
        seconds = self._limits.validity if validity is None else validity
        if not 0 < seconds <= self._limits.longest_validity:
            raise InputError(
                f"a validity of {seconds:g} s\nHint: above 0 and at most {self._limits.longest_validity:g} s"
            )
        return self._now() + int(seconds * clock.SECOND)

    def _room(self, connection: Connection, tenant: Tenant, cost: float, more: int = 1) -> None:
        """Take so much more, and so many more; OverLimit if that is beyond what the tenant may have."""
        most = tenant.limits.get("subscriptions", self._limits.subscriptions)
        dearest = tenant.limits.get("cost", self._limits.tenant_cost)
        used = _used(connection, tenant.name, more, cost)
        if more > 0 and used.subscriptions > most:
            raise OverLimit(f"a tenant may have {most:,} subscriptions\nHint: cancel some, or let them expire")
        if cost > 0 and used.cost > dearest:
            raise OverLimit(f"all subscriptions of a tenant may cost {dearest:,.0f}\nHint: cancel some")

    # ------------------------------------------------------------ changes

    def subscribe(self, tenant: Tenant, wanted: Wanted) -> Made:
        """Let a subscription stand from the next event on."""
        kind, cost = self.check(wanted)
        expires = self._until(wanted.validity)
        ticket = tickets.new(tickets.TICKET)
        values = _values(wanted) | {
            "id": "s_" + secrets.token_hex(12),
            "tenant": tenant.name,
            "stream": wanted.stream,
            "kind": kind,
            "cost": cost,
            "ticket": ticket.hash,
            "version": 1,
            "created": self._now(),
            "expires": expires,
        }

        def work(connection: Connection) -> Change:
            self._room(connection, tenant, cost)
            since = last_event(connection)
            row = connection.execute(
                sa.insert(subscriptions).values(**values, since=since).returning(subscriptions)
            ).one()
            connection.execute(
                sa.insert(counters).values(subscription=row.number, due=0, delivered=0, dead=0, dropped=0)
            )
            return Change(since, wanted.stream, row.id, of_row(row))

        change = self._store.write(work, self._heard)
        assert change.now is not None  # it was just made
        return Made(change.now, ticket.text)

    def renew(self, tenant: Tenant, id_: str, ticket: str | None, validity: float | None = None) -> Subscription:
        """Let it stand for another period, from now on."""
        expires = self._until(validity)

        def work(connection: Connection) -> Subscription:
            self._authorised(connection, tenant, id_, ticket)
            changed = sa.update(subscriptions).where(subscriptions.c.id == id_).values(expires=expires)
            return of_row(connection.execute(changed.returning(subscriptions)).one())

        return self._store.write(work)

    def replace(self, tenant: Tenant, id_: str, ticket: str | None, wanted: Wanted) -> Subscription:
        """Let it say something else from the next event on; a validity that is not given stays as it is.

        So does the secret of its webhook; where there was none, there is a new one.
        """
        kind, cost = self.check(wanted)

        def work(connection: Connection) -> Change:
            before = self._authorised(connection, tenant, id_, ticket)
            if before.stream != wanted.stream:
                raise InputError("a subscription stays on its stream\nHint: subscribe anew on the other one")
            if (kind == "want") != (before.kind == "want"):
                raise InputError("a filter cannot become a want, nor the other way round\nHint: subscribe anew")
            self._room(connection, tenant, cost - before.cost, more=0)
            since = last_event(connection)
            values = _values(wanted) | {"kind": kind, "cost": cost, "since": since, "version": before.version + 1}
            if wanted.delivery.get("type") == "webhook" and wanted.delivery.get("secret") is None:
                secret = before.delivery.get("secret") or signing.new_secret()
                values["delivery"] = _json({**wanted.delivery, "secret": secret})
            if wanted.validity is not None:
                values["expires"] = self._until(wanted.validity)
            changed = sa.update(subscriptions).where(subscriptions.c.id == id_).values(**values)
            return Change(since, wanted.stream, id_, of_row(connection.execute(changed.returning(subscriptions)).one()))

        change = self._store.write(work, self._heard)
        assert change.now is not None  # it is still there
        return change.now

    def unsubscribe(self, tenant: Tenant, id_: str, ticket: str | None) -> None:
        """Let it go; what waits to be told goes with it."""

        def work(connection: Connection) -> Change:
            self._authorised(connection, tenant, id_, ticket)
            (change,) = self._gone(connection, subscriptions.c.id == id_)
            return change

        self._store.write(work, lambda change: self._all_heard([change]))

    def end(self, id_: str) -> None:
        """Let it go without a ticket: whoever it is for does not want it any more."""
        self._store.write(lambda connection: self._gone(connection, subscriptions.c.id == id_), self._all_heard)

    def expire(self) -> int:
        """Let go whose time is over; how many there were."""
        over = subscriptions.c.expires <= self._now()
        first = sa.select(subscriptions.c.number).where(over).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda connection: connection.execute(first).scalars().all()):
            which = sa.and_(over, subscriptions.c.number.in_(some))  # one may have been renewed meanwhile
            done += len(self._store.write(lambda c, which=which: self._gone(c, which), self._all_heard))  # type: ignore[misc]
        return done

    def _gone(self, connection: Connection, which: sa.ColumnElement[bool]) -> list[Change]:
        """Within a transaction: these stand no more, and what waits for them is not told."""
        columns = ("number", "id", "stream", "tenant", "cost")
        gone = sa.delete(subscriptions).where(which).returning(*(subscriptions.c[name] for name in columns))
        rows = connection.execute(gone).all()
        counts, costs = Counter[str](), Counter[str]()
        for row in rows:
            self._outbox.cancel(connection, row.number)
            counts[row.tenant] += 1
            costs[row.tenant] += row.cost
        for tenant, count in counts.items():
            _used(connection, tenant, -count, -costs[tenant])
        since = last_event(connection) if rows else 0
        return [Change(since, row.stream, row.id, None, row.number) for row in rows]

    def _all_heard(self, changes: list[Change]) -> None:
        for change in changes:
            self._heard(change)
        self._outbox.grown(frozenset(change.gone for change in changes if change.gone is not None))  # readers end

    def _authorised(self, connection: Connection, tenant: Tenant, id_: str, ticket: str | None) -> Subscription:
        """The subscription, if it is the tenant's (else it is not there) and the ticket is right."""
        row = connection.execute(_mine(tenant, id_)).first()
        if row is None:
            raise NotFound(f"there is no subscription {id_[:80]!r}")
        if not tickets.holds(ticket, row.ticket):
            raise NotAllowed(
                "this is not the ticket of the subscription\n"
                "Hint: send the one that subscribing gave: Vedette-Ticket: vt_…"
            )
        return of_row(row)

    # ------------------------------------------------------------ reading

    def get(self, tenant: Tenant, id_: str) -> Subscription:
        """One of the tenant's; NotFound for all others."""
        row = self._store.read(lambda connection: connection.execute(_mine(tenant, id_)).first())
        if row is None:
            raise NotFound(f"there is no subscription {id_[:80]!r}")
        return of_row(row)

    def page(self, tenant: Tenant, *, after: int = 0, limit: int = 100) -> list[Subscription]:
        """The tenant's, in the order in which they were made, a page at a time."""
        mine = sa.select(subscriptions).where(subscriptions.c.tenant == tenant.name, subscriptions.c.number > after)
        page = mine.order_by(subscriptions.c.number).limit(min(max(limit, 1), _PAGE))
        return [of_row(row) for row in self._store.read(lambda connection: connection.execute(page).all())]

    def standing(self, stream: str) -> list[Subscription]:
        """All of a stream, whoever's, in the order in which they were made."""
        all_ = sa.select(subscriptions).where(subscriptions.c.stream == stream).order_by(subscriptions.c.number)
        return [of_row(row) for row in self._store.read(lambda connection: connection.execute(all_).all())]


def last_event(connection: Connection) -> int:
    """The number of the newest event; what changes now counts after it."""
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))).scalar_one())


def _used(connection: Connection, tenant: str, more: int, cost: float) -> Any:
    """Within a transaction: a tenant has so many more, at that cost; what it has then."""
    changed = sa.update(usage).where(usage.c.tenant == tenant)
    values = {"subscriptions": usage.c.subscriptions + more, "cost": usage.c.cost + cost}
    return connection.execute(changed.values(**values).returning(usage.c.subscriptions, usage.c.cost)).one()


def _mine(tenant: Tenant, id_: str) -> sa.Select[Any]:
    return sa.select(subscriptions).where(subscriptions.c.id == id_, subscriptions.c.tenant == tenant.name)


def _check_want(wanted: Wanted, stream: Stream) -> None:
    from vedette.meeting.standing import Meeting

    if wanted.predict is not None:
        raise InputError("`predict` is for patterns; a want meets offers\nHint: leave `predict` out")
    Meeting(stream.schema).subscriptions.add("w", wanted.when)


def _values(wanted: Wanted) -> dict[str, Any]:
    return {
        "subscriber": wanted.subscriber,
        "when": wanted.when,
        "rule": wanted.rule,
        "dialect": wanted.dialect,
        "origin": _json(wanted.origin),
        "predict": _json(wanted.predict),
        "delivery": _json(wanted.delivery),
    }


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else orjson.dumps(dict(value)).decode()


def of_row(row: Any) -> Subscription:
    """A row of the table."""
    return Subscription(
        number=row.number,
        id=row.id,
        tenant=row.tenant,
        stream=row.stream,
        subscriber=row.subscriber,
        kind=row.kind,
        when=row.when,
        rule=row.rule,
        dialect=row.dialect,
        origin=None if row.origin is None else orjson.loads(row.origin),
        predict=None if row.predict is None else orjson.loads(row.predict),
        delivery=orjson.loads(row.delivery),
        version=row.version,
        since=row.since,
        created=row.created,
        expires=row.expires,
        cost=row.cost,
    )
