"""What is answered, and told over streams? As OpenAPI and AsyncAPI tell it to the world."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vedette.service.clock import iso
from vedette.service.outbox import Counts
from vedette.service.registry import Subscription


class Numbers(BaseModel):
    """What became of the notifications of a subscription."""

    due: int
    delivered: int
    pending: int
    dead: int
    dropped: int
    last: str | None = None


class Stands(BaseModel):
    """A subscription that stands."""

    id: str
    stream: str
    subscriber: str | None
    kind: str
    when: str
    rule: str | None
    dialect: str | None
    origin: dict[str, Any] | None
    predict: dict[str, Any] | None
    delivery: dict[str, Any]
    version: int
    created: str
    expires: str
    cost: float
    notifications: Numbers | None = None


class Subscribed(Stands):
    """A new subscription; the ticket, and the secret of its webhook, are shown once."""

    ticket: str
    secret: str | None = None


class Replaced(Stands):
    """A subscription that says something else; the secret of its webhook is there if it is a new one."""

    secret: str | None = None


class Page(BaseModel):
    """Some of the subscriptions; `next` is where the next page begins."""

    subscriptions: list[Stands]
    next: int | None


class Published(BaseModel):
    """Events that are on the disk."""

    accepted: int
    duplicates: int
    ids: list[str]


class OfferTold(BaseModel):
    """An offer, as those who want it hear of it."""

    model_config = ConfigDict(extra="forbid")

    id: str
    when: str
    expires: str
    publisher: str | None = None


class Notification(BaseModel):
    """What a subscription hears of. Attributes that say nothing are left out."""

    model_config = ConfigDict(extra="forbid")

    id: str  # the same whenever it is told again
    kind: Literal["match", "prediction", "meeting"]
    subscription: str
    stream: str
    time: str
    subscriber: str | None = None
    steps: dict[str, str] | None = None  # of a pattern: name of a step -> id of the event that took it
    bindings: dict[str, str] | None = None
    probability: float | None = None  # of a prediction
    within: int | None = None
    origin: dict[str, Any] | None = None
    event: dict[str, Any] | None = None
    offer: OfferTold | None = None  # of a meeting


class Drops(BaseModel):
    """So many of the oldest notifications were dropped, as nobody took them."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["dropped"] = "dropped"
    dropped: int


class Beat(BaseModel):
    """Nothing happened, and all is well."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["beat"]


class Queued(BaseModel):
    """Notifications that wait, oldest first; how many were dropped since the last that was acknowledged."""

    notifications: list[Notification]
    dropped: int


class Offered(BaseModel):
    """An offer that stands."""

    id: str
    stream: str
    publisher: str | None
    when: str
    created: str
    expires: str


class NewlyOffered(Offered):
    """A new offer; the ticket is shown once."""

    ticket: str


class Offers(BaseModel):
    """Some of the offers; `next` is where the next page begins."""

    offers: list[Offered]
    next: int | None


class DeadLetter(BaseModel):
    """A notification that could not be delivered, and why."""

    number: int
    attempts: int
    reason: str
    died: str
    notification: Notification


class DeadLetters(BaseModel):
    """Dead letters, the newest first."""

    dead_letters: list[DeadLetter]


class Replayed(BaseModel):
    """How many wait to be delivered again."""

    replayed: int


class Acknowledged(BaseModel):
    """How many of them waited."""

    acknowledged: int


class ShownTold(BaseModel):
    """What an event told one of the tenant's subscriptions."""

    model_config = ConfigDict(extra="forbid")

    subscription: str
    kind: str
    steps: dict[str, str] | None
    probability: float | None
    within: int | None


class ShownEvent(BaseModel):
    """An event as it was matched; those that are too large are not shown."""

    model_config = ConfigDict(extra="forbid")

    number: int
    id: str
    bytes: int
    event: dict[str, Any] | None
    told: list[ShownTold]


class Glimpse(BaseModel):
    """Some of the events since the last glimpse, and how many there were."""

    model_config = ConfigDict(extra="forbid")

    events: list[ShownEvent]
    matched: int
    skipped: int
    told: int


class Watched(BaseModel):
    """Which stream is watched, and how many events a second are shown at the most."""

    model_config = ConfigDict(extra="forbid")

    stream: str
    rate: float


class MadeTenant(BaseModel):
    """A new tenant; the key is shown once."""

    name: str
    key: str
    id: str


class MadeKey(BaseModel):
    """A new key, which is shown once."""

    key: str
    id: str


class ShownTenant(BaseModel):
    """A tenant, and what it may have where that differs from the settings."""

    name: str
    limits: dict[str, int | float]


class ShownTenants(BaseModel):
    """All tenants."""

    tenants: list[ShownTenant]


class PutStream(BaseModel):
    """A stream, as it is now."""

    name: str
    anonymous: bool
    lateness: float


class ShownStream(PutStream):
    """A stream, with the types of its attributes, as far as they are declared."""

    attributes: dict[str, Any] = Field(alias="schema")


class ShownStreams(BaseModel):
    """All streams."""

    streams: list[ShownStream]


class ShownKey(BaseModel):
    """A key, without what opens anything."""

    id: str
    label: str
    created: str
    revoked: str | None


class Keys(BaseModel):
    """The keys of a tenant."""

    keys: list[ShownKey]


class Problem(BaseModel):
    """A mistake, as RFC 9457 says."""

    type: str
    title: str
    status: int
    detail: str
    hint: str | None = None


def numbers_of(counts: Counts) -> Numbers:
    """Counts as an answer."""
    last = None if counts.last is None else iso(counts.last)
    return Numbers(
        due=counts.due,
        delivered=counts.delivered,
        pending=counts.pending,
        dead=counts.dead,
        dropped=counts.dropped,
        last=last,
    )


def stands(one: Subscription, counts: Counts | None = None) -> dict[str, Any]:
    """A subscription as an answer, without what is secret."""
    return {
        "id": one.id,
        "stream": one.stream,
        "subscriber": one.subscriber,
        "kind": one.kind,
        "when": one.when,
        "rule": one.rule,
        "dialect": one.dialect,
        "origin": None if one.origin is None else dict(one.origin),
        "predict": None if one.predict is None else dict(one.predict),
        "delivery": {name: value for name, value in one.delivery.items() if name != "secret"},
        "version": one.version,
        "created": iso(one.created),
        "expires": iso(one.expires),
        "cost": one.cost,
        "notifications": None if counts is None else numbers_of(counts),
    }
