"""Routes to publish events; the answer is sent when they are on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.schema.encode import Reject
from vedette.service import incoming_events
from vedette.service.http.answers import Published
from vedette.service.http.problems import problem
from vedette.service.http.route_context import Context, CurrentContext
from vedette.service.journal import NOBODY
from vedette.service.telemetry import traces
from vedette.service.tenants import ServiceStream, Tenant
from vedette.service.validation import schema_violations

router: Final = APIRouter(tags=["events"])
_MISTAKES: Final = 100  # that are listed
Validate = Annotated[bool, Query(description="Refuse all of them if one breaks the schema of the stream")]
_EVENT: Final = {"type": "object", "additionalProperties": True}
_SAID: Final = {
    "security": [{"key": []}],  # or no key, where a stream allows that
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"oneOf": [_EVENT, {"type": "array", "items": _EVENT}]},
                "example": {"id": "e1", "issue": "IBM", "price": 119},
            },
            incoming_events.STRUCTURED: {"schema": _EVENT},
            incoming_events.BATCH: {"schema": {"type": "array", "items": _EVENT}},
            incoming_events.LINES[0]: {"schema": {"type": "string"}},
        },
    },
}


@router.post("/streams/{stream}/events", status_code=202, response_model=Published, openapi_extra=_SAID)
async def publish(stream: str, request: Request, here: CurrentContext, validate: Validate = False) -> Response:
    """Publish an event or a batch: plain JSON, JSON lines, or CloudEvents (structured, binary, batch).

    Events with an id that the same tenant published before are duplicates, and count once. An event that breaks the
    schema of the stream is accepted and set aside (`/v1/streams/{name}/rejected`), which does not affect the
    others of its batch. With `validate` all are checked first: if one breaks the schema, the answer is 422 with all
    `mistakes`, and nothing is accepted.
    """
    found = here.service.streams.find(stream)
    tenant = await here.guards.publisher(request, anonymous=found is not None and found.anonymous)
    where = here.service.streams.get(stream) if tenant is None else _allowed(here, tenant, stream)
    here.service.pump.check(stream)
    limits = here.service.settings.limits
    measures = incoming_events.EventLimits(limits.event_bytes, limits.batch_events, limits.depth)
    headers = request.headers
    events = incoming_events.read(await request.body(), headers.get("content-type", ""), headers, measures)
    mistakes = (
        await run_in_threadpool(schema_violations, [one.event for one in events], where.schema) if validate else []
    )
    if mistakes:
        return _refused(mistakes, [one.id for one in events])
    by = NOBODY if tenant is None else tenant.name
    with traces.publishing(stream, headers.get("traceparent")) as trace:
        accepted = await asyncio.wrap_future(here.service.journal.publish(stream, events, trace, tenant=by))
    told = {"accepted": len(accepted.numbers), "duplicates": accepted.duplicates, "ids": accepted.ids}
    return Response(orjson.dumps(told), 202, media_type="application/json")  # without another look at every id


@router.post("/events", status_code=202, response_model=Published, openapi_extra=_SAID)
async def publish_here(request: Request, here: CurrentContext, validate: Validate = False) -> Response:
    """The same, on the stream `default`."""
    return await publish("default", request, here, validate)


def _allowed(here: Context, tenant: Tenant, stream: str) -> ServiceStream:
    return here.service.rights.stream(tenant.name, "publish", stream)


def _refused(mistakes: Sequence[Reject], ids: Sequence[str]) -> Response:
    """The answer when events break the schema and nothing was accepted: which, where, and why."""
    first, more = mistakes[0], len(mistakes) - 1
    others = f", and {more:,} more of {len(ids):,} events" if more else ""
    detail = f"event {first.row}, attribute {first.attribute!r}: {first.reason}{others}; nothing was accepted"
    hint = "Hint: mend them; without ?validate=true the others are accepted, and these are set aside"
    said = [
        {"event": one.row, "id": ids[one.row], "attribute": one.attribute, "reason": one.reason}
        for one in mistakes[:_MISTAKES]
    ]
    return problem(422, "breaks-schema", f"{detail}\n{hint}", mistakes=said)
