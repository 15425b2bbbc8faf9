"""What every tenant uses is kept, so that nobody has to count it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("subscriptions", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("offers", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.name"], name=op.f("fk_usage_tenant"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_usage")),
    )
    op.execute(
        """INSERT INTO usage (tenant, subscriptions, cost, offers)
           SELECT name,
                  (SELECT count(*) FROM subscriptions WHERE tenant = name),
                  (SELECT coalesce(sum(cost), 0) FROM subscriptions WHERE tenant = name),
                  (SELECT count(*) FROM offers WHERE tenant = name)
           FROM tenants"""
    )


def downgrade() -> None:
    op.drop_table("usage")
