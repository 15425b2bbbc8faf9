"""Registry of subscriptions: subscribe, renew, replace, unsubscribe, expire (Liu 2007, §5.1).

A subscription is valid for a period. Its creator holds a ticket, which renewing, replacing and cancelling need; and
only its tenant sees it. Every change has the number of the event after which it counts, so that what is repeated after
a crash comes out the same.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.filters.subscription_records import Predict
from vedette.filters.subscription_set import OF_OFFERS, SubscriptionKind
from vedette.operators.registry import Operators
from vedette.service import clock, signing, tickets
from vedette.service.check_context import CheckContext
from vedette.service.errors import NotAllowed, NotFound, OverLimit
from vedette.service.journal import NEWEST
from vedette.service.outbox import Outbox
from vedette.service.sealing import SEALED, Secrets
from vedette.service.settings import LimitSettings
from vedette.service.storage.row_checksums import row_sum
from vedette.service.storage.store import Store
from vedette.service.storage.tables import attempts, counters, subscriptions, usage
from vedette.service.stream_engine import EngineSubscription
from vedette.service.tenants import ServiceStream, Streams, Tenant

QUARANTINE: Final = ("quarantined", "quarantine_event", "quarantine_reason")  # columns
WANTS: Final = subscriptions.c.kind.in_(OF_OFFERS)  # those that meet offers
# Made once: to make a statement takes longer than to execute it.
_INSERTED: Final = sa.insert(subscriptions).returning(subscriptions)
_COUNTED: Final = sa.insert(counters)
_USED: Final = (
    sa.update(usage)
    .where(usage.c.tenant == sa.bindparam("of"))
    .values(subscriptions=usage.c.subscriptions + sa.bindparam("more"), cost=usage.c.cost + sa.bindparam("more_cost"))
    .returning(usage.c.subscriptions, usage.c.cost)
)
QUEUE: Final[Mapping[str, Any]] = {"type": "queue"}
_PAGE: Final = 1_000
_AT_ONCE: Final = 100  # subscriptions that expire in one transaction: nobody who writes waits for long


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """A subscription as it is requested."""

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
    """A registered subscription."""

    number: int
    id: str
    tenant: str
    stream: str
    subscriber: str | None
    kind: SubscriptionKind
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
    damaged: bool = False  # the stored row is damaged: it matches nothing until it is replaced
    quarantined: int | None = None  # when it was: matching it failed
    quarantine_event: int | None = None  # it misses all events from this number on
    quarantine_reason: str | None = None

    @property
    def is_want(self) -> bool:
        """Whether it is a want, which meets offers and matches no events."""
        return self.kind in OF_OFFERS

    def standing(self) -> EngineSubscription:
        """The subscription as the engine takes it."""
        return EngineSubscription(self.id, self.when, None if self.predict is None else Predict.kept(self.predict))


class SubscriptionChange(NamedTuple):
    """A subscription was added, replaced or removed after the event of this number."""

    since: int
    stream: str
    id: str
    now: Subscription | None
    gone: int | None = None  # the number of one that is gone


class NewSubscription(NamedTuple):
    """A new subscription, and the ticket that changing it needs."""

    subscription: Subscription
    ticket: str


class Registry:
    """All subscriptions. `heard` is called with every change as soon as it is durable, in order."""

    def __init__(
        self,
        store: Store,
        streams: Streams,
        outbox: Outbox,
        limits: LimitSettings,
        heard: Callable[[SubscriptionChange], None],
        now: clock.Clock = clock.now,
        operators: Operators | None = None,
        sealing: Secrets | None = None,
    ) -> None:
        self._store = store
        self._streams = streams
        self._outbox = outbox
        self._limits = limits
        self._heard = heard
        self._now = now
        self._operators = operators
        self._sealing = sealing or Secrets()
        self.check_want: Callable[[ServiceStream, str], None] = lambda _stream, _when: None  # set by the service

    # ------------------------------------------------------------ checks

    def check(self, wanted: SubscriptionRequest) -> tuple[SubscriptionKind, float]:
        """Kind and cost of a requested subscription; an error says why it cannot be registered."""
        found = self.grounds(wanted.stream).checked(wanted.when, wanted.predict, want=wanted.want)
        self._check_beside(wanted)
        return found

    def grounds(self, stream: str) -> CheckContext:
        """The context in which texts of a stream are checked."""
        return CheckContext(self._streams.get(stream).schema, self._operators, self._limits.subscription_cost)

    def _checked(
        self, wanted: SubscriptionRequest, checked: tuple[SubscriptionKind, float] | None
    ) -> tuple[SubscriptionKind, float]:
        if checked is None:
            return self.check(wanted)
        self._check_beside(wanted)
        return checked

    def _check_beside(self, wanted: SubscriptionRequest) -> None:
        if wanted.want:
            self.check_want(self._streams.get(wanted.stream), wanted.when)

    def _until(self, validity: float | None) -> int:
        seconds = self._limits.validity if validity is None else validity
        if not 0 < seconds <= self._limits.longest_validity:
            raise InputError(
                f"a validity of {seconds:g} s\nHint: above 0 and at most {self._limits.longest_validity:g} s"
            )
        return self._now() + int(seconds * clock.SECOND)

    def _room(self, connection: Connection, tenant: Tenant, cost: float, more: int = 1) -> None:
        """Add to the use of a tenant's quota; OverLimit if that is exceeded."""
        most = tenant.limits.get("subscriptions", self._limits.subscriptions)
        dearest = tenant.limits.get("cost", self._limits.tenant_cost)
        used = _used(connection, tenant.name, more, cost)
        if more > 0 and used.subscriptions > most:
            raise OverLimit(f"a tenant may have {most:,} subscriptions\nHint: cancel some, or let them expire")
        if cost > 0 and used.cost > dearest:
            raise OverLimit(f"all subscriptions of a tenant may cost {dearest:,.0f}\nHint: cancel some")

    # ------------------------------------------------------------ changes

    def subscribe(
        self, tenant: Tenant, wanted: SubscriptionRequest, checked: tuple[SubscriptionKind, float] | None = None
    ) -> NewSubscription:
        """Register a subscription from the next event on; `checked` has its kind and cost, if they are known."""
        kind, cost = self._checked(wanted, checked)
        wanted = self._sealed(wanted)
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

        def work(connection: Connection) -> SubscriptionChange:
            self._room(connection, tenant, cost)
            since = last_event(connection)
            made = values | {"since": since}
            made["sum"] = row_sum("subscriptions", made)
            row = connection.execute(_INSERTED, made).one()
            connection.execute(
                _COUNTED, {"subscription": row.number, "due": 0, "delivered": 0, "dead": 0, "dropped": 0}
            )
            return SubscriptionChange(since, wanted.stream, row.id, of_row(row))

        change = self._store.write(work, self._heard)
        assert change.now is not None  # it was just made
        return NewSubscription(change.now, ticket.text)

    def renew(self, tenant: Tenant, id_: str, ticket: str | None, validity: float | None = None) -> Subscription:
        """Extend the validity to another period from now on."""
        expires = self._until(validity)

        def work(connection: Connection) -> Subscription:
            self._authorised(connection, tenant, id_, ticket)
            changed = sa.update(subscriptions).where(subscriptions.c.id == id_).values(expires=expires)
            return of_row(connection.execute(changed.returning(subscriptions)).one())

        return self._store.write(work)

    def replace(
        self,
        tenant: Tenant,
        id_: str,
        ticket: str | None,
        wanted: SubscriptionRequest,
        checked: tuple[SubscriptionKind, float] | None = None,
    ) -> Subscription:
        """Replace the text from the next event on; a validity that is not given stays as it is.

        The secret of its webhook stays, too; a webhook without one gets a new one.
        """
        kind, cost = self._checked(wanted, checked)
        wanted = self._sealed(wanted)

        def work(connection: Connection) -> SubscriptionChange:
            before = self._authorised(connection, tenant, id_, ticket)
            if before.stream != wanted.stream:
                raise InputError("a subscription stays on its stream\nHint: subscribe anew on the other one")
            if wanted.want != before.is_want:
                raise InputError("a filter cannot become a want, nor the other way round\nHint: subscribe anew")
            self._room(connection, tenant, cost - before.cost, more=0)
            since = last_event(connection)
            values = _values(wanted) | {"kind": kind, "cost": cost, "since": since, "version": before.version + 1}
            values |= dict.fromkeys(QUARANTINE)  # the new text ends a quarantine
            if wanted.delivery.get("type") == "webhook" and wanted.delivery.get("secret") is None:
                secret = before.delivery.get("secret") or self._sealing.seal(signing.new_secret())
                values["delivery"] = _json({**wanted.delivery, "secret": secret})
            if wanted.validity is not None:
                values["expires"] = self._until(wanted.validity)
            kept = {"id": before.id, "tenant": before.tenant, "stream": before.stream}
            values["sum"] = row_sum("subscriptions", kept | values)
            if wanted.delivery.get("url") != before.delivery.get("url"):  # failures of the old one do not count
                connection.execute(sa.delete(attempts).where(attempts.c.subscription == before.number))
            changed = sa.update(subscriptions).where(subscriptions.c.id == id_).values(**values)
            return SubscriptionChange(
                since, wanted.stream, id_, of_row(connection.execute(changed.returning(subscriptions)).one())
            )

        change = self._store.write(work, self._heard)
        assert change.now is not None  # it is still there
        self._outbox.grown(frozenset({change.now.number}))  # what waits goes to a new webhook at once
        return change.now

    def _sealed(self, wanted: SubscriptionRequest) -> SubscriptionRequest:
        """The request with the secret of its webhook encrypted."""
        secret = wanted.delivery.get("secret")
        if secret is None:
            return wanted
        return replace(wanted, delivery={**wanted.delivery, "secret": self._sealing.seal(secret)})

    def seal_secrets(self) -> int:
        """Encrypt secrets of webhooks that are not, or by an older key; returns how many.

        InputError if no key opens one.
        """
        done = last = 0
        some = f'%"secret":"{SEALED}%' if not self._sealing else '%"webhook"%'
        webhooks = sa.select(subscriptions).where(subscriptions.c.delivery.like(some))
        while True:
            page = webhooks.where(subscriptions.c.number > last).order_by(subscriptions.c.number).limit(_PAGE)
            rows = self._store.read(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
            if not rows:
                return done
            last = rows[-1].number
            changed = [values for row in rows if (values := self._resealed(row)) is not None]
            self._store.write(lambda connection, changed=changed: _update(connection, changed))  # type: ignore[misc]
            done += len(changed)

    def _resealed(self, row: Any) -> dict[str, Any] | None:
        """The columns of a row that change with its secret encrypted anew; None if it stays."""
        one = of_row(row)
        secret = one.delivery.get("secret")
        if secret is None or (kept := self._sealing.renewed(secret)) == secret:
            return None
        delivery = _json({**one.delivery, "secret": kept})
        sum_ = row_sum("subscriptions", {**row._mapping, "delivery": delivery})
        return {"number": one.number, "delivery": delivery, "sum": sum_}

    def unsubscribe(self, tenant: Tenant, id_: str, ticket: str | None) -> None:
        """Delete a subscription and its pending notifications."""

        def work(connection: Connection) -> SubscriptionChange:
            self._authorised(connection, tenant, id_, ticket)
            (change,) = self._gone(connection, subscriptions.c.id == id_)
            return change

        self._store.write(work, lambda change: self._all_heard([change]))

    def end(self, id_: str) -> None:
        """Delete a subscription without a ticket: its subscriber does not want it any more."""
        self._store.write(lambda connection: self._gone(connection, subscriptions.c.id == id_), self._all_heard)

    def expire(self) -> int:
        """Delete expired subscriptions; returns how many."""
        over = subscriptions.c.expires <= self._now()
        first = sa.select(subscriptions.c.number).where(over).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda connection: connection.execute(first).scalars().all()):
            which = sa.and_(over, subscriptions.c.number.in_(some))  # one may have been renewed meanwhile
            done += len(self._store.write(lambda c, which=which: self._gone(c, which), self._all_heard))  # type: ignore[misc]
        return done

    def _gone(self, connection: Connection, which: sa.ColumnElement[bool]) -> list[SubscriptionChange]:
        """Within a transaction: delete these and cancel their pending notifications."""
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
        return [SubscriptionChange(since, row.stream, row.id, None, row.number) for row in rows]

    def _all_heard(self, changes: list[SubscriptionChange]) -> None:
        for change in changes:
            self._heard(change)
        self._outbox.grown(frozenset(change.gone for change in changes if change.gone is not None))  # readers end

    def _authorised(self, connection: Connection, tenant: Tenant, id_: str, ticket: str | None) -> Subscription:
        """The subscription; NotFound if it is not the tenant's, NotAllowed if the ticket is wrong."""
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
        """A subscription of the tenant; NotFound for all others."""
        row = self._store.read(lambda connection: connection.execute(_mine(tenant, id_)).first())
        if row is None:
            raise NotFound(f"there is no subscription {id_[:80]!r}")
        return of_row(row)

    def page(
        self, tenant: Tenant, *, after: int = 0, limit: int = 100, quarantined: bool | None = None
    ) -> list[Subscription]:
        """A page of the tenant's subscriptions, in the order of registration; all, or only (not) quarantined ones."""
        mine = sa.select(subscriptions).where(subscriptions.c.tenant == tenant.name, subscriptions.c.number > after)
        if quarantined is not None:
            none = subscriptions.c.quarantined.is_(None)
            mine = mine.where(sa.not_(none) if quarantined else none)
        page = mine.order_by(subscriptions.c.number).limit(min(max(limit, 1), _PAGE))
        return [of_row(row) for row in self._store.read(lambda connection: connection.execute(page).all())]

    def standing(self, stream: str) -> list[Subscription]:
        """All subscriptions of a stream that are not quarantined, of all tenants, in the order of registration."""
        mine = sa.and_(subscriptions.c.stream == stream, subscriptions.c.quarantined.is_(None))
        all_ = sa.select(subscriptions).where(mine).order_by(subscriptions.c.number)
        return [of_row(row) for row in self._store.read(lambda connection: connection.execute(all_).all())]


def last_event(connection: Connection) -> int:
    """The number of the newest event; a change made now counts after it."""
    return int(connection.execute(NEWEST).scalar_one())


def _used(connection: Connection, tenant: str, more: int, cost: float) -> Any:
    """Within a transaction: add to the number and cost of a tenant's subscriptions; returns the new values."""
    return connection.execute(_USED, {"of": tenant, "more": more, "more_cost": cost}).one()


def _update(connection: Connection, changed: list[dict[str, Any]]) -> None:
    """Within a transaction: update some rows."""
    for values in changed:
        this = subscriptions.c.number == values["number"]
        connection.execute(sa.update(subscriptions).where(this).values(**values))


def _mine(tenant: Tenant, id_: str) -> sa.Select[Any]:
    return sa.select(subscriptions).where(subscriptions.c.id == id_, subscriptions.c.tenant == tenant.name)


def _values(wanted: SubscriptionRequest) -> dict[str, Any]:
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
    """The subscription of a row; of a damaged row, only what can be shown."""
    damaged = row.sum is None or row_sum("subscriptions", row._mapping) != row.sum
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
        origin=None if row.origin is None or damaged else orjson.loads(row.origin),
        predict=None if row.predict is None or damaged else orjson.loads(row.predict),
        delivery=QUEUE if damaged else orjson.loads(row.delivery),
        version=row.version,
        since=row.since,
        created=row.created,
        expires=row.expires,
        cost=row.cost,
        damaged=damaged,
        **{name: getattr(row, name) for name in QUARANTINE},
    )
