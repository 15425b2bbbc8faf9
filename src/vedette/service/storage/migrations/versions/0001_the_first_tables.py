"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("subscription", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("notification", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("subscription", name=op.f("pk_attempts")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_attempts_due"), ["due"], unique=False)

    op.create_table(
        "counters",
        sa.Column("subscription", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("dead", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("subscription", name=op.f("pk_counters")),
    )
    op.create_table(
        "dead_letters",
        sa.Column("notification", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("subscription", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("died", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("notification", name=op.f("pk_dead_letters")),
    )
    with op.batch_alter_table("dead_letters", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_dead_letters_tenant_died"), ["tenant", "died"], unique=False)

    op.create_table(
        "events",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("source", sa.String(length=512), nullable=False),
        sa.Column("id", sa.String(length=512), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("trace", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_events")),
        sa.UniqueConstraint("stream", "source", "id", name=op.f("uq_events_stream_source_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_received"), ["received"], unique=False)

    op.create_table(
        "notifications",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("subscription", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("trace", sa.String(length=64), nullable=True),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("settled", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_notifications")),
        sa.UniqueConstraint("id", name=op.f("uq_notifications_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_notifications_subscription_state_number"), ["subscription", "state", "number"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_notifications_tenant_number"), ["tenant", "number"], unique=False)

    op.create_table(
        "progress",
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=True),
        sa.Column("state_event", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_progress")),
    )
    op.create_table(
        "streams",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("schema", sa.Text(), nullable=True),
        sa.Column("anonymous", sa.Boolean(), nullable=False),
        sa.Column("lateness", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_streams")),
    )
    op.create_table(
        "tenants",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tenants")),
    )
    op.create_table(
        "keys",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("label", sa.String(length=128), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.name"], name=op.f("fk_keys_tenant"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_keys")),
    )
    op.create_table(
        "offers",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("publisher", sa.String(length=256), nullable=True),
        sa.Column("when", sa.Text(), nullable=False),
        sa.Column("ticket", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_offers_stream"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.name"], name=op.f("fk_offers_tenant"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_offers")),
        sa.UniqueConstraint("id", name=op.f("uq_offers_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("offers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_offers_expires"), ["expires"], unique=False)

    op.create_table(
        "subscriptions",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("subscriber", sa.String(length=256), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("when", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("dialect", sa.String(length=32), nullable=True),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("predict", sa.Text(), nullable=True),
        sa.Column("delivery", sa.Text(), nullable=False),
        sa.Column("ticket", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_subscriptions_stream"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.name"], name=op.f("fk_subscriptions_tenant"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_subscriptions")),
        sa.UniqueConstraint("id", name=op.f("uq_subscriptions_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("subscriptions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_subscriptions_expires"), ["expires"], unique=False)
        batch_op.create_index(batch_op.f("ix_subscriptions_tenant_number"), ["tenant", "number"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("subscriptions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_subscriptions_tenant_number"))
        batch_op.drop_index(batch_op.f("ix_subscriptions_expires"))

    op.drop_table("subscriptions")
    with op.batch_alter_table("offers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_offers_expires"))

    op.drop_table("offers")
    op.drop_table("keys")
    op.drop_table("tenants")
    op.drop_table("streams")
    op.drop_table("progress")
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notifications_tenant_number"))
        batch_op.drop_index(batch_op.f("ix_notifications_subscription_state_number"))

    op.drop_table("notifications")
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_events_received"))

    op.drop_table("events")
    with op.batch_alter_table("dead_letters", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_dead_letters_tenant_died"))

    op.drop_table("dead_letters")
    op.drop_table("counters")
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_attempts_due"))

    op.drop_table("attempts")
