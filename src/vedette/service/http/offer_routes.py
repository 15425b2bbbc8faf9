"""Routes of offers, which meet the wants of subscriptions."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.service.clock import iso
from vedette.service.http import answers, models
from vedette.service.http.route_context import CurrentContext, CurrentTenant, Ticket, computed, request_body, takes
from vedette.service.meetings import MarketOffer

router: Final = APIRouter(tags=["offers"])


@router.post("/offers", status_code=201, response_model=answers.NewlyOffered, openapi_extra=takes(models.Offer))
async def offer(request: Request, here: CurrentContext, tenant: CurrentTenant) -> dict[str, Any]:
    """Register an offer, and notify those whose wants it meets. The answer has its ticket."""
    given = await request_body(request, models.Offer)
    here.service.rights.stream(tenant.name, "publish", given.stream)
    await computed(here, tenant, "offer", given.stream, when=given.when)
    made, ticket = await run_in_threadpool(
        lambda: here.service.market.offer(
            tenant, given.stream, given.when, publisher=given.publisher, validity=given.validity
        )
    )
    return {**_shown(made), "ticket": ticket}


@router.get("/offers", response_model=answers.Offers)
async def page(
    here: CurrentContext,
    tenant: CurrentTenant,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The tenant's offers, a page at a time."""
    some = await run_in_threadpool(here.service.market.page, tenant, after=after, limit=limit)
    return {"offers": [_shown(one) for one in some], "next": some[-1].number if len(some) == limit else None}


@router.delete("/offers/{id}", status_code=204)
async def withdraw(id: str, here: CurrentContext, tenant: CurrentTenant, ticket: Ticket = None) -> Response:
    """Withdraw an offer."""
    await run_in_threadpool(here.service.market.withdraw, tenant, id, ticket)
    return Response(status_code=204)


def _shown(one: MarketOffer) -> dict[str, Any]:
    return {
        "id": one.id,
        "stream": one.stream,
        "publisher": one.publisher,
        "when": one.when,
        "created": iso(one.created),
        "expires": iso(one.expires),
    }
