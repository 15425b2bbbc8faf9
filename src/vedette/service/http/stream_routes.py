"""Routes of streams: the streams, their owners and rights, and rejected events."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.service import clock
from vedette.service.errors import NotFound
from vedette.service.http import answers
from vedette.service.http.models import GrantRights, NewStream
from vedette.service.http.route_context import (
    Admin,
    Context,
    CurrentContext,
    CurrentTenant,
    TenantOrAdmin,
    request_body,
    takes,
)
from vedette.service.rejected_events import KEPT, EventFault
from vedette.service.tenants import ServiceStream, Tenant

_LOG: Final = logging.getLogger("vedette.service.http")
router: Final = APIRouter()
Grantee = Annotated[str, Path(max_length=128, description="The name of a tenant, or * for all")]


@router.put(
    "/streams/{name}",
    response_model=answers.PutStream,
    dependencies=[Admin],
    tags=["admin"],
    openapi_extra=takes(NewStream),
)
async def put_stream(name: str, request: Request, here: CurrentContext) -> dict[str, Any]:
    """Make or change a stream.

    Without an owner a new one is shared: every tenant may publish and subscribe. With its first owner it is the
    owner's alone, unless `publish` and `subscribe` say more. Owner and rights that are not said stay as they are.
    """
    given = await request_body(request, NewStream)
    made = await run_in_threadpool(
        lambda: here.service.add_stream(
            name,
            schema=given.attributes,
            anonymous=given.anonymous,
            lateness=int(given.lateness * clock.SECOND),
            owner=given.owner,
            rights={"publish": given.publish, "subscribe": given.subscribe, "read": given.read},
        )
    )
    here.service.watching.wake()
    return _shown(made) | {"owner": made.owner}


@router.get("/streams", response_model=answers.ShownStreams, tags=["events"])
async def streams(here: CurrentContext, tenant: CurrentTenant) -> dict[str, Any]:
    """The streams on which the tenant has a right, and which."""
    return {
        "streams": [
            _shown(one)
            | {
                "schema": {path: one.schema.spelling(path) for path in one.schema},
                "rights": mine,
                "owned": one.owner == tenant.name,
            }
            for one in here.service.streams.all()
            if (mine := here.service.rights.of(tenant.name, one.name))
        ]
    }


@router.get("/streams/{name}/grants", response_model=answers.Grants, tags=["events"])
async def grants(name: str, here: CurrentContext, tenant: TenantOrAdmin) -> dict[str, Any]:
    """Who may do what on a stream: for its owner, and by the admin key."""
    stream = _owned(here, tenant, name)
    granted = here.service.rights.granted(name)
    return {"owner": stream.owner, "grants": [{"tenant": who, "rights": rights} for who, rights in granted.items()]}


@router.put(
    "/streams/{name}/grants/{grantee}",
    response_model=answers.Grant,
    tags=["events"],
    openapi_extra=takes(GrantRights),
)
async def grant(
    name: str, grantee: Grantee, request: Request, here: CurrentContext, tenant: TenantOrAdmin
) -> dict[str, Any]:
    """Set the rights of a tenant, or `*` for all, on a stream: by its owner, or the admin key."""
    _owned(here, tenant, name)
    given = await request_body(request, GrantRights)
    await _granted(here, name, grantee, given)
    return {"tenant": grantee, "rights": here.service.rights.granted(name).get(grantee, [])}


@router.delete("/streams/{name}/grants/{grantee}", status_code=204, tags=["events"])
async def revoke(name: str, grantee: Grantee, here: CurrentContext, tenant: TenantOrAdmin) -> Response:
    """Revoke the rights of a tenant, or of `*`: later events make no notifications for it."""
    _owned(here, tenant, name)
    if grantee not in here.service.rights.granted(name):
        raise NotFound(f"nothing was granted to {grantee!r} on the stream {name!r}")
    await _granted(here, name, grantee, GrantRights(rights=[]))
    return Response(status_code=204)


@router.get("/streams/{name}/rejected", response_model=answers.Rejected, tags=["events"])
async def rejected(
    name: str, here: CurrentContext, tenant: TenantOrAdmin, limit: Annotated[int, Query(ge=1, le=KEPT)] = 20
) -> dict[str, Any]:
    """Events that were accepted and could not be matched, as they break the schema: how many, why, and the latest.

    A tenant sees those that it published; the owner of the stream, and the admin key, see all.
    """
    stream = here.service.streams.get(name) if tenant is None else here.service.rights.stream(tenant.name, None, name)
    by = None if tenant is None or stream.owner == tenant.name else tenant.name
    counts = await run_in_threadpool(here.service.set_aside.counts, name, by)
    latest = await run_in_threadpool(here.service.set_aside.latest, name, by, limit)
    return {
        "stream": name,
        "rejected": sum(one.rejected for one in counts),
        "counts": [
            {"tenant": one.tenant or None, "kind": one.kind, "rejected": one.rejected, "last": clock.iso(one.last)}
            for one in counts
        ],
        "latest": [_set_aside(one) for one in latest],
    }


def _owned(here: Context, tenant: Tenant | None, name: str) -> ServiceStream:
    return here.service.streams.get(name) if tenant is None else here.service.rights.owned(tenant.name, name)


async def _granted(here: Context, name: str, grantee: str, given: GrantRights) -> None:
    await run_in_threadpool(here.service.rights.grant, name, grantee, given.rights)
    here.service.watching.wake()
    _LOG.info("rights were granted", extra={"stream": name, "tenant": grantee, "rights": given.rights})


def _shown(one: ServiceStream) -> dict[str, Any]:
    return {"name": one.name, "anonymous": one.anonymous, "lateness": one.lateness / clock.SECOND}


def _set_aside(one: EventFault) -> dict[str, Any]:
    return {
        "number": one.event,
        "id": one.id,
        "tenant": one.tenant or None,
        "kind": one.kind,
        "attribute": one.attribute or None,
        "reason": one.reason,
        "time": clock.iso(one.moment),
        "event": None if one.body is None else orjson.loads(one.body),
    }
