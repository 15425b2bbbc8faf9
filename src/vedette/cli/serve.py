"""`vedette serve`: the service over HTTP, with its console."""

from __future__ import annotations

import logging
import secrets
import sys
from typing import TYPE_CHECKING

from vedette.cli.terminal import Terminal
from vedette.errors import NotInstalled, StartError

if TYPE_CHECKING:
    from vedette.service.settings import Settings

_SWITCH_SECONDS = 0.001  # that the thread which matches may keep those who answer waiting
_MESSAGE = 64 * 1024  # bytes of what a reader may say over a WebSocket
_EXTRA = 'the service is not installed\nHint: pip install "vedette[service]"'


def serve(settings_file: str | None, host: str | None, port: int | None) -> None:
    """Serve until somebody ends it; what was accepted by then is on the disk."""
    try:
        import uvicorn

        from vedette.service.collecting import Collector
        from vedette.service.settings import load
        from vedette.service.telemetry import logs, traces
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{_EXTRA} ({error.name} is missing)") from None
    settings = _with_options(load(settings_file), host, port)
    settings, fresh = _with_admin(settings)
    logs.begin(settings.telemetry)
    traces.begin(settings.telemetry)
    from vedette.service.http.app import application
    from vedette.service.http.protocol import Protocol

    terminal = Terminal()
    server = settings.server
    where = f"http://{server.host}:{server.port}"
    app = application(settings, first_key=lambda tenant, key: _greet(terminal, where, tenant, key))
    terminal.note(f"Vedette serves {where} (pages: {where}/, API: {where}/docs), data in {_shown(settings.store.url)}")
    if fresh is not None:
        terminal.note(f"no admin key is set: until the end of this run it is {fresh}")
    config = uvicorn.Config(
        app,
        host=server.host,
        port=server.port,
        http=Protocol,
        ws_max_size=_MESSAGE,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, int(server.drain)),
        limit_concurrency=settings.limits.connections + 1_000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    Collector().install()
    sys.setswitchinterval(_SWITCH_SECONDS)
    running = uvicorn.Server(config)
    logging.getLogger("uvicorn.error").addFilter(lambda _: app.state.failure is None)  # it is told below, once
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


def _with_options(settings: Settings, host: str | None, port: int | None) -> Settings:
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=given)}) if given else settings


def _with_admin(settings: Settings) -> tuple[Settings, str | None]:
    """The settings with an admin key; and that key, if it had to be made."""
    if settings.server.admin_key is not None:
        return settings, None
    from pydantic import SecretStr

    fresh = "va_" + secrets.token_urlsafe(32)
    server = settings.server.model_copy(update={"admin_key": SecretStr(fresh)})
    return settings.model_copy(update={"server": server}), fresh


def _greet(terminal: Terminal, where: str, tenant: str, key: str) -> None:
    terminal.note(f"a first tenant {tenant!r} was made; its key, which is not shown again: {key}")
    terminal.note(f"try: export VEDETTE_URL={where} VEDETTE_KEY={key}; vedette subscribe 'price < 120'")


def _shown(url: str) -> str:
    import sqlalchemy

    return sqlalchemy.make_url(url).render_as_string(hide_password=True)
