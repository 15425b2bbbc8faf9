"""Subscriptions at fault are quarantined; a stream is matched in several lanes, each with its own progress."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("quarantined", sa.BigInteger()),
    ("quarantine_event", sa.BigInteger()),
    ("quarantine_reason", sa.Text()),
)


def upgrade() -> None:
    for name, type_ in _COLUMNS:
        op.add_column("subscriptions", sa.Column(name, type_, nullable=True))
    op.create_table(
        "lanes",
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("lane", sa.String(length=64), nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=True),
        sa.Column("state_event", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "lane", name=op.f("pk_lanes")),
    )
    # Until here one lane matched everything: lanes that begin for what stood then go on from there.
    op.execute(
        """INSERT INTO lanes (stream, lane, event, state, state_event)
           SELECT stream, '', event, state, state_event FROM progress"""
    )


def downgrade() -> None:
    op.drop_table("lanes")
    for name, _ in _COLUMNS:
        op.drop_column("subscriptions", name)
