"""Routes of the administrator (tenants and keys), and of tenants for their dead letters."""

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
    Replayed,
    ShownTenants,
)
from vedette.service.http.models import NewKey, NewTenant, Replay
from vedette.service.http.route_context import Admin, CurrentContext, CurrentTenant, request_body, takes
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
async def new_tenant(request: Request, here: CurrentContext) -> dict[str, Any]:
    """A new tenant, with a first key, which is shown once."""
    given = await request_body(request, NewTenant)
    limits = given.limits.model_dump(exclude_none=True)
    key = await run_in_threadpool(here.service.tenants.add_with_key, given.name, limits)
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
async def new_key(name: str, request: Request, here: CurrentContext) -> dict[str, Any]:
    """Another key of a tenant, which is shown once."""
    given = await request_body(request, NewKey)
    key = await run_in_threadpool(here.service.tenants.new_key, name, given.label)
    _LOG.info("a key was made", extra={"tenant": name, "key_id": key_id(key)})
    return {"key": key, "id": key_id(key)}


@router.get("/tenants/{name}/keys", response_model=Keys, dependencies=[Admin], tags=["admin"])
async def list_keys(name: str, here: CurrentContext) -> dict[str, Any]:
    """The keys of a tenant, also those that were revoked; without the keys themselves, which are not kept."""
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
async def revoke_key(name: str, id: str, here: CurrentContext) -> Response:
    """Revoke a key; connections that use it are closed."""
    await run_in_threadpool(here.service.tenants.revoke, name, id)
    _LOG.info("a key was revoked", extra={"tenant": name, "key_id": id})
    return Response(status_code=204)


@router.get("/tenants", response_model=ShownTenants, dependencies=[Admin], tags=["admin"])
async def tenants(here: CurrentContext) -> dict[str, Any]:
    """All tenants."""
    return {
        "tenants": [
            {"name": one.name, "limits": one.limits} for one in await run_in_threadpool(here.service.tenants.all)
        ]
    }


@router.get("/dead-letters", response_model=DeadLetters, response_model_exclude_unset=True, tags=["notifications"])
async def dead(
    here: CurrentContext,
    tenant: CurrentTenant,
    before: Annotated[int, Query(ge=0, le=2**62)] = 2**62,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Notifications that could not be delivered, the newest first, and why."""
    wanted = (
        sa.select(*(dead_letters.c[name] for name in ("attempts", "reason", "died")), notifications)
        .join(notifications, notifications.c.number == dead_letters.c.notification)
        .where(dead_letters.c.tenant == tenant.name, dead_letters.c.notification < before)
        .order_by(dead_letters.c.notification.desc())
        .limit(limit)
    )
    store = here.service.store
    rows = await run_in_threadpool(store.read, lambda c: c.execute(wanted).all())
    return {
        "dead_letters": [
            {
                "number": row.number,
                "attempts": row.attempts,
                "reason": row.reason,
                "died": clock.iso(row.died),
                "notification": orjson.loads(row.body) if store.damages.fits("notifications", row) else None,
            }
            for row in rows
        ]
    }


@router.post("/dead-letters:replay", response_model=Replayed, tags=["notifications"], openapi_extra=takes(Replay))
async def replay(request: Request, here: CurrentContext, tenant: CurrentTenant) -> dict[str, int]:
    """Make dead letters pending again."""
    given = await request_body(request, Replay)
    return {"replayed": await run_in_threadpool(here.service.outbox.replay, tenant.name, given.numbers)}
