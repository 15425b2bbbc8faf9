"""Tenants with their keys, and streams."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.schema.schema import Schema
from vedette.service import clock, tickets
from vedette.service.errors import Conflict, NotAllowed, NotFound
from vedette.service.storage.store import Store
from vedette.service.storage.tables import keys, progress, streams, tenants, usage

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_KEY_ID: Final = 16  # characters of a key's hash that name it


class Tenant(NamedTuple):
    """A user of the service, who publishes and subscribes; other tenants' objects are invisible."""

    name: str
    limits: dict[str, Any]  # what differs from the settings


class ApiKey(NamedTuple):
    """A key of a tenant, without its secret."""

    id: str  # the beginning of its hash
    label: str
    created: int
    revoked: int | None


class ServiceStream(NamedTuple):
    """A stream of events in the service, with its schema and owner."""

    name: str
    schema: Schema
    anonymous: bool
    lateness: int  # microseconds
    owner: str | None = None  # a tenant, which has every right on it; None: whoever runs the service


def check_name(name: str, of: str) -> str:
    """A name that can stand in a URL; InputError says which characters are allowed."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise InputError(
            f"{str(name)[:80]!r} cannot name a {of}\n"
            "Hint: letters, digits, dots, dashes and underscores, at most 128, beginning with a letter or digit"
        )
    return name


class Tenants:
    """Tenants and their keys. Keys are looked up by their hash: a wrong one costs as much as a right one."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._now = now
        self.revoked: Callable[[str], None] = lambda _: None  # called with a key's hash, by the thread that writes

    def add(self, name: str, limits: dict[str, Any] | None = None) -> Tenant:
        """Add a tenant; Conflict if there is one of this name."""
        return self._add(name, limits, None)

    def add_with_key(self, name: str, limits: dict[str, Any] | None = None, label: str = "first") -> str:
        """Add a tenant with its first key, both or neither; returns the key, which cannot be shown again."""
        secret = tickets.new(tickets.KEY)
        self._add(name, limits, self._key(name, secret, label))
        return secret.text

    def _key(self, tenant: str, secret: tickets.Secret, label: str) -> sa.Insert:
        return sa.insert(keys).values(hash=secret.hash, tenant=tenant, label=label[:128], created=self._now())

    def _add(self, name: str, limits: dict[str, Any] | None, key: sa.Insert | None) -> Tenant:
        check_name(name, "tenant")
        text = None if not limits else orjson.dumps(limits).decode()

        def work(connection: Connection) -> None:
            if connection.execute(sa.select(tenants.c.name).where(tenants.c.name == name)).first():
                raise Conflict(f"there is a tenant {name!r} already")
            connection.execute(sa.insert(tenants).values(name=name, created=self._now(), limits=text))
            connection.execute(sa.insert(usage).values(tenant=name, subscriptions=0, cost=0.0, offers=0))
            if key is not None:
                connection.execute(key)

        self._store.write(work)
        return Tenant(name, limits or {})

    def all(self) -> list[Tenant]:
        """Every tenant, by name."""
        rows = self._store.read(lambda c: c.execute(sa.select(tenants).order_by(tenants.c.name)).all())
        return [_tenant(row) for row in rows]

    def keys(self, tenant: str) -> list[ApiKey]:
        """The keys of a tenant, oldest first, also revoked ones; NotFound without such a tenant."""

        def work(connection: Connection) -> list[ApiKey]:
            _check_there(connection, tenant)
            mine = sa.select(keys).where(keys.c.tenant == tenant).order_by(keys.c.created, keys.c.hash)
            return [ApiKey(row.hash[:_KEY_ID], row.label, row.created, row.revoked) for row in connection.execute(mine)]

        return self._store.read(work)

    def new_key(self, tenant: str, label: str = "") -> str:
        """Add a key of a tenant; returns it, and it cannot be shown again."""
        secret = tickets.new(tickets.KEY)

        def work(connection: Connection) -> None:
            _check_there(connection, tenant)
            connection.execute(self._key(tenant, secret, label))

        self._store.write(work)
        return secret.text

    def revoke(self, tenant: str, key_id: str) -> str:
        """Revoke a key; returns its hash. NotFound if there is no such key, or it is revoked already."""

        def work(connection: Connection) -> str:
            _check_there(connection, tenant)
            named = sa.and_(sa.func.substr(keys.c.hash, 1, _KEY_ID) == key_id, keys.c.tenant == tenant)
            changed = sa.update(keys).where(named, keys.c.revoked.is_(None)).values(revoked=self._now())
            found = connection.execute(changed.returning(keys.c.hash)).scalar()
            if found is None:
                raise NotFound(f"the tenant {tenant[:80]!r} has no key {key_id[:80]!r} that is not revoked")
            return str(found)

        return self._store.write(work, self.revoked)

    def of_key(self, key: str) -> Tenant:
        """The tenant of a key; NotAllowed if the key is unknown or revoked."""
        joined = sa.select(tenants).join(keys).where(keys.c.hash == tickets.hashed(key), keys.c.revoked.is_(None))
        row = self._store.read(lambda c: c.execute(joined).first())
        if row is None:
            raise NotAllowed("this key is not known\nHint: send a tenant's key: Authorization: Bearer vk_…")
        return _tenant(row)


class Streams:
    """All streams, which are few; rights on them are in `vedette.service.rights`."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._now = now
        self._known: dict[str, ServiceStream] = {}
        self.made: Callable[[ServiceStream], None] = lambda _: None  # called with new streams, by the writing thread

    def load(self) -> None:
        """Read the streams from the database."""
        rows = self._store.read(lambda c: c.execute(sa.select(streams).order_by(streams.c.name)).all())
        self._known = {row.name: _stream(row) for row in rows}

    def put(
        self,
        name: str,
        *,
        schema: dict[str, Any] | None,
        anonymous: bool,
        lateness: int,
        owner: str | None = None,
        settle: Callable[[Connection], Callable[[], None]] | None = None,
    ) -> ServiceStream:
        """Add or change a stream; its schema cannot change, as subscriptions were checked against it.

        `settle` writes the rights in the same transaction; the function that it returns is called after the commit.
        """
        check_name(name, "stream")
        if owner is not None:
            check_name(owner, "tenant")
        made = ServiceStream(name, schema_of(schema), anonymous, lateness, owner)
        text = None if schema is None else orjson.dumps(schema).decode()

        def work(connection: Connection) -> tuple[bool, Callable[[], None] | None]:
            there = connection.execute(sa.select(streams).where(streams.c.name == name)).first()
            if there is None:
                connection.execute(
                    sa.insert(streams).values(
                        name=name, schema=text, anonymous=anonymous, lateness=lateness, owner=owner, created=self._now()
                    )
                )
                connection.execute(sa.insert(progress).values(stream=name, event=0, state_event=0))
                new = True
            elif _stream(there).schema != made.schema:
                raise Conflict(
                    f"the stream {name!r} has another schema, which its subscriptions were checked against\n"
                    "Hint: make another stream"
                )
            else:
                changed = sa.update(streams).where(streams.c.name == name)
                connection.execute(changed.values(anonymous=anonymous, lateness=lateness, owner=owner))
                new = False
            return new, None if settle is None else settle(connection)

        def then(done: tuple[bool, Callable[[], None] | None]) -> None:
            new, settled = done
            if settled is not None:
                settled()
            if new:
                self.made(made)
            self._known[name] = made

        if settle is not None or self._known.get(name) != made:  # else a service starts on a full disk, too
            self._store.write(work, then)
        return made

    def find(self, name: str) -> ServiceStream | None:
        """A stream, or None."""
        return self._known.get(name)

    def get(self, name: str) -> ServiceStream:
        """A stream; NotFound if there is none."""
        found = self._known.get(name)
        if found is None:
            raise NotFound(f"there is no stream {name[:80]!r}")
        return found

    def all(self) -> list[ServiceStream]:
        """Every stream, by name."""
        return [self._known[name] for name in sorted(self._known)]


def key_id(key: str) -> str:
    """The id by which a key is named where it is not shown."""
    return tickets.hashed(key)[:_KEY_ID]


def _check_there(connection: Connection, tenant: str) -> None:
    if not connection.execute(sa.select(tenants.c.name).where(tenants.c.name == tenant)).first():
        raise NotFound(f"there is no tenant {tenant[:80]!r}")


def schema_of(attributes: dict[str, Any] | None) -> Schema:
    """The schema that settings or requests describe; without one, events may have any attributes."""
    return Schema({}, closed=False) if attributes is None else Schema.of(attributes, closed=False)


def _tenant(row: Any) -> Tenant:
    return Tenant(row.name, {} if row.limits is None else orjson.loads(row.limits))


def _stream(row: Any) -> ServiceStream:
    schema = schema_of(None if row.schema is None else orjson.loads(row.schema))
    return ServiceStream(row.name, schema, bool(row.anonymous), int(row.lateness), row.owner)
