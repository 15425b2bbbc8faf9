"""Look at what goes on: live events, figures, what a text says, patterns as machines, who covers whom."""

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

from vedette.dialects.registry import OWN, translate
from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.service.clock import iso
from vedette.service.covered import CoveredOne, Covering, covered_one, covering
from vedette.service.engine import Engine
from vedette.service.errors import NotFound, OverLimit
from vedette.service.http.answers import Numbers, numbers_of
from vedette.service.http.context import Context, Here, Mine, asked, takes
from vedette.service.http.guards import bearer
from vedette.service.http.models import Asked, Name, Prediction
from vedette.service.machines import Forecasts, Machine, finite, machine_of
from vedette.service.outbox import Counts
from vedette.service.parsed import Parsed, parsed, refused
from vedette.service.registry import Subscription, Wanted, of_row
from vedette.service.storage.tables import counters, subscriptions
from vedette.service.tenants import Tenant
from vedette.service.watching import MOST, Watcher

router: Final = APIRouter(tags=["looking"])
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_PAUSE: Final = 0.1  # seconds between two messages to somebody who watches
_BEAT: Final = 15.0
_COVERED: Final = 1_000  # subscriptions that are held against each other


class Written(Asked):
    """A filter or pattern as somebody wrote it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"when": "price < 120 and city in ('Bronx', 'Queens')"}]})

    when: Annotated[str, Field(max_length=1_000_000)] | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    predict: Prediction | None = None


class Lately(BaseModel):
    """What a subscription was told in the last hour: notifications per event of its stream, and by five minutes."""

    events: int
    told: int
    rate: float | None
    by_five_minutes: list[int]


class Figure(BaseModel):
    """The figures of one subscription."""

    subscription: str
    cost: float
    notifications: Numbers
    recent: Lately


class FigurePage(BaseModel):
    """Figures, a page at a time, in the order of `GET /v1/subscriptions`; `since` is when counting began."""

    since: str
    events: dict[str, int]  # by stream
    figures: list[Figure]
    next: int | None


class Usage(BaseModel):
    """Whose key it is, and how much of what it may have is used."""

    name: str
    subscriptions: int
    most_subscriptions: int
    cost: float
    most_cost: float


@router.get("/tenant", response_model=Usage)
async def usage(here: Here, tenant: Mine) -> Usage:
    """The tenant itself."""
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
    here: Here,
    tenant: Mine,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> FigurePage:
    """How often the tenant's subscriptions match, what they cost, and what became of their notifications."""
    columns = subscriptions.c.number, subscriptions.c.id, subscriptions.c.stream, subscriptions.c.cost
    page = (
        sa.select(*columns, counters.c.due, counters.c.delivered, counters.c.dead, counters.c.dropped, counters.c.last)
        .join(counters, counters.c.subscription == subscriptions.c.number)
        .where(subscriptions.c.tenant == tenant.name, subscriptions.c.number > after)
        .order_by(subscriptions.c.number)
        .limit(limit)
    )
    rows = await run_in_threadpool(here.service.store.read, lambda c: c.execute(page).all())
    return FigurePage(
        since=iso(here.service.figures.since),
        events=here.service.figures.events(),
        figures=[_figure(here, row, Counts(row.due, row.delivered, row.dead, row.dropped, row.last)) for row in rows],
        next=rows[-1].number if len(rows) == limit else None,
    )


@router.get("/subscriptions/{id}/figures", response_model=Figure)
async def figures_of_one(id: str, here: Here, tenant: Mine) -> Figure:
    """How often a subscription matches, what it costs, and what became of its notifications."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    return _figure(here, one, await run_in_threadpool(here.service.outbox.counts, one.number))


def _figure(here: Context, one: Any, counts: Counts) -> Figure:
    of_late = here.service.figures.recent(one.stream, one.id)
    recent = Lately(
        events=of_late.events, told=of_late.told, rate=of_late.rate, by_five_minutes=list(of_late.told_by_bucket)
    )
    return Figure(subscription=one.id, cost=one.cost, notifications=numbers_of(counts), recent=recent)


@router.post("/filters:parse", response_model=Parsed, openapi_extra=takes(Written))
async def parse(request: Request, here: Here, tenant: Mine) -> Parsed:
    """What a text says: its tree, its normal form or its machine, what is hardly meant; or all that is wrong with it.

    A text that makes no sense is no mistake of the request: `valid` is false, and `findings` say why.
    """
    given = await asked(request, Written)
    here.service.streams.get(given.stream)
    return await run_in_threadpool(_parsed, here, given)


def _parsed(here: Context, given: Written) -> Parsed:
    said = given.when if isinstance(given.when, str) else orjson.dumps(given.when).decode()
    try:
        if given.dialect in (None, OWN):
            if not isinstance(given.when, str):
                raise InputError('`when` is an object, not a text\nHint: an object needs a dialect, e.g. "eventbridge"')
            text = given.when
        else:
            text = translate(str(given.dialect), given.when).when
    except (InputError, NotSupported) as error:
        return refused(said, [error])
    predict = None if given.predict is None else given.predict.model_dump(exclude_none=True)
    return parsed(here.service, Wanted(text, stream=given.stream, predict=predict))


@router.get("/subscriptions/{id}/machine", response_model=Machine)
async def machine(id: str, here: Here, tenant: Mine) -> Machine:
    """A pattern as states and steps, as it stands now: partial matches in every state, how probably they complete."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    if one.kind != "pattern":
        raise InputError(
            f"subscription {id!r} is a {one.kind}, and only a pattern has a machine\n"
            "Hint: a pattern has steps: [a = 1] ; [b = 2]"
        )

    def look(engine: Engine) -> Machine:
        if one.predict is None:
            return machine_of(engine.picture(one.id))
        asks = Forecasts(
            within=one.predict["within"],
            threshold=one.predict.get("threshold", 0.5),
            score=finite(engine.score(one.id)),
        )
        return machine_of(engine.picture(one.id), asks)

    try:
        return await asyncio.wrap_future(here.service.pump.look(one.stream, look))
    except UnknownSubscription:
        raise NotFound(f"there is no subscription {id[:80]!r}") from None


@router.get("/covering", response_model=Covering)
async def covers(
    here: Here, tenant: Mine, stream: Name = "default", limit: Annotated[int, Query(ge=1, le=_COVERED)] = 200
) -> Covering:
    """Which of the tenant's subscriptions on a stream others make redundant; the oldest `limit` are looked at."""
    schema = here.service.streams.get(stream).schema
    some, left_out = await run_in_threadpool(_of_stream, here, tenant, stream, limit)
    return await run_in_threadpool(covering, stream, schema, some, left_out)


@router.get("/subscriptions/{id}/covering", response_model=CoveredOne)
async def covered(
    id: str, here: Here, tenant: Mine, limit: Annotated[int, Query(ge=1, le=_COVERED)] = 200
) -> CoveredOne:
    """One subscription, held against the tenant's others on its stream, as a picture where it has two attributes."""
    one = await run_in_threadpool(here.service.registry.get, tenant, id)
    if one.kind == "want":
        raise InputError("a want meets offers; covering is about filters and patterns\nHint: choose another one")
    schema = here.service.streams.get(one.stream).schema
    some, _ = await run_in_threadpool(_of_stream, here, tenant, one.stream, limit)
    return await run_in_threadpool(covered_one, schema, one, some)


def _of_stream(here: Context, tenant: Tenant, stream: str, limit: int) -> tuple[list[Subscription], int]:
    """The oldest of a tenant on a stream, and how many more there are."""
    mine = sa.and_(subscriptions.c.tenant == tenant.name, subscriptions.c.stream == stream)
    oldest = sa.select(subscriptions).where(mine, subscriptions.c.kind != "want")
    rows, all_ = here.service.store.read(
        lambda c: (
            c.execute(oldest.order_by(subscriptions.c.number).limit(limit)).all(),
            c.execute(sa.select(sa.func.count()).select_from(subscriptions).where(mine)).scalar_one(),
        )
    )
    return [of_row(row) for row in rows], all_ - len(rows)


@router.get("/streams/{stream}/live", response_class=StreamingResponse)
async def live(
    stream: str, request: Request, here: Here, tenant: Mine, rate: Annotated[float, Query(ge=1, le=200)] = 20.0
) -> Response:
    """Events of a stream as they are matched, as server-sent events, with what they told the tenant's subscriptions.

    At most `rate` events a second are shown, those first that told something; `matched`, `skipped` and `told` count.
    """
    here.service.streams.get(stream)
    if len(here.service.watching) >= MOST:
        raise OverLimit(f"{MOST:,} watch already\nHint: try again later", retry_after=5)
    may = partial(here.guards.opens, bearer(request) or "")
    shown = _glimpses(here, tenant, stream, rate, may)
    return StreamingResponse(shown, media_type="text/event-stream", headers=_HEADERS)


async def _glimpses(
    here: Context, tenant: Tenant, stream: str, rate: float, may: Callable[[], bool]
) -> AsyncIterator[bytes]:
    with here.service.watching.by(tenant.name, stream, rate) as watcher:
        yield b"retry: 2000\nevent: watching\ndata: %s\n\n" % orjson.dumps({"stream": stream, "rate": rate})
        while may():  # keys are revoked
            said = await _next(watcher)
            if may():
                yield said
            await asyncio.sleep(_PAUSE)


async def _next(watcher: Watcher) -> bytes:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(watcher.news.wait(), _BEAT)
        return b"event: glimpse\ndata: %s\n\n" % orjson.dumps(watcher.take()._asdict())
    return b": beat\n\n"
