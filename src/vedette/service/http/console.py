"""The console's pages, by the process that serves the API; nothing but what this process sends may run in them."""

from __future__ import annotations

import hashlib
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.console import pages
from vedette.service.errors import NotFound

PREFIX: Final = "/console/"
_FIRST: Final = "index.html"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


def install(app: FastAPI) -> None:
    """Serve the pages under /console/; whoever opens the service itself is led there."""
    kept = {name: (body, media, _tag(body)) for name, (body, media) in pages().items()}

    async def page(request: Request, name: str = _FIRST) -> Response:
        found = kept.get(name)
        if found is None:
            raise NotFound(f"the console has no page {name[:80]!r}\nHint: begin at {PREFIX}")
        body, media, tag = found
        # Always asked for again, so that a new version is seen at once; what is known already is not sent.
        headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=media, headers=headers)

    async def there() -> Response:
        return RedirectResponse(PREFIX)

    for path in ("/", PREFIX.rstrip("/")):
        app.add_api_route(path, there, include_in_schema=False)
    app.add_api_route(PREFIX, page, include_in_schema=False)
    app.add_api_route(PREFIX + "{name}", page, include_in_schema=False)


def _tag(body: bytes) -> str:
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
