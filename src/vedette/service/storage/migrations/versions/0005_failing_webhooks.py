"""Since when a webhook fails, how often it did, and with which status."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("since", sa.BigInteger(), nullable=True))
    op.add_column("attempts", sa.Column("failures", sa.Integer(), nullable=True))
    op.add_column("attempts", sa.Column("status", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM attempts WHERE notification = 0")
    for name in ("status", "failures", "since"):
        op.drop_column("attempts", name)
