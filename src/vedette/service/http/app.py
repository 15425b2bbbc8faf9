"""The application: FastAPI with all routes, and the service behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vedette.errors import VedetteError
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.webhooks import Webhooks
from vedette.service.http import admin, asyncapi, console, looking, market, publishing, reading, subscriptions
from vedette.service.http.answers import Problem
from vedette.service.http.context import Context, context_of
from vedette.service.http.guards import Guards, Measured
from vedette.service.http.problems import install, problem
from vedette.service.service import Service
from vedette.service.settings import Settings
from vedette.service.telemetry.metrics import MEDIA, Counted, Metrics
from vedette.version import __version__

_FIRST = "default"  # the name of the first tenant
_PATIENCE = 5.0  # seconds that the database may take to say that it is there
_WRONG: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "What went wrong (RFC 9457)",
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
}


def application(settings: Settings, *, first_key: Callable[[str, str], None] | None = None) -> FastAPI:
    """The service over HTTP; it starts and ends with the server that runs it.

    Where there is no tenant yet, and somebody listens to `first_key`, a first one is made, and its key told there.
    """
    service = Service(settings)
    hub = Hub()
    service.outbox.grown = hub.grown
    metrics = Metrics(service, hub)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        hub.start()
        try:
            await run_in_threadpool(service.start)
        except VedetteError as error:
            app.state.failure = error  # whoever runs the server tells it, without a traceback
            raise
        if first_key is not None and not await run_in_threadpool(service.tenants.all):
            await run_in_threadpool(service.tenants.add, _FIRST)
            first_key(_FIRST, await run_in_threadpool(service.tenants.new_key, _FIRST, "first"))
        webhooks = Webhooks(service.store, service.outbox, service.registry, hub, settings.webhooks)
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
        docs_url=None,  # which would load a page's scripts from elsewhere
        redoc_url=None,
    )
    app.state.failure = None
    app.state.context = Context(service, Guards(service.tenants, settings), hub)
    install(app)
    for module in (subscriptions, publishing, reading, market, looking, admin):
        app.include_router(module.router, prefix="/v1")
    app.add_api_route("/asyncapi.json", _described, include_in_schema=False)
    app.add_api_route("/livez", _alive, include_in_schema=False)
    app.add_api_route("/readyz", _ready, include_in_schema=False)
    app.add_api_route("/metrics", _measured(metrics), include_in_schema=False)
    console.install(app, console=settings.server.console)
    app.add_middleware(Counted, metrics=metrics)
    app.add_middleware(Measured, most=settings.limits.body_bytes, strict=lambda path: path.startswith("/v1"))
    return app


def _measured(metrics: Metrics) -> Callable[[], Awaitable[Response]]:
    async def measured() -> Response:
        return Response(await run_in_threadpool(metrics.text), media_type=MEDIA)

    return measured


async def _described(request: Request) -> Response:
    return JSONResponse(asyncapi.document(request.url.netloc, secure=request.url.scheme == "https"))


async def _alive() -> Response:
    return JSONResponse({"status": "alive"})


async def _ready(request: Request) -> Response:
    """Whether the service can do its work: the database answers, and matching goes on."""
    asking = run_in_threadpool(context_of(request).service.trouble)
    try:
        trouble = await asyncio.wait_for(asking, _PATIENCE)
    except TimeoutError:
        trouble = f"the database has not answered for {_PATIENCE:g} seconds"
    if trouble is not None:
        return problem(503, "not-ready", trouble, headers={"Retry-After": "1"})
    return JSONResponse({"status": "ready"})
