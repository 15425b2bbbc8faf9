"""The tables: one model for SQLite and PostgreSQL.

Moments are microseconds since 1970 (UTC). A `number` gives the position in a sequence, and only grows.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# SQLite numbers rows by itself only where the key is an INTEGER.
_NUMBER: Final = BigInteger().with_variant(Integer(), "sqlite")


class _Bytes(LargeBinary):
    """Bytes as the driver returns them: of a damaged row that may be any type, which is checked before use."""

    cache_ok = True

    def result_processor(self, dialect: object, coltype: object) -> None:
        """No conversion."""


METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

tenants: Final = Table(
    "tenants",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("limits", Text),  # JSON: what differs from the settings
)

usage: Final = Table(
    "usage",
    METADATA,
    Column("tenant", String(128), ForeignKey("tenants.name", ondelete="CASCADE"), primary_key=True),
    Column("subscriptions", BigInteger, nullable=False),  # kept, so that they need not be counted
    Column("cost", Float, nullable=False),  # of all of them
    Column("offers", BigInteger, nullable=False),
)

keys: Final = Table(
    "keys",
    METADATA,
    Column("hash", String(64), primary_key=True),  # of an API key: the key itself is kept nowhere
    Column("tenant", String(128), ForeignKey("tenants.name", ondelete="CASCADE"), nullable=False),
    Column("label", String(128), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

streams: Final = Table(
    "streams",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("schema", Text),  # JSON: attribute -> type; null: any attributes
    Column("anonymous", Boolean, nullable=False),  # may anybody publish, without a key?
    Column("lateness", BigInteger, nullable=False),  # microseconds that patterns wait for events
    Column("created", BigInteger, nullable=False),
    Column("owner", String(128)),  # a tenant, which has every right on it; null: whoever runs the service
)

grants: Final = Table(
    "grants",
    METADATA,
    Column("stream", String(128), ForeignKey("streams.name", ondelete="CASCADE"), primary_key=True),
    Column("tenant", String(128), primary_key=True),  # its name, or * for all; it may be made later
    Column("right", String(16), primary_key=True),  # publish, subscribe, read
)

subscriptions: Final = Table(
    "subscriptions",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(128), nullable=False, unique=True),
    Column("tenant", String(128), ForeignKey("tenants.name", ondelete="CASCADE"), nullable=False),
    Column("stream", String(128), ForeignKey("streams.name", ondelete="CASCADE"), nullable=False),
    Column("subscriber", String(256)),
    Column("kind", String(16), nullable=False),  # filter, pattern, want
    Column("when", Text, nullable=False),  # in Vedette's own language
    Column("rule", Text),  # as it was handed in, where that was another dialect
    Column("dialect", String(32)),
    Column("origin", Text),  # JSON: what the rule says of itself
    Column("predict", Text),  # JSON
    Column("delivery", Text, nullable=False),  # JSON: how to deliver
    Column("ticket", String(64), nullable=False),  # its hash
    Column("version", Integer, nullable=False),  # grows with every replacement
    Column("since", BigInteger, nullable=False),  # it is matched with events after this number
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Column("sum", BigInteger),  # checksum of the row, as in all tables that have one: `row_checksums.py`
    Column("quarantined", BigInteger),  # when matching it failed; it matches nothing until it is replaced
    Column("quarantine_event", BigInteger),  # it misses all events from this number on
    Column("quarantine_reason", Text),
    Index(None, "tenant", "number"),
    Index(None, "expires"),
    sqlite_autoincrement=True,  # numbers are never used twice: notifications of old ones are kept by them
)

offers: Final = Table(
    "offers",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(128), nullable=False, unique=True),
    Column("tenant", String(128), ForeignKey("tenants.name", ondelete="CASCADE"), nullable=False),
    Column("stream", String(128), ForeignKey("streams.name", ondelete="CASCADE"), nullable=False),
    Column("publisher", String(256)),
    Column("when", Text, nullable=False),
    Column("ticket", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("sum", BigInteger),
    Index(None, "expires"),
    sqlite_autoincrement=True,
)

events: Final = Table(
    "events",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("stream", String(128), nullable=False),
    Column("tenant", String(128), nullable=False),  # who published it; empty: somebody without a key
    Column("source", String(512), nullable=False),  # of a CloudEvent, else empty: ids are unique within it
    Column("id", String(512), nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("body", _Bytes, nullable=False),  # JSON, as the engine sees it
    Column("trace", String(64)),  # the publisher's trace, so that delivery belongs to it
    Column("sum", BigInteger),
    UniqueConstraint("stream", "tenant", "source", "id"),
    Index(None, "received"),
    sqlite_autoincrement=True,  # numbers are never used twice, also after old events are gone
)

set_aside: Final = Table(
    "set_aside",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("stream", String(128), nullable=False),
    Column("tenant", String(128), nullable=False),  # who published the event; empty: somebody without a key
    Column("event", BigInteger, nullable=False),  # its number
    Column("id", String(512), nullable=False),  # of the event
    Column("kind", String(16), nullable=False),  # schema: it breaks the schema of its stream
    Column("attribute", Text, nullable=False),  # the first that is wrong; empty: the event as a whole
    Column("reason", Text, nullable=False),
    Column("moment", BigInteger, nullable=False),
    Column("body", LargeBinary),  # the event as JSON, unless it is large
    Index(None, "stream", "tenant", "number"),
    sqlite_autoincrement=True,
)

set_aside_counts: Final = Table(
    "set_aside_counts",
    METADATA,
    Column("stream", String(128), primary_key=True),
    Column("tenant", String(128), primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("rejected", BigInteger, nullable=False),  # all there ever were: `set_aside` keeps the latest
    Column("last", BigInteger, nullable=False),
)

PENDING, DELIVERED, DEAD, DROPPED = 0, 1, 2, 3

notifications: Final = Table(
    "notifications",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),  # made of its content: the same when it is made again
    Column("subscription", BigInteger, nullable=False),  # its number
    Column("tenant", String(128), nullable=False),
    Column("event", BigInteger, nullable=False),  # the number of the event that completed it
    Column("kind", String(16), nullable=False),  # match, prediction, meeting, quarantined
    Column("body", _Bytes, nullable=False),  # JSON, with the event in it
    Column("created", BigInteger, nullable=False),
    Column("trace", String(64)),  # of the event
    Column("state", SmallInteger, nullable=False),
    Column("settled", BigInteger),  # when it was delivered, given up or dropped
    Column("sum", BigInteger),
    Index(None, "subscription", "state", "number"),
    Index(None, "tenant", "number"),
    sqlite_autoincrement=True,
)

attempts: Final = Table(
    "attempts",
    METADATA,
    Column("subscription", BigInteger, primary_key=True, autoincrement=False),  # webhooks go one by one, in order
    Column("notification", BigInteger, nullable=False),  # 0: the last one was given up, none is tried again
    Column("count", Integer, nullable=False),  # how often this one was tried
    Column("due", BigInteger, nullable=False),
    Column("reason", Text),
    Column("since", BigInteger),  # the first failure after it last worked
    Column("failures", Integer),  # requests since then
    Column("status", Integer),  # of the last one; null: there was no answer
    Index(None, "due"),
)

dead_letters: Final = Table(
    "dead_letters",
    METADATA,
    Column("notification", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription", BigInteger, nullable=False),
    Column("tenant", String(128), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("died", BigInteger, nullable=False),
    Index(None, "tenant", "died"),
)

counters: Final = Table(
    "counters",
    METADATA,
    Column("subscription", BigInteger, primary_key=True, autoincrement=False),
    Column("due", BigInteger, nullable=False),  # notifications that were ever made
    Column("delivered", BigInteger, nullable=False),
    Column("dead", BigInteger, nullable=False),
    Column("dropped", BigInteger, nullable=False),
    Column("last", BigInteger),  # when it last matched
)

progress: Final = Table(
    "progress",
    METADATA,
    Column("stream", String(128), primary_key=True),
    Column("event", BigInteger, nullable=False),  # events up to here have been matched, and their notifications written
    Column("state", _Bytes),  # of patterns and forecasts; it has a checksum in it
    Column("state_event", BigInteger, nullable=False),  # after this event
)

lanes: Final = Table(
    "lanes",
    METADATA,
    Column("stream", String(128), primary_key=True),
    Column("lane", String(64), primary_key=True),  # empty: of older versions, where a stream had one lane alone
    Column("event", BigInteger, nullable=False),  # the same as in `progress`, which is that of plain subscriptions
    Column("state", _Bytes),
    Column("state_event", BigInteger, nullable=False),
)

# One row: the mark of the newest transaction, which PostgreSQL keeps here (`vedette.service.storage.receipts`).
marks: Final = Table("marks", METADATA, Column("mark", BigInteger, nullable=False))
