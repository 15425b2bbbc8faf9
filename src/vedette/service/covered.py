"""Which of a tenant's subscriptions are redundant, as others cover them? Nothing here changes what is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from vedette.covering.cover_set import Answer, CoveringSet
from vedette.covering.pictures import CoverPicture, picture
from vedette.errors import NotSupported, VedetteError
from vedette.schema.schema import Schema
from vedette.service.registry import Subscription


class Covered(BaseModel):
    """What is known of one subscription: whether others cover it, which, and how that was found."""

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
    subscriptions: list[Covered]


class Rectangle(BaseModel):
    """A part of the plane, in parts of its sides; dashed if further attributes keep it smaller than it looks."""

    label: str
    part: str  # asked, covers, other
    x: tuple[float, float]
    y: tuple[float, float]
    dashed: bool


class Side(BaseModel):
    """An attribute, and where along its side which values are."""

    name: str
    ticks: list[tuple[float, str]]


class Plane(BaseModel):
    """A subscription of two attributes among those that meet it."""

    title: str
    x: Side
    y: Side
    rectangles: list[Rectangle]
    witness: tuple[float, float] | None


class CoveredOne(BaseModel):
    """One subscription, held against all others of its stream; a picture, or why there is none."""

    answer: Covered
    picture: Plane | None
    why_no_picture: str | None


def covering(stream: str, schema: Schema, some: Sequence[Subscription], left_out: int) -> Covering:
    """Hold all of them against each other; of two that say the same, one stays."""
    first = CoveringSet(schema)
    for one in some:
        first.add(one.id, one.when)
    texts = {one.id: one.when for one in some}
    # Later ones may cover those that came before them: so once more, the latest first, redundant ones at the end.
    found = CoveringSet(schema)
    answers = {id_: found.add(id_, texts[id_]) for id_ in (*reversed(first.active), *first.covered)}
    active = set(found.active)
    told = [
        _covered(one, Answer(one.id, False, (), answers[one.id].method, answers[one.id].certain))
        if one.id in active
        else _covered(one, found.covered[one.id])
        for one in some
    ]
    return Covering(stream=stream, considered=len(some), left_out=left_out, active=len(active), subscriptions=told)


def covered_one(schema: Schema, one: Subscription, others: Sequence[Subscription]) -> CoveredOne:
    """Hold one against all others."""
    found = CoveringSet(schema, witnesses=True)
    for each in others:
        if each.id != one.id:
            found.add(each.id, each.when)
    answer = found.add(one.id, one.when)
    try:
        return CoveredOne(answer=_covered(one, answer), picture=_plane(picture(found, answer)), why_no_picture=None)
    except NotSupported as error:
        why = str(error).partition("\nHint: ")[0].replace(f"subscription {one.id!r}", "this one")
        return CoveredOne(answer=_covered(one, answer), picture=None, why_no_picture=why)
    except VedetteError as error:
        return CoveredOne(answer=_covered(one, answer), picture=None, why_no_picture=str(error))


def _covered(one: Subscription, answer: Answer) -> Covered:
    return Covered(
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
        x=Side(name=drawn.x.name, ticks=list(drawn.x.ticks)),
        y=Side(name=drawn.y.name, ticks=list(drawn.y.ticks)),
        rectangles=[
            Rectangle(label=each.label, part=each.part, x=each.x, y=each.y, dashed=each.dashed) for each in drawn.shapes
        ],
        witness=drawn.witness,
    )
