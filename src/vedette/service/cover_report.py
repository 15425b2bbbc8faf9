"""Report of which of a tenant's subscriptions are redundant, as others cover them; it changes no notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from vedette.covering.cover_pictures import CoverPicture, picture
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.errors import NotSupported, VedetteError
from vedette.schema.schema import Schema


class ComparedSubscription(NamedTuple):
    """A subscription that is compared with others."""

    id: str
    subscriber: str | None
    when: str


class CoverStatus(BaseModel):
    """Result for one subscription: whether others cover it, which, and how that was found."""

    subscription: str
    subscriber: str | None
    when: str
    covered: bool
    by: list[str]
    method: str
    certain: bool
    witness: dict[str, Any] | None = None  # an event that this one matches and no other does


class Covering(BaseModel):
    """Subscriptions of a stream: those that matter, and those that others make redundant."""

    stream: str
    considered: int
    left_out: int  # beyond the limit, or wants, which meet offers
    active: int
    subscriptions: list[CoverStatus]


class Rectangle(BaseModel):
    """A rectangle of the picture, in fractions of its sides; dashed if further attributes restrict the subscription."""

    label: str
    part: str  # asked, covers, other
    x: tuple[float, float]
    y: tuple[float, float]
    dashed: bool


class PlaneSide(BaseModel):
    """A side of the picture: an attribute, and the labels of values along it."""

    name: str
    ticks: list[tuple[float, str]]


class Plane(BaseModel):
    """Picture of a subscription of two attributes, with the subscriptions that overlap it."""

    title: str
    x: PlaneSide
    y: PlaneSide
    rectangles: list[Rectangle]
    witness: tuple[float, float] | None


class SubscriptionCover(BaseModel):
    """One subscription compared with all others of its stream; a picture, or why there is none."""

    answer: CoverStatus
    picture: Plane | None
    why_no_picture: str | None


def covering(stream: str, schema: Schema, some: Sequence[ComparedSubscription], left_out: int) -> Covering:
    """Compare all subscriptions with each other; of two that say the same, one stays active."""
    first = CoveringSet(schema)
    for one in some:
        first.add(one.id, one.when)
    texts = {one.id: one.when for one in some}
    # Later ones may cover those that came before them: so once more, the latest first, redundant ones at the end.
    found = CoveringSet(schema)
    answers = {id_: found.add(id_, texts[id_]) for id_ in (*reversed(first.active), *first.covered)}
    active = set(found.active)
    told = [
        _covered(one, CoverAnswer(one.id, False, (), answers[one.id].method, answers[one.id].certain))
        if one.id in active
        else _covered(one, found.covered[one.id])
        for one in some
    ]
    return Covering(stream=stream, considered=len(some), left_out=left_out, active=len(active), subscriptions=told)


def covered_one(schema: Schema, one: ComparedSubscription, others: Sequence[ComparedSubscription]) -> SubscriptionCover:
    """Compare one subscription with all others."""
    found = CoveringSet(schema, witnesses=True)
    for each in others:
        if each.id != one.id:
            found.add(each.id, each.when)
    answer = found.add(one.id, one.when)
    try:
        return SubscriptionCover(
            answer=_covered(one, answer), picture=_plane(picture(found, answer)), why_no_picture=None
        )
    except NotSupported as error:
        why = str(error).partition("\nHint: ")[0].replace(f"subscription {one.id!r}", "this one")
        return SubscriptionCover(answer=_covered(one, answer), picture=None, why_no_picture=why)
    except VedetteError as error:
        return SubscriptionCover(answer=_covered(one, answer), picture=None, why_no_picture=str(error))


def _covered(one: ComparedSubscription, answer: CoverAnswer) -> CoverStatus:
    return CoverStatus(
        subscription=one.id,
        subscriber=one.subscriber,
        when=one.when,
        covered=answer.covered,
        by=list(answer.by),
        method=answer.method,
        certain=answer.certain,
        witness=None if answer.witness is None else dict(answer.witness),
    )


def _plane(drawn: CoverPicture) -> Plane:
    return Plane(
        title=drawn.title,
        x=PlaneSide(name=drawn.x.name, ticks=list(drawn.x.ticks)),
        y=PlaneSide(name=drawn.y.name, ticks=list(drawn.y.ticks)),
        rectangles=[
            Rectangle(label=each.label, part=each.part, x=each.x, y=each.y, dashed=each.dashed) for each in drawn.shapes
        ],
        witness=drawn.witness,
    )
