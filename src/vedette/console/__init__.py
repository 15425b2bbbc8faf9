"""The web console: static pages that use the service's own API. No framework, no build, no external resources."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePath
from typing import Final

TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def pages() -> dict[str, tuple[bytes, str]]:
    """All files: name -> content and media type."""
    found = {}
    for each in files("vedette.console").iterdir():
        media = TYPES.get(PurePath(each.name).suffix)
        if media is not None:
            found[each.name] = each.read_bytes(), media
    return found
