"""Publish events: acknowledged means that they are on the disk."""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from vedette.service import incoming
from vedette.service.http.answers import Published
from vedette.service.http.context import Here
from vedette.service.telemetry import traces

router: Final = APIRouter(tags=["events"])
_EVENT: Final = {"type": "object", "additionalProperties": True}
_SAID: Final = {
    "security": [{"key": []}],  # or nobody, where a stream allows that
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"oneOf": [_EVENT, {"type": "array", "items": _EVENT}]},
                "example": {"id": "e1", "issue": "IBM", "price": 119},
            },
            incoming.STRUCTURED: {"schema": _EVENT},
            incoming.BATCH: {"schema": {"type": "array", "items": _EVENT}},
            incoming.LINES[0]: {"schema": {"type": "string"}},
        },
    },
}


@router.post("/streams/{stream}/events", status_code=202, response_model=Published, openapi_extra=_SAID)
async def publish(stream: str, request: Request, here: Here) -> Response:
    """Publish an event or a batch: plain JSON, JSON lines, or CloudEvents (structured, binary, batch).

    Events whose id was there already are told apart, and count once.
    """
    where = here.service.streams.get(stream)
    await here.guards.publisher(request, where.anonymous)
    limits = here.service.settings.limits
    measures = incoming.Measures(limits.event_bytes, limits.batch_events, limits.depth)
    headers = request.headers
    events = incoming.read(await request.body(), headers.get("content-type", ""), headers, measures)
    with traces.publishing(stream, headers.get("traceparent")) as trace:
        accepted = await asyncio.wrap_future(here.service.journal.publish(stream, events, trace))
    told = {"accepted": len(accepted.numbers), "duplicates": accepted.duplicates, "ids": accepted.ids}
    return Response(orjson.dumps(told), 202, media_type="application/json")  # without another look at every id


@router.post("/events", status_code=202, response_model=Published, openapi_extra=_SAID)
async def publish_here(request: Request, here: Here) -> Response:
    """The same, on the stream `default`."""
    return await publish("default", request, here)
