"""Errors as answers by RFC 9457 (`application/problem+json`), whatever went wrong.

`type` is a name that does not change, `title` the kind of error, `detail` what is wrong here; `hint` says how to mend
it, and `where`, for texts, the line and column.
"""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from vedette.errors import (
    FilterError,
    InputError,
    LimitError,
    NotInstalled,
    NotSupported,
    UnknownSubscription,
    VedetteError,
)
from vedette.service.errors import ServiceError

_LOG: Final = logging.getLogger("vedette.service.http")
MEDIA: Final = "application/problem+json"
_TYPES: Final = "urn:vedette:problem:"
_SOON: Final = 1.0  # seconds after which it makes sense to ask a database again

# The first that fits.
_KINDS: Final[tuple[tuple[type[VedetteError], int, str], ...]] = (
    (LimitError, 422, "over-limit-of-the-language"),
    (FilterError, 422, "bad-subscription"),
    (NotSupported, 422, "not-supported"),
    (UnknownSubscription, 404, "not-found"),
    (NotInstalled, 501, "not-installed"),
    (InputError, 422, "bad-input"),
)


def problem(status: int, kind: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """An answer that describes an error."""
    what, _, hint = detail.partition("\nHint: ")
    body = {"type": _TYPES + kind, "title": _title(status), "status": status, "detail": what}
    if hint:
        body["hint"] = hint
    body |= {name: value for name, value in more.items() if value is not None}
    return Response(orjson.dumps(body), status, {"Cache-Control": "no-store", **(headers or {})}, MEDIA)


def of_error(error: VedetteError) -> Response:
    """The answer for one of Vedette's own errors."""
    if isinstance(error, ServiceError):
        headers = {}
        unavailable = error.status == HTTPStatus.SERVICE_UNAVAILABLE
        if error.retry_after is not None or unavailable:
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or _SOON)))
        if error.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return problem(error.status, error.kind, str(error), headers=headers)
    status, kind = next(
        ((status, kind) for type_, status, kind in _KINDS if isinstance(error, type_)), (500, "internal")
    )
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _LOG.error("a request failed", exc_info=error)
        return problem(status, kind, "something went wrong inside; it was logged")
    where = None
    if isinstance(error, FilterError) and error.text:
        where = {"line": error.line, "column": error.column, "start": error.start, "end": error.end}
    return problem(status, kind, str(error), where=where)


def install(app: FastAPI) -> None:
    """Make an application answer all errors in this way."""

    async def ours(_: Request, error: Exception) -> Response:
        assert isinstance(error, VedetteError)
        return of_error(error)

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        detail, path = str(error.detail), request.url.path[:80]
        if error.status_code == HTTPStatus.NOT_FOUND:
            detail = f"there is nothing at {path!r}\nHint: what there is, is told at /docs, and at /openapi.json"
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"{request.method[:20]} makes no sense for {path!r}\nHint: /docs tells what does"
        return problem(error.status_code, _kind(error.status_code), detail, headers=headers)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        wrong = [{"where": ".".join(map(str, mistake["loc"])), "what": mistake["msg"]} for mistake in error.errors()]
        return problem(422, "bad-input", "the request makes no sense: see `mistakes`", mistakes=wrong[:20])

    async def unexpected(_: Request, error: Exception) -> Response:
        _LOG.error("a request failed", exc_info=error)
        return problem(500, "internal", "something went wrong inside; it was logged")

    async def gone(_: Request, error: Exception) -> Response:
        return Response(status_code=400)  # which nobody reads: the client went away while it sent

    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(VedetteError, ours)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unexpected)


def _kind(status: int) -> str:
    return _title(status).lower().replace(" ", "-")


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
