"""Alembic's environment of migrations; the connection is handed in (see `vedette.service.storage.schema_migration`)."""

from __future__ import annotations

from alembic import context

from vedette.service.storage.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
