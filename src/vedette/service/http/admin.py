"""For whoever runs the service: tenants, keys, streams; and for tenants: dead letters."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Final

import orjson
import sqlalchemy as sa
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.service import clock
from vedette.service.http.answers import (
    DeadLetters,
    Keys,
    MadeKey,
    MadeTenant,
    PutStream,
    Replayed,
    ShownStreams,
    ShownTenants,
)
from vedette.service.http.context import Admin, Here, Mine, asked, takes
from vedette.service.http.models import NewKey, NewStream, NewTenant, Replay
from vedette.service.storage.tables import dead_letters, notifications
from vedette.service.tenants import key_id

_LOG: Final = logging.getLogger("vedette.service.http")
router: Final = APIRouter()


@router.post(
    "/tenants",
    status_code=201,
    response_model=MadeTenant,
    dependencies=[Admin],
    tags=["admin"],
    openapi_extra=takes(NewTenant),
)
async def new_tenant(request: Request, here: Here) -> dict[str, Any]:
    """A new tenant, with a first key, which is shown once."""
    given = await asked(request, NewTenant)
    await run_in_threadpool(here.service.tenants.add, given.name, given.limits.model_dump(exclude_none=True))
    key = await run_in_threadpool(here.service.tenants.new_key, given.name, "first")
    _LOG.info("a tenant was made", extra={"tenant": given.name, "key_id": key_id(key)})
    return {"name": given.name, "key": key, "id": key_id(key)}


@router.post(
    "/tenants/{name}/keys",
    status_code=201,
    response_model=MadeKey,
    dependencies=[Admin],
    tags=["admin"],
    openapi_extra=takes(NewKey),
)
async def new_key(name: str, request: Request, here: Here) -> dict[str, Any]:
    """Another key of a tenant, which is shown once."""
    given = await asked(request, NewKey)
    key = await run_in_threadpool(here.service.tenants.new_key, name, given.label)
    _LOG.info("a key was made", extra={"tenant": name, "key_id": key_id(key)})
    return {"key": key, "id": key_id(key)}


@router.get("/tenants/{name}/keys", response_model=Keys, dependencies=[Admin], tags=["admin"])
async def list_keys(name: str, here: Here) -> dict[str, Any]:
    """The keys of a tenant, also those that were revoked; what opens anything is not kept."""
    some = await run_in_threadpool(here.service.tenants.keys, name)
    return {
        "keys": [
            {
                "id": one.id,
                "label": one.label,
                "created": clock.iso(one.created),
                "revoked": None if one.revoked is None else clock.iso(one.revoked),
            }
            for one in some
        ]
    }


@router.delete("/tenants/{name}/keys/{id}", status_code=204, dependencies=[Admin], tags=["admin"])
async def revoke_key(name: str, id: str, here: Here) -> Response:
    """Let a key open nothing from now on; who reads by it is disconnected."""
    here.guards.revoked(await run_in_threadpool(here.service.tenants.revoke, name, id))
    here.hub.wake()
    here.service.watching.wake()
    _LOG.info("a key was revoked", extra={"tenant": name, "key_id": id})
    return Response(status_code=204)


@router.get("/tenants", response_model=ShownTenants, dependencies=[Admin], tags=["admin"])
async def tenants(here: Here) -> dict[str, Any]:
    """All tenants."""
    return {
        "tenants": [
            {"name": one.name, "limits": one.limits} for one in await run_in_threadpool(here.service.tenants.all)
        ]
    }


@router.put(
    "/streams/{name}",
    response_model=PutStream,
    dependencies=[Admin],
    tags=["admin"],
    openapi_extra=takes(NewStream),
)
async def put_stream(name: str, request: Request, here: Here) -> dict[str, Any]:
    """A stream, new or changed."""
    given = await asked(request, NewStream)
    made = await run_in_threadpool(
        lambda: here.service.add_stream(
            name, schema=given.attributes, anonymous=given.anonymous, lateness=int(given.lateness * clock.SECOND)
        )
    )
    return {"name": made.name, "anonymous": made.anonymous, "lateness": made.lateness / clock.SECOND}


@router.get("/streams", response_model=ShownStreams, tags=["events"])
async def streams(here: Here, tenant: Mine) -> dict[str, Any]:
    """All streams."""
    return {
        "streams": [
            {
                "name": one.name,
                "anonymous": one.anonymous,
                "lateness": one.lateness / clock.SECOND,
                "schema": {path: one.schema.spelling(path) for path in one.schema},
            }
            for one in here.service.streams.all()
        ]
    }


@router.get("/dead-letters", response_model=DeadLetters, response_model_exclude_unset=True, tags=["notifications"])
async def dead(
    here: Here,
    tenant: Mine,
    before: Annotated[int, Query(ge=0, le=2**62)] = 2**62,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Notifications that could not be delivered, the newest first, and why."""
    wanted = (
        sa.select(dead_letters, notifications.c.body)
        .join(notifications, notifications.c.number == dead_letters.c.notification)
        .where(dead_letters.c.tenant == tenant.name, dead_letters.c.notification < before)
        .order_by(dead_letters.c.notification.desc())
        .limit(limit)
    )
    rows = await run_in_threadpool(here.service.store.read, lambda c: c.execute(wanted).all())
    return {
        "dead_letters": [
            {
                "number": row.notification,
                "attempts": row.attempts,
                "reason": row.reason,
                "died": clock.iso(row.died),
                "notification": orjson.loads(row.body),
            }
            for row in rows
        ]
    }


@router.post("/dead-letters:replay", response_model=Replayed, tags=["notifications"], openapi_extra=takes(Replay))
async def replay(request: Request, here: Here, tenant: Mine) -> dict[str, int]:
    """Let dead letters wait to be delivered again."""
    given = await asked(request, Replay)
    return {"replayed": await run_in_threadpool(here.service.outbox.replay, tenant.name, given.numbers)}
