"""A PostgreSQL server of the test's own: an empty cluster on loopback, with a password, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text

from tests.connectors.processes import free_ports, running, wait_until

USER, PASSWORD, DATABASE = "vedette", "a pass/word", "postgres"


@dataclass(frozen=True)
class Postgres:
    """Where the server is; the password is not in the addresses."""

    port: int

    @property
    def jdbc(self) -> str:
        """For Spark."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{DATABASE}"

    @property
    def address(self) -> str:
        """For SQLAlchemy, with what stands for the password in it."""
        return f"postgresql+pg8000://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    def engine(self) -> Engine:
        """To look into the database with."""
        return create_engine(self.address, connect_args={"password": PASSWORD})

    def run(self, statement: str, rows: list[dict[str, Any]] | None = None) -> None:
        """One statement, in a transaction of its own; once for each row, if there are rows."""
        engine = self.engine()
        with engine.begin() as connection:
            connection.execute(text(statement), rows)
        engine.dispose()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        engine = self.engine()
        with engine.connect() as connection:
            found = [tuple(row) for row in connection.execute(text(query))]
        engine.dispose()
        return found


class Restarting(Postgres):
    """A server that can be ended, and started again on the same port with the same data."""

    def __init__(self, port: int, command: list[str], log: Path, user: str | None) -> None:
        super().__init__(port)
        self._command, self._log, self._user = command, log, user
        self._held = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, and wait until it answers."""
        self._process = self._held.enter_context(running(self._command, self._log, user=self._user))
        wait_until(lambda: _answers(self), "the PostgreSQL server does not answer", self._process, self._log)

    def end(self, how: signal.Signals) -> None:
        """End: SIGINT as one who runs it would, SIGQUIT like a crash."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)
        self.close()

    def close(self) -> None:
        """End it for good."""
        self._held.close()


@contextmanager
def postgres() -> Iterator[Restarting]:
    """A server, once it answers; the test is skipped where PostgreSQL is not installed."""
    programs = _programs()
    user = _unprivileged()
    # Not pytest's folder, which is its user's alone.
    folder = Path(tempfile.mkdtemp(prefix="vedette-postgres-"))
    try:
        password = folder / "password"
        password.write_text(PASSWORD)
        if user is not None:
            for path in (folder, password):
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)
        done = subprocess.run(
            [
                *(str(programs / "initdb"), "-D", str(folder / "data"), "-U", USER, "--pwfile", str(password)),
                *("-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"),
            ],
            user=user,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [port] = free_ports(1)
        log = folder / "server.log"
        command = [
            *(str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), "-k", str(folder)),
            *("-h", "127.0.0.1", "-c", "fsync=off"),
        ]
        server = Restarting(port, command, log, user)
        server.start()
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(server: Postgres) -> bool:
    from sqlalchemy.exc import DBAPIError

    try:
        return server.rows("select 1") == [(1,)]
    except DBAPIError:
        return False


def _programs() -> Path:
    """The folder of the newest server; packages of Debian and its kin do not put it on the PATH."""
    on_path = shutil.which("postgres")
    if on_path:
        return Path(on_path).parent
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists()]
    if not versions:
        pytest.skip("PostgreSQL's server (postgres, initdb) is not on this machine")
    return max(versions, key=lambda path: float(path.parent.name))


def _unprivileged() -> str | None:
    """Who runs the server: it refuses the superuser."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return name
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody on this machine")
