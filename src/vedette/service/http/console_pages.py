"""Routes of the console and of the API's page; the browser runs nothing but what this process sends.

The console can be left out; the page that describes the API is always there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.console import pages
from vedette.service.errors import NotFound

CONSOLE: Final = "/console/"
DOCS: Final = "/docs/"
_OF_DOCS: Final = ("docs.html", "docs.css", "docs.js", "dom.js", "console.css", "mark.svg")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class _ConsolePage(NamedTuple):
    body: bytes
    media: str
    tag: str


def install(app: FastAPI, *, console: bool) -> None:
    """Add the routes of the pages; `/` redirects to the console, or else to the API's page."""
    kept = {name: _ConsolePage(body, media, _tag(body)) for name, (body, media) in pages().items()}
    _serve(app, DOCS, "docs.html", {name: kept[name] for name in _OF_DOCS})
    if console:
        mine = {name: page for name, page in kept.items() if not name.startswith("docs.")}
        _serve(app, CONSOLE, "index.html", mine)
    app.add_api_route("/", _led_to(CONSOLE if console else DOCS), include_in_schema=False)


def _serve(app: FastAPI, prefix: str, first: str, kept: dict[str, _ConsolePage]) -> None:
    async def page(request: Request, name: str = first) -> Response:
        found = kept.get(name)
        if found is None:
            raise NotFound(f"there is no page {name[:80]!r} here\nHint: begin at {prefix}")
        # Always asked for again, so that a new version is seen at once; what is known already is not sent.
        headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache", "ETag": found.tag}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.body, media_type=found.media, headers=headers)

    app.add_api_route(prefix.rstrip("/"), _led_to(prefix), include_in_schema=False)
    app.add_api_route(prefix, page, include_in_schema=False)
    app.add_api_route(prefix + "{name}", page, include_in_schema=False)


def _led_to(where: str) -> Callable[[], Awaitable[Response]]:
    async def led() -> Response:
        return RedirectResponse(where)

    return led


def _tag(body: bytes) -> str:
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
