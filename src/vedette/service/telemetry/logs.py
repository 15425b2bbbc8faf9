"""Logs: one JSON object a line, for machines, or plain lines, for people. Secrets never get into them."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, Final

import orjson

from vedette.service.clock import SECOND, iso
from vedette.service.settings import TelemetrySettings

_SECRETS: Final = re.compile(r"\b(v[akt]_|whsec_)[A-Za-z0-9_\-+/=]{8,}")
_URL_SECRETS: Final = re.compile(r"(://[^/\s:@]*):[^@\s/]+@")
_PLAIN: Final = frozenset(vars(logging.LogRecord("", 0, "", 0, "", None, None))) | {
    *("message", "asctime", "taskName"),
    "color_message",  # uvicorn's, for terminals
}


def scrubbed(text: str) -> str:
    """A text without tickets, keys, secrets of webhooks and passwords in URLs."""
    return _URL_SECRETS.sub(r"\1:***@", _SECRETS.sub(r"\1***", text))


class JsonLines(logging.Formatter):
    """A record as a JSON object: time, level, logger, message, what was handed in as `extra`, the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        said: dict[str, Any] = {
            "time": iso(int(record.created * SECOND)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return scrubbed(orjson.dumps(said, default=str).decode())


class PlainLines(logging.Formatter):
    """A record as a line for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s  %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return scrubbed(super().format(record))


def begin(settings: TelemetrySettings) -> None:
    """Write logs of the service, and of the server under it, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.logs == "json" else PlainLines())
    for name in ("vedette", "uvicorn", "uvicorn.error", "alembic"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name in ("vedette", "uvicorn") else []
        logger.propagate = name not in ("vedette", "uvicorn")
        logger.setLevel(settings.level.upper() if name != "alembic" else logging.WARNING)
    logging.getLogger("uvicorn.access").disabled = True  # requests are counted, and traced
