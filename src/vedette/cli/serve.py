"""`vedette serve`: run the service over HTTP, with its console."""

from __future__ import annotations

import logging
import secrets
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vedette.cli.terminal import Terminal
from vedette.errors import NotInstalled, StartError

if TYPE_CHECKING:
    from vedette.service.settings import ServiceSettings

_SWITCH_SECONDS = 0.001  # that the thread which matches may keep those who answer waiting
EXTRA = 'the service is not installed\nHint: pip install "vedette[service]"'


def serve(settings_file: str | None, host: str | None, port: int | None) -> None:
    """Serve until interrupted; everything accepted by then is on the disk."""
    try:
        import uvicorn

        from vedette.service.garbage_collection import GarbageCollection
        from vedette.service.settings import load
        from vedette.service.telemetry import logs, traces
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{EXTRA} ({error.name} is missing)") from None
    settings = _with_options(load(settings_file), host, port)
    settings, fresh = _with_admin(settings)
    logs.begin(settings.telemetry)
    traces.begin(settings.telemetry)
    from vedette.service.http.app import application
    from vedette.service.http.server import configured

    terminal = Terminal()
    server = settings.server
    where = f"http://{server.host}:{server.port}"
    keys = _Keys(terminal, settings.store.url)
    app = application(settings, first_key=lambda tenant, key: _greet(terminal, keys, where, tenant, key))
    terminal.note(f"Vedette serves {where} (pages: {where}/, API: {where}/docs), data in {_shown(settings.store.url)}")
    if fresh is not None:
        keys.tell("admin-key", fresh, "no admin key is set: until the end of this run it is")
    GarbageCollection().install()
    sys.setswitchinterval(_SWITCH_SECONDS)
    running = uvicorn.Server(configured(app, settings))
    logging.getLogger("uvicorn.error").addFilter(lambda _: app.state.failure is None)  # it is shown below, once
    try:
        running.run()
    except (SystemExit, KeyboardInterrupt):  # the signal that ended it, told once more; or it never began
        if running.started:
            return
    if app.state.failure is not None:
        raise app.state.failure
    if not running.started:
        raise StartError(
            f"the service did not start at {where}\n"
            "Hint: the lines above say why; where the port is taken, --port names another"
        )


def _with_options(settings: ServiceSettings, host: str | None, port: int | None) -> ServiceSettings:
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=given)}) if given else settings


def _with_admin(settings: ServiceSettings) -> tuple[ServiceSettings, str | None]:
    """The settings with an admin key; and that key, if it had to be made."""
    if settings.server.admin_key is not None:
        return settings, None
    from pydantic import SecretStr

    fresh = "va_" + secrets.token_urlsafe(32)
    server = settings.server.model_copy(update={"admin_key": SecretStr(fresh)})
    return settings.model_copy(update={"server": server}), fresh


class _Keys:
    """Shows new keys on a terminal, else writes files beside the database, as standard error may be anybody's log."""

    def __init__(self, terminal: Terminal, url: str) -> None:
        import sqlalchemy

        parsed = sqlalchemy.make_url(url)
        name = parsed.database if parsed.get_backend_name() == "sqlite" and parsed.database else "vedette"
        self._terminal, self._beside = terminal, Path(name).absolute()

    def tell(self, name: str, key: str, what: str) -> str:
        """Show or write a key; return how a shell gets it."""
        from vedette.service.storage.private_files import write_private

        if self._terminal.console.is_terminal:
            self._terminal.note(f"{what} {key}")
            return key
        place = self._beside.with_name(f"{self._beside.name}-{name}")
        try:
            write_private(place, key + "\n")
        except OSError as error:
            self._terminal.warn(
                f"{place} cannot be written ({error.strerror}): there is a new key, and nobody knows it"
            )
        else:
            self._terminal.note(f"{what} in {place}")
        return f"$(cat {shlex.quote(str(place))})"


def _greet(terminal: Terminal, keys: _Keys, where: str, tenant: str, key: str) -> None:
    shown = keys.tell("first-key", key, f"a first tenant {tenant!r} was made; its key, which is not shown again:")
    terminal.note(f"try: export VEDETTE_URL={where} VEDETTE_KEY={shown}; vedette subscribe 'price < 120'")


def _shown(url: str) -> str:
    import sqlalchemy

    return sqlalchemy.make_url(url).render_as_string(hide_password=True)
