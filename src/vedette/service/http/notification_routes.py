"""Routes that deliver notifications: server-sent events, a WebSocket, and a queue to pull from."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Header, Query, WebSocket
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocketDisconnect

from vedette.errors import VedetteError
from vedette.service.delivery.notification_reader import DroppedCount, Heartbeat, NotificationReader, StartPosition
from vedette.service.errors import OverLimit, ServiceError
from vedette.service.http.answers import Acknowledged, Queued
from vedette.service.http.guards import bearer
from vedette.service.http.models import Acknowledge
from vedette.service.http.problems import of_error
from vedette.service.http.route_context import Context, CurrentContext, CurrentTenant, context_of, request_body, takes
from vedette.service.outbox import QueuedNotification
from vedette.service.subscription_registry import Subscription
from vedette.service.telemetry import traces

_LOG: Final = logging.getLogger("vedette.service.http")
router: Final = APIRouter(tags=["notifications"])
_PROTOCOL: Final = "vedette"
_LONGEST_WAIT: Final = 30.0
_ENDED, _POLICY, _TRY_AGAIN = 1000, 1008, 1013  # closing codes of a WebSocket
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("/subscriptions/{id}/stream", response_class=StreamingResponse)
async def stream(
    id: str,
    request: Request,
    here: CurrentContext,
    tenant: CurrentTenant,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)] = None,
    peek: bool = False,
) -> Response:
    """Notifications as server-sent events, from the oldest pending one, or after `Last-Event-ID`.

    What was sent counts as delivered; with `peek` it stays pending until it is acknowledged.
    """
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    reader = _reader(here, one, bearer(request) or "", peek=peek)
    return StreamingResponse(_events(reader, last), media_type="text/event-stream", headers=_HEADERS)


async def _events(reader: NotificationReader, last: str | None) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    try:
        async for one in reader.read(last):
            match one:
                case StartPosition(place):
                    yield b"id: %s\n\n" % place.encode()
                case QueuedNotification():
                    with traces.handing("sse", one.trace):
                        yield b"id: %s\nevent: %s\ndata: %s\n\n" % (one.id.encode(), one.kind.encode(), one.body)
                case DroppedCount(many):
                    yield b'event: dropped\ndata: {"kind":"dropped","dropped":%d}\n\n' % many
                case Heartbeat():
                    yield b": beat\n\n"
    except ServiceError as error:  # the reader comes back, and goes on after the last that it has
        _LOG.warning("a reader has to come again: %s", error)


@router.websocket("/subscriptions/{id}/ws")
async def websocket(socket: WebSocket, id: str, last: str | None = None) -> None:
    """Notifications over a WebSocket; `{"ack": "n_…"}` acknowledges all up to one.

    Browsers cannot set headers here: they offer the protocols `vedette` and `bearer.vk_…` instead.
    """
    here = context_of(socket)
    offered = [each.strip() for each in socket.headers.get("sec-websocket-protocol", "").split(",") if each.strip()]
    key = next((each.removeprefix("bearer.") for each in offered if each.startswith("bearer.")), None)
    kind, _, header = socket.headers.get("authorization", "").partition(" ")
    key = key or (header.strip() if kind.lower() == "bearer" else None)
    try:
        tenant = await here.guards.admitted(key, socket)
        one = await run_in_threadpool(here.service.registry.get, tenant, id)
        reader = _reader(here, one, key or "")
    except VedetteError as error:
        await socket.send_denial_response(of_error(error))  # nothing was accepted: the answer is one of HTTP
        return
    await socket.accept(_PROTOCOL if _PROTOCOL in offered else None)
    tasks = [
        asyncio.create_task(_send(socket, reader, last)),
        asyncio.create_task(_acknowledged(socket, here, one, reader)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    closing = next((task.result() for task in done if task.exception() is None), None)
    if closing is None and any(isinstance(task.exception(), ServiceError) for task in done):
        closing = _TRY_AGAIN, "the service cannot go on at present"
    if closing is not None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await socket.close(*closing)


async def _send(socket: WebSocket, reader: NotificationReader, last: str | None) -> tuple[int, str] | None:
    """Send notifications until the subscription ends; returns how to close the WebSocket then."""
    async for one in reader.read(last, acknowledged=True):
        match one:
            case QueuedNotification():
                with traces.handing("websocket", one.trace):
                    await socket.send_text(one.body.decode())
            case DroppedCount(many):
                await socket.send_text(f'{{"kind":"dropped","dropped":{many}}}')
            case Heartbeat():
                await socket.send_text('{"kind":"beat"}')
    return _ENDED, "the subscription has ended"


async def _acknowledged(
    socket: WebSocket, here: Context, one: Subscription, reader: NotificationReader
) -> tuple[int, str] | None:
    """Take acknowledgements until another message comes; returns how to close the WebSocket then."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        try:
            said = orjson.loads((message.get("text") or "")[:4096])
            id_ = said.get("ack") if isinstance(said, dict) else None
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            id_ = None
        if not isinstance(id_, str):
            return _POLICY, 'expected {"ack": "n_…"}'
        number = await run_in_threadpool(here.service.outbox.number_of, one.number, id_[:64])
        if number is not None:
            await reader.delivered(number)


@router.get("/subscriptions/{id}/notifications", response_model=Queued)
async def pull(
    id: str,
    here: CurrentContext,
    tenant: CurrentTenant,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT)] = 0.0,
) -> Response:
    """The oldest notifications, which stay pending until they are acknowledged; `wait` seconds for the first to come.

    `dropped` is how many were dropped since the last that was acknowledged, as too many were pending.
    """
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    with here.hub.waiting(one.number) as grown:
        found = await run_in_threadpool(here.service.outbox.pending, one.number, 0, limit)
        if not found and wait > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(grown.wait(), wait)
            found = await run_in_threadpool(here.service.outbox.pending, one.number, 0, limit)
    for each in found:
        with traces.handing("queue", each.trace):
            pass
    lost = found or here.service.outbox.damaged[one.number]
    missed = await run_in_threadpool(here.service.outbox.missed, one.number) if lost else 0
    body = b'{"notifications":[%s],"dropped":%d}' % (b",".join(each.body for each in found), missed)
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


@router.post("/subscriptions/{id}/notifications:ack", response_model=Acknowledged, openapi_extra=takes(Acknowledge))
async def acknowledge(id: str, request: Request, here: CurrentContext, tenant: CurrentTenant) -> dict[str, int]:
    """Acknowledge notifications, which are not handed out again."""
    taken = await request_body(request, Acknowledge)
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    work = here.service.store.submit(lambda c: here.service.outbox.acknowledge(c, one.number, taken.ids))
    return {"acknowledged": await asyncio.wrap_future(work)}


def _reader(here: Context, one: Subscription, key: str, *, peek: bool = False) -> NotificationReader:
    most = here.service.settings.limits.connections
    if here.hub.readers >= most:
        raise OverLimit(f"{most:,} readers are connected already\nHint: try again later", retry_after=5)
    may = partial(here.guards.opens, key)
    return NotificationReader(here.service.store, here.service.outbox, here.hub, one.number, may=may, peek=peek)
