"""Subscribe, look, renew, replace, unsubscribe, and try before any of it."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.dialects.registry import OWN, translate
from vedette.errors import InputError
from vedette.service.delivery import signing, targets
from vedette.service.http.answers import Page, Replaced, Stands, Subscribed, stands
from vedette.service.http.context import Context, Here, Mine, Ticket, asked, takes
from vedette.service.http.models import Renew, Replace, Subscribe, Trial, Webhook
from vedette.service.registry import Wanted
from vedette.service.trying import Tried, tried

router: Final = APIRouter(tags=["subscriptions"])


@router.post("/subscriptions", status_code=201, response_model=Subscribed, openapi_extra=takes(Subscribe))
async def subscribe(request: Request, here: Here, tenant: Mine) -> dict[str, Any]:
    """Let a subscription stand. The answer has its ticket, which renewing, replacing and cancelling need."""
    given = await asked(request, Subscribe)
    if isinstance(given.delivery, Webhook) and given.delivery.secret is None:
        given.delivery.secret = signing.new_secret()
    made = await run_in_threadpool(here.service.registry.subscribe, tenant, await _wanted(here, given))
    return {**stands(made.subscription), "ticket": made.ticket, "secret": made.subscription.delivery.get("secret")}


@router.get("/subscriptions", response_model=Page)
async def page(
    here: Here,
    tenant: Mine,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The tenant's subscriptions, a page at a time."""
    some = await run_in_threadpool(here.service.registry.page, tenant, after=after, limit=limit)
    return {"subscriptions": [stands(one) for one in some], "next": some[-1].number if len(some) == limit else None}


@router.post("/subscriptions:test", response_model=Tried, openapi_extra=takes(Trial))
async def test(request: Request, here: Here, tenant: Mine) -> Tried:
    """A dry run: what it would have told, and why or why not, for sample events and for the last hour's traffic."""
    trial = await asked(request, Trial)
    text = await run_in_threadpool(_translated, trial.when, trial.dialect)
    predict = None if trial.predict is None else trial.predict.model_dump(exclude_none=True)
    return await run_in_threadpool(
        tried, here.service, Wanted(text[0], stream=trial.stream, predict=predict), trial.events, recent=trial.recent
    )


@router.get("/subscriptions/{id}", response_model=Stands)
async def get(id: str, here: Here, tenant: Mine) -> dict[str, Any]:
    """One of the tenant's subscriptions, with what became of its notifications."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    return stands(one, await run_in_threadpool(here.service.outbox.counts, one.number))


@router.post("/subscriptions/{id}/renew", response_model=Stands, openapi_extra=takes(Renew))
async def renew(id: str, request: Request, here: Here, tenant: Mine, ticket: Ticket = None) -> dict[str, Any]:
    """Let it stand for another period, from now on."""
    period = await asked(request, Renew)
    return stands(await run_in_threadpool(here.service.registry.renew, tenant, id, ticket, period.validity))


@router.put("/subscriptions/{id}", response_model=Replaced, openapi_extra=takes(Replace))
async def replace(id: str, request: Request, here: Here, tenant: Mine, ticket: Ticket = None) -> dict[str, Any]:
    """Let it say something else from the next event on.

    For whom it is, how it is told and for how long stay as they are, unless they are said. A webhook keeps its secret;
    a new one is in the answer.
    """
    given = await asked(request, Replace)
    wanted = await _wanted(here, given)
    registry = here.service.registry
    before = await run_in_threadpool(registry.get, tenant, id)
    if given.delivery is None:
        wanted = dataclasses.replace(wanted, delivery=before.delivery)
    if "subscriber" not in given.model_fields_set:
        wanted = dataclasses.replace(wanted, subscriber=before.subscriber)
    made = await run_in_threadpool(registry.replace, tenant, id, ticket, wanted)
    secret = made.delivery.get("secret")
    return {**stands(made), "secret": None if secret == before.delivery.get("secret") else secret}


@router.delete("/subscriptions/{id}", status_code=204)
async def unsubscribe(id: str, here: Here, tenant: Mine, ticket: Ticket = None) -> Response:
    """Let it go; what waits to be told goes with it."""
    await run_in_threadpool(here.service.registry.unsubscribe, tenant, id, ticket)
    return Response(status_code=204)


async def _wanted(here: Context, given: Subscribe) -> Wanted:
    """What is wanted, as far as it can be told before it stands."""
    text, rule, origin = await run_in_threadpool(_translated, given.when, given.dialect)
    delivery: dict[str, Any] = {"type": "queue"}
    if isinstance(given.delivery, Webhook):
        private = here.service.settings.webhooks.allow_private
        await run_in_threadpool(targets.parsed, given.delivery.url, allow_private=private)
        secret = given.delivery.secret
        delivery = {"type": "webhook", "url": given.delivery.url, "secret": secret and signing.check_secret(secret)}
    return Wanted(
        when=text,
        stream=given.stream,
        subscriber=given.subscriber,
        predict=None if given.predict is None else given.predict.model_dump(exclude_none=True),
        validity=given.validity,
        delivery=delivery,
        want=given.want,
        dialect=given.dialect,
        rule=rule,
        origin=origin,
    )


def _translated(when: str | dict[str, Any], dialect: str | None) -> tuple[str, str | None, dict[str, Any] | None]:
    """A subscription in Vedette's own language, and, of another dialect, the rule and what it says of itself."""
    if dialect in (None, OWN):
        if not isinstance(when, str):
            raise InputError('`when` is an object, not a text\nHint: an object needs a dialect, e.g. "eventbridge"')
        return when, None, None
    made = translate(str(dialect), when)
    rule = when if isinstance(when, str) else orjson.dumps(when).decode()
    return made.when, rule, dict(made.origin) or None
