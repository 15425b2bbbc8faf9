"""Rights of tenants on streams; `Rights.may` decides for every route and for the threads that match.

    publish    publish events, and register offers
    subscribe  subscribe, and so learn of every event that one's own subscriptions match
    read       look at events that others published: live, and in dry runs on recent traffic

The owner of a stream has all of them, and gives them to others. A stream on which a tenant has none is not there for
it. Whoever publishes may always look at what they published themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.errors import InputError
from vedette.service.errors import Forbidden, NotFound
from vedette.service.storage.store import Store
from vedette.service.storage.tables import grants
from vedette.service.tenants import ServiceStream, Streams, check_name

Right = Literal["publish", "subscribe", "read"]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
EVERYBODY: Final = "*"
_SHARED: Final[tuple[Right, ...]] = ("publish", "subscribe")  # of every tenant, where a stream has no owner


StreamGrants = Mapping[Right, Iterable[str] | None]  # who has a right; None: nothing is said of it


class Rights:
    """The grants of all streams, kept in memory: one process serves a database."""

    def __init__(self, store: Store, streams: Streams) -> None:
        self._store, self._streams = store, streams
        self._granted: dict[tuple[str, str], frozenset[str]] = {}  # stream and right -> tenants

    def load(self) -> None:
        """Read the grants from the database."""
        columns = sa.select(grants.c.stream, grants.c.right, grants.c.tenant)
        found: dict[tuple[str, str], frozenset[str]] = {}
        for stream, right, tenant in self._store.read(lambda c: c.execute(columns).all()):
            found[stream, right] = found.get((stream, right), frozenset()) | {tenant}
        self._granted = found

    # ------------------------------------------------------------ deciding

    def may(self, tenant: str, right: Right, stream: str) -> bool:
        """Whether a tenant has a right on a stream; False for a stream that does not exist."""
        found = self._streams.find(stream)
        if found is None:
            return False
        if tenant == found.owner or (right == "publish" and found.anonymous):
            return True
        granted = self._granted.get((stream, right), frozenset())
        return EVERYBODY in granted or tenant in granted

    def of(self, tenant: str, stream: str) -> list[Right]:
        """All rights of a tenant on a stream; a tenant without any does not see the stream."""
        return [right for right in RIGHTS if self.may(tenant, right, stream)]

    def stream(self, tenant: str, right: Right | None, stream: str) -> ServiceStream:
        """A stream on which the tenant has this right, or any; NotFound without rights, Forbidden with others only."""
        mine = self.of(tenant, stream)
        if not mine:
            raise NotFound(f"there is no stream {stream[:80]!r}\nHint: GET /v1/streams says which there are for you")
        if right is not None and right not in mine:
            raise Forbidden(
                f"you may not {right} on the stream {stream!r}\nHint: whoever owns the stream can grant it: {right}"
            )
        return self._streams.get(stream)

    def owned(self, tenant: str, stream: str) -> ServiceStream:
        """A stream that a tenant owns; NotFound if it has no right on it, Forbidden if others own it."""
        found = self.stream(tenant, None, stream)
        if found.owner != tenant:
            raise Forbidden(f"the stream {stream!r} is not yours\nHint: its owner, or the admin key, can do this")
        return found

    # ------------------------------------------------------------ granting

    def granted(self, stream: str) -> dict[str, list[Right]]:
        """The granted rights on a stream, by tenant."""
        some = {name for right in RIGHTS for name in self._granted.get((stream, right), ())}
        has = {name: [right for right in RIGHTS if name in self._granted.get((stream, right), ())] for name in some}
        return dict(sorted(has.items()))

    def grant(self, stream: str, tenant: str, rights: Iterable[Right]) -> None:
        """Set the rights of a tenant, or `*`, on a stream; an empty list revokes all."""
        self._streams.get(stream)
        check_grantee(tenant)
        mine = sa.and_(grants.c.stream == stream, grants.c.tenant == tenant)
        rows = [{"stream": stream, "tenant": tenant, "right": right} for right in dict.fromkeys(rights)]

        def work(connection: Connection) -> Callable[[], None]:
            connection.execute(sa.delete(grants).where(mine))
            if rows:
                connection.execute(sa.insert(grants), rows)
            return self._now(connection, stream)

        self._store.write(work, lambda settled: settled())

    def _now(self, connection: Connection, stream: str) -> Callable[[], None]:
        """Within a transaction that changed the grants of a stream: a function that updates memory after the commit."""
        found: dict[tuple[str, str], frozenset[str]] = {}
        mine = sa.select(grants.c.right, grants.c.tenant).where(grants.c.stream == stream)
        for right, tenant in connection.execute(mine):
            found[stream, right] = found.get((stream, right), frozenset()) | {tenant}

        def settled() -> None:
            self._granted = {key: some for key, some in self._granted.items() if key[0] != stream} | found

        return settled

    def would_change(self, stream: str, wanted: StreamGrants) -> bool:
        """Whether these grants differ from the present ones."""
        said = {right: frozenset(some) for right, some in wanted.items() if some is not None}
        return any(names != self._granted.get((stream, right), frozenset()) for right, names in said.items())

    def settle(
        self, stream: str, wanted: StreamGrants, connection: Connection, *, shared: bool | None
    ) -> Callable[[], None]:
        """Within a transaction: write who has each right on a stream; returns a function to be called after the commit.

        Where `wanted` does not name publish and subscribe: all tenants have them (`shared`), or only the owner has (not
        `shared`), or they stay as they are (None).
        """
        for right in RIGHTS:
            some = wanted.get(right)
            mine = sa.and_(grants.c.stream == stream, grants.c.right == right)
            if some is None and shared is False:
                connection.execute(sa.delete(grants).where(mine, grants.c.tenant == EVERYBODY))
            if some is None and shared and right in _SHARED:
                some = [EVERYBODY]
            if some is not None:
                connection.execute(sa.delete(grants).where(mine))
                rows = [{"stream": stream, "tenant": check_grantee(name), "right": right} for name in sorted(set(some))]
                if rows:
                    connection.execute(sa.insert(grants), rows)
        return self._now(connection, stream)


def check_grantee(name: str) -> str:
    """The name of a tenant, which may be made later, or `*`; InputError says what is wrong with it."""
    if name == EVERYBODY:
        return name
    try:
        return check_name(name, "tenant")
    except InputError as error:
        raise InputError(f"{error}; * stands for every tenant") from None
