"""Rows have checksums, so that damage is found; those that are there already get theirs as they are."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_SUMMED: Final = {
    "events": ("stream", "tenant", "received", "trace", "source", "id", "body"),
    "notifications": ("id", "subscription", "tenant", "event", "kind", "created", "trace", "body"),
    "subscriptions": (
        *("id", "tenant", "stream", "subscriber", "kind", "rule", "dialect", "origin", "predict", "delivery"),
        *("version", "since", "when"),
    ),
    "offers": ("id", "tenant", "stream", "publisher", "created", "expires", "when"),
}
_AT_ONCE: Final = 5_000  # rows


def upgrade() -> None:
    for name, columns in _SUMMED.items():
        op.add_column(name, sa.Column("sum", sa.BigInteger(), nullable=True))
        table = sa.table(name, sa.column("number"), sa.column("sum"), *(sa.column(each) for each in columns))
        _add_sums(table, columns)


def downgrade() -> None:
    for name in _SUMMED:
        op.drop_column(name, "sum")


def _add_sums(table: sa.TableClause, columns: tuple[str, ...]) -> None:
    connection, number = op.get_bind(), table.c.number
    changed = sa.update(table).where(number == sa.bindparam("at")).values(sum=sa.bindparam("found"))
    page = sa.select(number, *(table.c[each] for each in columns)).order_by(number).limit(_AT_ONCE)
    last = -1
    while rows := connection.execute(page.where(number > last)).all():
        connection.execute(changed, [{"at": row.number, "found": _sum(columns, dict(row._mapping))} for row in rows])
        last = rows[-1].number


def _sum(columns: tuple[str, ...], row: Mapping[str, Any]) -> int:
    *head, last = (row[each] for each in columns)
    found = zlib.crc32("\0".join(map(str, head)).encode(errors="surrogatepass"))
    return zlib.crc32(last if isinstance(last, bytes) else str(last).encode(errors="surrogatepass"), found)
