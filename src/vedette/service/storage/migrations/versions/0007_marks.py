"""The mark of the newest transaction, by which PostgreSQL tells whether it was committed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    marks = op.create_table("marks", sa.Column("mark", sa.BigInteger(), nullable=False))
    op.bulk_insert(marks, [{"mark": 0}])


def downgrade() -> None:
    op.drop_table("marks")
