"""Configuration of uvicorn for the application, with the limits on connections."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from vedette.service.http.connection_limits import ConnectionLimits
from vedette.service.http.protocol import Protocol, WebSocketProtocol
from vedette.service.settings import ServiceSettings

_LOG: Final = logging.getLogger("vedette.service.http")
_MESSAGE: Final = 64 * 1024  # bytes of what a reader may say over a WebSocket
_OTHER_FILES: Final = 200  # descriptors beside connections: of the database, of libraries
_LEAST: Final = 100  # connections


def configured(app: FastAPI, settings: ServiceSettings, **more: Any) -> uvicorn.Config:
    """A configuration of uvicorn."""
    server = settings.server
    limits = ConnectionLimits(settings)
    limits.most = _that_fit(limits.most, settings.webhooks.concurrency)
    app.state.connections = limits
    app.state.metrics.watch(limits)
    given: dict[str, Any] = {
        "host": server.host,
        "port": server.port,
        "http": partial(Protocol, limits=limits),
        "ws": WebSocketProtocol,
        "ws_max_size": _MESSAGE,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": max(1, int(server.drain)),
        "timeout_keep_alive": server.keep_alive,
        "proxy_headers": bool(server.proxies),
        "forwarded_allow_ips": list(server.proxies),
    }
    return uvicorn.Config(app, **(given | more))


def _that_fit(wanted: int, webhooks: int) -> int:
    """How many connections this process can have open; its limit on open files is raised as far as allowed."""
    if sys.platform == "win32":  # pragma: no cover - elsewhere
        return wanted
    import resource

    beside = webhooks + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    may = wanted + beside if hard == resource.RLIM_INFINITY else min(hard, wanted + beside)
    if soft != resource.RLIM_INFINITY and soft < may:
        resource.setrlimit(resource.RLIMIT_NOFILE, (may, hard))
        soft = may
    room = wanted if soft == resource.RLIM_INFINITY else max(_LEAST, soft - beside)
    if room < wanted:
        _LOG.warning("only %s connections at a time, not %s: the limit on open files (ulimit -n)", room, wanted)
    return min(wanted, room)
