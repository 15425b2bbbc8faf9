"""The FastAPI application: all routes, and the service behind them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vedette.errors import VedetteError
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.webhooks import Webhooks
from vedette.service.http import (
    admin_routes,
    asyncapi,
    console_pages,
    inspection_routes,
    notification_routes,
    offer_routes,
    publish_routes,
    stream_routes,
    subscription_routes,
)
from vedette.service.http.answers import Problem
from vedette.service.http.guards import BodyLimitMiddleware, Guards
from vedette.service.http.metrics import MEDIA, Counted, Metrics
from vedette.service.http.problems import install, problem
from vedette.service.http.route_context import Context, context_of
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings
from vedette.version import __version__

_FIRST = "default"  # the name of the first tenant
_PATIENCE = 5.0  # seconds that the database may take to say that it is there
_WRONG: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "What went wrong (RFC 9457)",
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
}


def application(settings: ServiceSettings, *, first_key: Callable[[str, str], None] | None = None) -> FastAPI:
    """The service over HTTP; it starts and ends with the server that runs it.

    If there is no tenant yet and `first_key` is given, a first tenant is made, and its name and key are handed to it.
    """
    service = Service(settings)
    hub = Hub()
    service.outbox.grown = hub.grown
    guards = Guards(service.tenants, settings)
    metrics = Metrics(service, hub)

    def revoked(key_hash: str) -> None:
        guards.revoked(key_hash)
        hub.wake()
        service.watching.wake()

    service.tenants.revoked = revoked

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        hub.start()
        try:
            await run_in_threadpool(service.start)
        except VedetteError as error:
            app.state.failure = error  # the caller that runs the server reports it, without a traceback
            raise
        if first_key is not None and not await run_in_threadpool(service.tenants.all):
            first_key(_FIRST, await run_in_threadpool(service.tenants.add_with_key, _FIRST))
        webhooks = Webhooks(
            service.store, service.outbox, service.registry, hub, settings.webhooks, service.now, service.secrets
        )
        metrics.follow(webhooks)
        sending = asyncio.create_task(webhooks.run())
        try:
            yield
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending
            await run_in_threadpool(service.close)

    app = FastAPI(
        title="Vedette",
        version=__version__,
        summary="Subscribe, publish, be told.",
        lifespan=life,
        responses=_WRONG,
        openapi_url=None,  # which would be generated anew for each request
        docs_url=None,  # which would load a page's scripts from elsewhere
        redoc_url=None,
    )
    app.state.failure = None
    app.state.metrics = metrics
    app.state.context = Context(service, guards, hub)
    install(app)
    for module in (
        publish_routes,  # first, since a route is found by trying one after the other
        subscription_routes,
        stream_routes,
        notification_routes,
        offer_routes,
        inspection_routes,
        admin_routes,
    ):
        app.include_router(module.router, prefix="/v1")
    app.add_api_route("/openapi.json", _written_once(app), include_in_schema=False)
    app.add_api_route("/asyncapi.json", _described, include_in_schema=False)
    app.add_api_route("/livez", _alive, include_in_schema=False)
    app.add_api_route("/readyz", _ready, include_in_schema=False)
    app.add_api_route("/metrics", _measured(metrics), include_in_schema=False)
    console_pages.install(app, console=settings.server.console)
    app.add_middleware(Counted, metrics=metrics)
    app.add_middleware(
        BodyLimitMiddleware,
        most=settings.limits.body_bytes,
        strict=lambda path: path.startswith("/v1"),
        anybody=app.state.context.guards.anybody,
    )
    return app


def _measured(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def measured(request: Request) -> Response:
        names = context_of(request).guards.metrics(request)
        return Response(await run_in_threadpool(partial(metrics.text, names=names)), media_type=MEDIA)

    return measured


def _written_once(app: FastAPI) -> Callable[[], Awaitable[Response]]:
    @cache
    def text() -> bytes:
        return orjson.dumps(app.openapi())

    async def described() -> Response:
        return Response(text(), media_type="application/json")

    return described


async def _described(request: Request) -> Response:
    return JSONResponse(asyncapi.document(request.url.netloc, secure=request.url.scheme == "https"))


async def _alive() -> Response:
    return JSONResponse({"status": "alive"})


async def _ready(request: Request) -> Response:
    """Whether the service can do its work: the database answers, and events are matched."""
    asking = run_in_threadpool(context_of(request).service.trouble)
    try:
        trouble = await asyncio.wait_for(asking, _PATIENCE)
    except TimeoutError:
        trouble = f"the database has not answered for {_PATIENCE:g} seconds"
    if trouble is not None:
        return problem(503, "not-ready", trouble, headers={"Retry-After": "1"})
    degraded = context_of(request).service.pump.degraded
    return JSONResponse({"status": "ready"} | ({"degraded": degraded} if degraded else {}))
