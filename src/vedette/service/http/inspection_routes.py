"""Routes that only read: live events, figures, parsed texts, patterns as machines, covering."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Final

import orjson
import sqlalchemy as sa
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vedette.engine.stream import no_machine
from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.service.clock import iso
from vedette.service.cover_report import Covering, SubscriptionCover
from vedette.service.errors import NotFound, OverLimit
from vedette.service.http.answers import Numbers, numbers_of
from vedette.service.http.guards import bearer
from vedette.service.http.models import Name, Prediction, RequestModel
from vedette.service.http.route_context import Context, CurrentContext, CurrentTenant, computed, request_body, takes
from vedette.service.http.subscription_routes import translated
from vedette.service.machine_answers import MachineDescription
from vedette.service.match_rates import NOTHING
from vedette.service.outbox import DeliveryCounts
from vedette.service.parse_report import ParseReport, parse_failure
from vedette.service.storage.tables import counters, subscriptions
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import WANTS, Subscription, of_row
from vedette.service.tenants import Tenant
from vedette.service.watchers import MOST, Watcher

router: Final = APIRouter(tags=["looking"])
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_PAUSE: Final = 0.1  # seconds between two messages to somebody who watches
_BEAT: Final = 15.0
_COVERED: Final = 1_000  # subscriptions that are held against each other


class ParseRequest(RequestModel):
    """A filter or pattern as somebody wrote it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"when": "price < 120 and city in ('Bronx', 'Queens')"}]})

    when: Annotated[str, Field(max_length=1_000_000)] | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    predict: Prediction | None = None


class RecentFigures(BaseModel):
    """Notifications of a subscription in the last hour: per event of its stream, and by five minutes."""

    events: int
    told: int
    rate: float | None
    by_five_minutes: list[int]


class Figure(BaseModel):
    """The figures of one subscription."""

    subscription: str
    cost: float
    notifications: Numbers
    recent: RecentFigures


class FigurePage(BaseModel):
    """Figures, a page at a time, in the order of `GET /v1/subscriptions`; `since` is when counting began."""

    since: str
    events: dict[str, int]  # by stream
    figures: list[Figure]
    next: int | None


class Usage(BaseModel):
    """The tenant of the key, and how much of its limits is used."""

    name: str
    subscriptions: int
    most_subscriptions: int
    cost: float
    most_cost: float


@router.get("/tenant", response_model=Usage)
async def usage(here: CurrentContext, tenant: CurrentTenant) -> Usage:
    """The tenant itself, and how much of its limits is used."""
    mine = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(subscriptions.c.cost), 0.0)).where(
        subscriptions.c.tenant == tenant.name
    )
    count, cost = await run_in_threadpool(here.service.store.read, lambda c: c.execute(mine).one())
    limits = here.service.settings.limits
    return Usage(
        name=tenant.name,
        subscriptions=count,
        most_subscriptions=int(tenant.limits.get("subscriptions", limits.subscriptions)),
        cost=cost,
        most_cost=tenant.limits.get("cost", limits.tenant_cost),
    )


@router.get("/subscriptions:figures", response_model=FigurePage)
async def figures(
    here: CurrentContext,
    tenant: CurrentTenant,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> FigurePage:
    """How often the tenant's subscriptions match, what they cost, and what became of their notifications."""
    columns = subscriptions.c.number, subscriptions.c.id, subscriptions.c.stream, subscriptions.c.cost
    rights = here.service.rights
    page = (
        sa.select(*columns, counters.c.due, counters.c.delivered, counters.c.dead, counters.c.dropped, counters.c.last)
        .join(counters, counters.c.subscription == subscriptions.c.number)
        .where(subscriptions.c.tenant == tenant.name, subscriptions.c.number > after)
        .order_by(subscriptions.c.number)
        .limit(limit)
    )
    rows = await run_in_threadpool(here.service.store.read, lambda c: c.execute(page).all())
    counts = [DeliveryCounts(row.due, row.delivered, row.dead, row.dropped, row.last) for row in rows]
    return FigurePage(
        since=iso(here.service.figures.since),
        events={
            stream: count
            for stream, count in here.service.figures.events().items()
            if {"subscribe", "read"} & set(rights.of(tenant.name, stream))
        },
        figures=[_figure(here, tenant, row, each) for row, each in zip(rows, counts, strict=True)],
        next=rows[-1].number if len(rows) == limit else None,
    )


@router.get("/subscriptions/{id}/figures", response_model=Figure)
async def figures_of_one(id: str, here: CurrentContext, tenant: CurrentTenant) -> Figure:
    """How often a subscription matches, what it costs, and what became of its notifications."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    return _figure(here, tenant, one, await run_in_threadpool(here.service.outbox.counts, one.number))


def _figure(here: Context, tenant: Tenant, one: Any, counts: DeliveryCounts) -> Figure:
    hears = here.service.rights.may(tenant.name, "subscribe", one.stream)
    of_late = here.service.figures.recent(one.stream, one.id) if hears else NOTHING
    recent = RecentFigures(
        events=of_late.events, told=of_late.told, rate=of_late.rate, by_five_minutes=list(of_late.told_by_bucket)
    )
    return Figure(subscription=one.id, cost=one.cost, notifications=numbers_of(counts), recent=recent)


@router.post("/filters:parse", response_model=ParseReport, openapi_extra=takes(ParseRequest))
async def parse(request: Request, here: CurrentContext, tenant: CurrentTenant) -> ParseReport:
    """What a text means: its tree, its normal form or its machine, and warnings; or all errors in it.

    A text with errors is no error of the request: `valid` is false, and `findings` say why.
    """
    given = await request_body(request, ParseRequest)
    here.service.rights.stream(tenant.name, None, given.stream)
    return await _parsed(here, tenant, given)


async def _parsed(here: Context, tenant: Tenant, given: ParseRequest) -> ParseReport:
    said = given.when if isinstance(given.when, str) else orjson.dumps(given.when).decode()
    try:
        text, _, _ = await translated(here, tenant, given.stream, given.when, given.dialect)
    except (InputError, NotSupported) as error:
        return parse_failure(said, [error])
    predict = None if given.predict is None else given.predict.model_dump(exclude_none=True)
    return ParseReport(**await computed(here, tenant, "parse", given.stream, when=text, predict=predict))


@router.get("/subscriptions/{id}/machine", response_model=MachineDescription)
async def machine(id: str, here: CurrentContext, tenant: CurrentTenant) -> MachineDescription:
    """A pattern as states and steps, with the partial matches in every state now, and the probabilities to complete."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    here.service.rights.stream(tenant.name, "subscribe", one.stream)

    def look(engine: StreamEngine) -> dict[str, Any]:  # no more than that: nothing is matched meanwhile
        return engine.progress(one.id).plain()

    try:
        progress = await asyncio.wrap_future(here.service.pump.look(one.stream, look, one.id))
    except UnknownSubscription:
        if one.is_want:  # no events are matched with it
            raise no_machine(id) from None
        raise NotFound(f"there is no subscription {id[:80]!r}") from None
    return MachineDescription(
        **await computed(here, tenant, "machine", one.stream, progress=progress, predict=one.predict)
    )


@router.get("/covering", response_model=Covering)
async def covers(
    here: CurrentContext,
    tenant: CurrentTenant,
    stream: Name = "default",
    limit: Annotated[int, Query(ge=1, le=_COVERED)] = 200,
) -> Covering:
    """Which of the tenant's subscriptions on a stream others make redundant; the oldest `limit` are looked at."""
    here.service.rights.stream(tenant.name, None, stream)
    some, left_out = await run_in_threadpool(_of_stream, here, tenant, stream, limit)
    held = [_held(one) for one in some]
    return Covering(**await computed(here, tenant, "covering", stream, some=held, left_out=left_out))


@router.get("/subscriptions/{id}/covering", response_model=SubscriptionCover)
async def covered(
    id: str, here: CurrentContext, tenant: CurrentTenant, limit: Annotated[int, Query(ge=1, le=_COVERED)] = 200
) -> SubscriptionCover:
    """One subscription, compared with the tenant's others on its stream; with a picture if it has two attributes."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    if one.is_want:
        raise InputError("a want meets offers; covering is about filters and patterns\nHint: choose another one")
    here.service.rights.stream(tenant.name, None, one.stream)
    some, _ = await run_in_threadpool(_of_stream, here, tenant, one.stream, limit)
    held = [_held(each) for each in some]
    return SubscriptionCover(**await computed(here, tenant, "covered", one.stream, one=_held(one), some=held))


def _held(one: Subscription) -> dict[str, Any]:
    return {"id": one.id, "subscriber": one.subscriber, "when": one.when}


def _of_stream(here: Context, tenant: Tenant, stream: str, limit: int) -> tuple[list[Subscription], int]:
    """The oldest filters and patterns of a tenant on a stream, and how many more subscriptions there are."""
    mine = sa.and_(subscriptions.c.tenant == tenant.name, subscriptions.c.stream == stream)
    oldest = sa.select(subscriptions).where(mine, sa.not_(WANTS))
    rows, all_ = here.service.store.read(
        lambda c: (
            c.execute(oldest.order_by(subscriptions.c.number).limit(limit)).all(),
            c.execute(sa.select(sa.func.count()).select_from(subscriptions).where(mine)).scalar_one(),
        )
    )
    return [one for one in map(of_row, rows) if not one.damaged], all_ - len(rows)


@router.get("/streams/{stream}/live", response_class=StreamingResponse)
async def live(
    stream: str,
    request: Request,
    here: CurrentContext,
    tenant: CurrentTenant,
    rate: Annotated[float, Query(ge=1, le=200)] = 20.0,
) -> Response:
    """Events of a stream as they are matched, as server-sent events, with the outcomes for the tenant's subscriptions.

    A tenant who may `read` the stream sees all of them; others those that they published, or that their subscriptions
    matched. At most `rate` a second are shown, matched ones first; `matched`, `skipped` and `told` are counts.
    """
    rights = here.service.rights
    rights.stream(tenant.name, None, stream)
    if len(here.service.watching) >= MOST:
        raise OverLimit(f"{MOST:,} watch already\nHint: try again later", retry_after=5)
    opens = partial(here.guards.opens, bearer(request) or "")
    shown = _glimpses(here, tenant, stream, rate, lambda: opens() and bool(rights.of(tenant.name, stream)))
    return StreamingResponse(shown, media_type="text/event-stream", headers=_HEADERS)


async def _glimpses(
    here: Context, tenant: Tenant, stream: str, rate: float, may: Callable[[], bool]
) -> AsyncIterator[bytes]:
    with here.service.watching.by(tenant.name, stream, rate) as watcher:
        yield b"retry: 2000\nevent: watching\ndata: %s\n\n" % orjson.dumps({"stream": stream, "rate": rate})
        while may():  # keys are revoked, and rights
            said = await _next(watcher)
            if may():
                yield said
            await asyncio.sleep(_PAUSE)


async def _next(watcher: Watcher) -> bytes:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(watcher.news.wait(), _BEAT)
        return b"event: glimpse\ndata: %s\n\n" % orjson.dumps(watcher.take()._asdict())
    return b": beat\n\n"
