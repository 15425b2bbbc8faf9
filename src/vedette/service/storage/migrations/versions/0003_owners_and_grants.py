"""Streams have owners and grants, events a publisher, within which ids are unique; events at fault are set aside."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_OLD, _NEW = ("stream", "source", "id"), ("stream", "tenant", "source", "id")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("streams", sa.Column("owner", sa.String(length=128), nullable=True))
    op.create_table(
        "grants",
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("right", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_grants_stream"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("stream", "tenant", "right", name=op.f("pk_grants")),
    )
    for right in ("publish", "subscribe"):  # as it was: every tenant could
        op.execute(f"INSERT INTO grants (stream, tenant, \"right\") SELECT name, '*', '{right}' FROM streams")
    op.create_table(
        "set_aside",
        sa.Column("number", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.String(length=512), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("attribute", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("moment", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_set_aside")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_set_aside_stream_tenant_number"), "set_aside", ["stream", "tenant", "number"])
    op.create_table(
        "set_aside_counts",
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "tenant", "kind", name=op.f("pk_set_aside_counts")),
    )
    _publishers(_OLD, _NEW)
    # Who published what is there is known only where there is one tenant, and where nobody else could.
    op.execute(
        """UPDATE events SET tenant = (SELECT max(name) FROM tenants)
           WHERE (SELECT count(*) FROM tenants) = 1 AND stream IN (SELECT name FROM streams WHERE NOT anonymous)"""
    )


def downgrade() -> None:
    op.execute(  # ids that are there twice now: the first one counts
        """DELETE FROM events WHERE number NOT IN (SELECT min(number) FROM events GROUP BY stream, source, id)"""
    )
    _publishers(_NEW, _OLD)
    op.drop_table("set_aside_counts")
    op.drop_index(op.f("ix_set_aside_stream_tenant_number"), "set_aside")
    op.drop_table("set_aside")
    op.drop_table("grants")
    op.drop_column("streams", "owner")


def _publishers(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Events get a publisher, or lose it; SQLite copies them into another table for that."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    last = op.get_bind().execute(sa.text(_LAST)).scalar() if is_sqlite else None
    with op.batch_alter_table("events", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_events_" + "_".join(before)), type_="unique")
        if "tenant" in after:
            batch_op.add_column(sa.Column("tenant", sa.String(length=128), nullable=False, server_default=""))
        else:
            batch_op.drop_column("tenant")
        batch_op.create_unique_constraint(batch_op.f("uq_events_" + "_".join(after)), list(after))
    if is_sqlite and last is not None:  # the copy would begin again after the newest that is still there
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('events', {int(last)})")
    if "tenant" in after and not is_sqlite:
        op.alter_column("events", "tenant", server_default=None)


_LAST = "SELECT seq FROM sqlite_sequence WHERE name = 'events'"
