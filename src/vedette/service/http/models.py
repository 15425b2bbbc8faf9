"""What goes over the wire? Requests and answers, as OpenAPI tells them to the world."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vedette.service.clock import iso
from vedette.service.outbox import Counts
from vedette.service.registry import Subscription
from vedette.service.settings import Lateness

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Text = Annotated[str, Field(min_length=1, max_length=1_000_000)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]  # of a row
Label = Annotated[str, Field(min_length=1, max_length=256)]


class Asked(BaseModel):
    """A request; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Queue(Asked):
    """Notifications wait to be read: as server-sent events, over a WebSocket, or by pulling."""

    type: Literal["queue"] = "queue"


class Webhook(Asked):
    """Notifications are sent to a URL, signed as Standard Webhooks says."""

    type: Literal["webhook"]
    url: Annotated[str, Field(max_length=2048)]
    secret: Annotated[str, Field(max_length=200)] | None = None


Delivery = Annotated[Queue | Webhook, Field(discriminator="type")]


class Prediction(Asked):
    """Tell as soon as a pattern completes within so many events with at least this probability."""

    within: Annotated[int, Field(ge=1)]
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    features: list[Text] | None = None


class Subscribe(Asked):
    """What to hear of, for how long, and how."""

    when: Text | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    subscriber: Label | None = None
    predict: Prediction | None = None
    validity: Annotated[float, Field(gt=0)] | None = None  # seconds
    delivery: Delivery = Queue()
    want: bool = False  # a constraint that meets offers


class Renew(Asked):
    """For how long, from now on."""

    validity: Annotated[float, Field(gt=0)] | None = None


class Trial(Asked):
    """A subscription to try: on sample events, on the last hour's traffic, or on both."""

    when: Text | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    predict: Prediction | None = None
    events: list[dict[str, Any]] = []
    recent: bool = True


class Acknowledge(Asked):
    """Which notifications have been taken."""

    ids: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=1000)]


class Replay(Asked):
    """Which dead letters to send again; all of them if none is named."""

    numbers: Annotated[list[Number], Field(max_length=1000)] | None = None


class Offer(Asked):
    """A publication that is a constraint itself, and stands for a while."""

    when: Text
    stream: Name = "default"
    publisher: Label | None = None
    validity: Annotated[float, Field(gt=0)] | None = None


class TenantLimits(Asked):
    """What a tenant may have, where that differs from the settings."""

    requests: Annotated[float, Field(gt=0, le=1e12)] | None = None  # a second
    subscriptions: Annotated[int, Field(ge=0)] | None = None
    cost: Annotated[float, Field(ge=0)] | None = None


class NewTenant(Asked):
    """Somebody who will publish and subscribe."""

    name: Name
    limits: TenantLimits = TenantLimits()


class NewKey(Asked):
    """A key for a tenant."""

    label: Annotated[str, Field(max_length=128)] = ""


class NewStream(Asked):
    """A stream of events."""

    attributes: dict[str, Any] | None = Field(default=None, alias="schema")
    anonymous: bool = False
    lateness: Lateness = 0.0


# ---------------------------------------------------------------- answers


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


class TakenUpTo(BaseModel):
    """All up to this notification have been taken."""

    ack: Annotated[str, Field(max_length=64)]


class Queued(BaseModel):
    """Notifications that wait, oldest first."""

    notifications: list[Notification]


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
