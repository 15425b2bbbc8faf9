"""Brings a database to the tables of this version, by Alembic's migrations beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.engine import Connection, Engine

from vedette.service.errors import StoreFailed

SCRIPTS: Final = Path(__file__).parent / "migrations"


def migrate(engine: Engine, revision: str = "head") -> None:
    """Migrate the tables, all or nothing; StoreFailed if a newer version wrote them."""
    with engine.begin() as connection:
        config = configured(connection)
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            known = ScriptDirectory.from_config(config).get_current_head()
            there = MigrationContext.configure(connection).get_current_revision()
            raise StoreFailed(
                f"the database has tables of version {there}, and this program knows versions up to {known}\n"
                "Hint: a newer Vedette wrote it: use that one, or another database"
            ) from error


def configured(connection: Connection) -> Config:
    """Alembic's settings for one connection, without a file."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config
