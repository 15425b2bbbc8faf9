"""Routes of subscriptions: subscribe, list, renew, replace, unsubscribe, and dry runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vedette.dialects.registry import OWN
from vedette.errors import InputError
from vedette.filters.subscription_set import SubscriptionKind
from vedette.service import signing
from vedette.service.delivery import webhook_health, webhook_targets
from vedette.service.delivery.webhook_health import WebhookFailures
from vedette.service.dry_run import DryRunReport, recent_traffic
from vedette.service.http.answers import Page, Replaced, Stands, Subscribed, subscription_answer
from vedette.service.http.models import Renew, Replace, Subscribe, Trial, Webhook
from vedette.service.http.route_context import (
    Context,
    CurrentContext,
    CurrentTenant,
    Ticket,
    computed,
    request_body,
    takes,
)
from vedette.service.quick_texts import is_quick
from vedette.service.subscription_registry import Subscription, SubscriptionRequest
from vedette.service.tenants import Tenant

router: Final = APIRouter(tags=["subscriptions"])


@router.post("/subscriptions", status_code=201, response_model=Subscribed, openapi_extra=takes(Subscribe))
async def subscribe(request: Request, here: CurrentContext, tenant: CurrentTenant) -> dict[str, Any]:
    """Register a subscription. The answer has its ticket, which renewing, replacing and cancelling need."""
    given = await request_body(request, Subscribe)
    here.service.rights.stream(tenant.name, "subscribe", given.stream)
    if isinstance(given.delivery, Webhook) and given.delivery.secret is None:
        given.delivery.secret = signing.new_secret()
    wanted = await _wanted(here, tenant, given)
    checked = await _checked(here, tenant, wanted)
    made = await run_in_threadpool(here.service.registry.subscribe, tenant, wanted, checked)
    return {**subscription_answer(made.subscription), "ticket": made.ticket, "secret": _secret(here, made.subscription)}


@router.get("/subscriptions", response_model=Page)
async def page(
    here: CurrentContext,
    tenant: CurrentTenant,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    state: Literal["active", "quarantined"] | None = None,
) -> dict[str, Any]:
    """The tenant's subscriptions, a page at a time; all of them, or those in one state."""
    quarantined = None if state is None else state == "quarantined"
    some = await run_in_threadpool(
        here.service.registry.page, tenant, after=after, limit=limit, quarantined=quarantined
    )
    failing = await _failing(here, some)
    shown = [subscription_answer(one, failing=failing.get(one.number)) for one in some]
    return {"subscriptions": shown, "next": some[-1].number if len(some) == limit else None}


@router.post("/subscriptions:test", response_model=DryRunReport, openapi_extra=takes(Trial))
async def test(request: Request, here: CurrentContext, tenant: CurrentTenant) -> DryRunReport:
    """A dry run: the notifications that it would have made, for sample events and for the last hour's traffic, and why.

    Traffic is what the tenant may read: without the right to `read` the stream, the events that it published itself.
    """
    trial = await request_body(request, Trial)
    rights = here.service.rights
    rights.stream(tenant.name, "subscribe", trial.stream)
    most = here.service.settings.limits.test_events
    if len(trial.events) > most:
        raise InputError(f"{len(trial.events):,} sample events: the limit is {most:,}\nHint: try fewer")
    text, _, _ = await translated(here, tenant, trial.stream, trial.when, trial.dialect)
    predict = None if trial.predict is None else trial.predict.model_dump(exclude_none=True)
    traffic = None
    if trial.recent:
        by = None if rights.may(tenant.name, "read", trial.stream) else tenant.name
        traffic = await run_in_threadpool(recent_traffic, here.service, trial.stream, by)
    return DryRunReport(
        **await computed(
            here, tenant, "try", trial.stream, when=text, predict=predict, samples=trial.events, traffic=traffic
        )
    )


@router.get("/subscriptions/{id}", response_model=Stands)
async def get(id: str, here: CurrentContext, tenant: CurrentTenant) -> dict[str, Any]:
    """One of the tenant's subscriptions, with what became of its notifications, and of a webhook that fails."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    failing = await _failing(here, [one])
    counts = await run_in_threadpool(here.service.outbox.counts, one.number)
    missed = here.service.pump.quarantine.missed(one.stream, one.id)
    return subscription_answer(one, counts, failing.get(one.number), missed=missed)


@router.post("/subscriptions/{id}/renew", response_model=Stands, openapi_extra=takes(Renew))
async def renew(
    id: str, request: Request, here: CurrentContext, tenant: CurrentTenant, ticket: Ticket = None
) -> dict[str, Any]:
    """Extend the validity to another period from now on."""
    period = await request_body(request, Renew)
    before = await run_in_threadpool(here.service.registry.get, tenant, id)
    here.service.rights.stream(tenant.name, "subscribe", before.stream)
    return subscription_answer(
        await run_in_threadpool(here.service.registry.renew, tenant, id, ticket, period.validity)
    )


@router.put("/subscriptions/{id}", response_model=Replaced, openapi_extra=takes(Replace))
async def replace(
    id: str, request: Request, here: CurrentContext, tenant: CurrentTenant, ticket: Ticket = None
) -> dict[str, Any]:
    """Replace the text of a subscription from the next event on.

    Subscriber, delivery and validity stay as they are, unless they are given. A webhook keeps its secret; a new one is
    in the answer.
    """
    given = await request_body(request, Replace)
    here.service.rights.stream(tenant.name, "subscribe", given.stream)
    wanted = await _wanted(here, tenant, given)
    registry = here.service.registry
    before = await run_in_threadpool(registry.get, tenant, id)
    if given.delivery is None:
        wanted = dataclasses.replace(wanted, delivery=before.delivery)
    if "subscriber" not in given.model_fields_set:
        wanted = dataclasses.replace(wanted, subscriber=before.subscriber)
    made = await run_in_threadpool(registry.replace, tenant, id, ticket, wanted, await _checked(here, tenant, wanted))
    secret = _secret(here, made)
    return {**subscription_answer(made), "secret": None if secret == _secret(here, before) else secret}


@router.delete("/subscriptions/{id}", status_code=204)
async def unsubscribe(id: str, here: CurrentContext, tenant: CurrentTenant, ticket: Ticket = None) -> Response:
    """Delete a subscription, with its pending notifications."""
    await run_in_threadpool(here.service.registry.unsubscribe, tenant, id, ticket)
    return Response(status_code=204)


async def _failing(here: Context, some: Sequence[Subscription]) -> dict[int, WebhookFailures]:
    """The failing webhooks of subscriptions, by number."""
    hooked = [one.number for one in some if one.delivery.get("type") == "webhook"]
    return (
        await run_in_threadpool(here.service.store.read, lambda c: webhook_health.failing(c, hooked)) if hooked else {}
    )


def _secret(here: Context, one: Subscription) -> str | None:
    """The secret of a subscription's webhook, decrypted."""
    kept = one.delivery.get("secret")
    return None if kept is None else here.service.secrets.open(kept)


async def _checked(here: Context, tenant: Tenant, wanted: SubscriptionRequest) -> tuple[SubscriptionKind, float] | None:
    """Kind and cost of a subscription; None if the registry can find them by itself at once."""
    if wanted.predict is None and not wanted.want and is_quick(wanted.when):
        return None
    kind, cost = await computed(
        here, tenant, "check", wanted.stream, when=wanted.when, predict=wanted.predict, want=wanted.want
    )
    return kind, cost


async def _wanted(here: Context, tenant: Tenant, given: Subscribe) -> SubscriptionRequest:
    """The requested subscription, checked as far as that needs no computation."""
    text, rule, origin = await translated(here, tenant, given.stream, given.when, given.dialect)
    delivery: dict[str, Any] = {"type": "queue"}
    if isinstance(given.delivery, Webhook):
        may = here.service.settings.webhooks
        webhook_targets.parsed(given.delivery.url, allow_private=may.allow_private, ports=may.ports)
        secret = given.delivery.secret
        delivery = {"type": "webhook", "url": given.delivery.url, "secret": secret and signing.check_secret(secret)}
    return SubscriptionRequest(
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


async def translated(
    here: Context, tenant: Tenant, stream: str, when: str | dict[str, Any], dialect: str | None
) -> tuple[str, str | None, dict[str, Any] | None]:
    """The text in Vedette's own language; and, of another dialect, the original rule and its origin."""
    if dialect in (None, OWN):
        if not isinstance(when, str):
            raise InputError('`when` is an object, not a text\nHint: an object needs a dialect, e.g. "eventbridge"')
        return when, None, None
    made = await computed(here, tenant, "translate", stream, dialect=str(dialect), when=when)
    rule = when if isinstance(when, str) else orjson.dumps(when).decode()
    return made["when"], rule, made["origin"] or None
