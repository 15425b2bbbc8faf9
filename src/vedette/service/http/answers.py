"""Models of answers and of streamed messages, as OpenAPI and AsyncAPI describe them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vedette.service.clock import iso
from vedette.service.delivery.webhook_health import WebhookFailures
from vedette.service.outbox import DeliveryCounts
from vedette.service.rights import Right
from vedette.service.subscription_registry import Subscription


class Numbers(BaseModel):
    """Counts of the notifications of a subscription."""

    due: int
    delivered: int
    pending: int
    dead: int
    dropped: int
    last: str | None = None


class FailingWebhook(BaseModel):
    """A webhook that does not take notifications: since when, how many requests failed, why, what happens next."""

    since: str | None
    attempts: int
    error: str  # unreachable, no address, certificate, blocked, or the status that was answered
    status: int | None  # that was answered
    next_try: str | None  # null: with the next notification


class Quarantined(BaseModel):
    """Why a subscription matches nothing: matching it failed. Replacing it ends that."""

    since: str
    event: int | None  # it misses all events from this number on
    missed: int | None  # how many that were so far
    reason: str


class Stands(BaseModel):
    """A registered subscription."""

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
    damaged: bool = False  # its stored row is damaged, so that it matches nothing: replace it
    state: Literal["active", "quarantined"]
    quarantine: Quarantined | None = None
    notifications: Numbers | None = None
    failing: FailingWebhook | None = None  # null: the last request was taken, or there is no webhook


class Subscribed(Stands):
    """A new subscription; the ticket, and the secret of its webhook, are shown once."""

    ticket: str
    secret: str | None = None


class Replaced(Stands):
    """A subscription with another text; the secret of its webhook is there if it is a new one."""

    secret: str | None = None


class Page(BaseModel):
    """A page of the subscriptions; `next` is where the next page begins."""

    subscriptions: list[Stands]
    next: int | None


class Published(BaseModel):
    """Events that are on the disk."""

    accepted: int
    duplicates: int
    ids: list[str]


class OfferTold(BaseModel):
    """An offer, as notifications have it."""

    model_config = ConfigDict(extra="forbid")

    id: str
    when: str
    expires: str
    publisher: str | None = None


class Notification(BaseModel):
    """A notification. Attributes without a value are left out."""

    model_config = ConfigDict(extra="forbid")

    id: str  # the same when it is made or sent again
    kind: Literal["match", "prediction", "meeting", "quarantined"]
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
    reason: str | None = None  # why a subscription was quarantined: it matches nothing until it is replaced


class Drops(BaseModel):
    """Number of dropped notifications: the oldest, as nobody took them, or such as are damaged on the disk."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["dropped"] = "dropped"
    dropped: int


class Beat(BaseModel):
    """No notification came for a while; the connection lives."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["beat"]


class Queued(BaseModel):
    """Pending notifications, oldest first; how many were dropped since the last that was acknowledged."""

    notifications: list[Notification]
    dropped: int


class Offered(BaseModel):
    """A registered offer."""

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
    """A page of the offers; `next` is where the next page begins."""

    offers: list[Offered]
    next: int | None


class DeadLetter(BaseModel):
    """A notification that could not be delivered, and why."""

    number: int
    attempts: int
    reason: str
    died: str
    notification: Notification | None  # null: what is stored of it is damaged


class DeadLetters(BaseModel):
    """Dead letters, the newest first."""

    dead_letters: list[DeadLetter]


class Replayed(BaseModel):
    """How many are pending again."""

    replayed: int


class Acknowledged(BaseModel):
    """How many of them were pending."""

    acknowledged: int


class ShownTold(BaseModel):
    """The outcome of an event for one of the tenant's subscriptions."""

    model_config = ConfigDict(extra="forbid")

    subscription: str
    kind: str
    steps: dict[str, str] | None
    probability: float | None
    within: int | None


class ShownEvent(BaseModel):
    """A matched event; those that are too large are not shown."""

    model_config = ConfigDict(extra="forbid")

    number: int
    id: str
    bytes: int
    event: dict[str, Any] | None
    told: list[ShownTold]


class Glimpse(BaseModel):
    """Some of the events since the last message, and how many there were."""

    model_config = ConfigDict(extra="forbid")

    events: list[ShownEvent]
    matched: int
    skipped: int
    told: int


class Watched(BaseModel):
    """The stream that is watched, and the most events that are shown in a second."""

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
    """A tenant, and its limits where they differ from the settings."""

    name: str
    limits: dict[str, int | float]


class ShownTenants(BaseModel):
    """All tenants."""

    tenants: list[ShownTenant]


class OneStream(BaseModel):
    """A stream, as it is now."""

    name: str
    anonymous: bool
    lateness: float


class PutStream(OneStream):
    """A stream and its owner; without one it belongs to the administrator."""

    owner: str | None


class ShownStream(OneStream):
    """A stream, with the types of its attributes, as far as they are declared, and what the tenant may do on it."""

    attributes: dict[str, Any] = Field(alias="schema")
    rights: list[Right]
    owned: bool


class Grant(BaseModel):
    """The rights of a tenant, or of `*` for all, on a stream."""

    tenant: str
    rights: list[Right]


class Grants(BaseModel):
    """All rights that are granted on a stream; its owner has all of them."""

    owner: str | None
    grants: list[Grant]


class RejectedCount(BaseModel):
    """How many events of one publisher were rejected; null: somebody without a key published them."""

    tenant: str | None
    kind: str
    rejected: int
    last: str


class RejectedEvent(BaseModel):
    """A rejected event, and why; large ones are not shown."""

    number: int
    id: str
    tenant: str | None
    kind: str  # schema: it breaks the schema of the stream; matching: it could not be matched
    attribute: str | None  # the first that is wrong
    reason: str
    time: str
    event: dict[str, Any] | None


class Rejected(BaseModel):
    """Events of a stream that were accepted and set aside: how many there ever were, and the latest."""

    stream: str
    rejected: int
    counts: list[RejectedCount]
    latest: list[RejectedEvent]


class ShownStreams(BaseModel):
    """All streams."""

    streams: list[ShownStream]


class ShownKey(BaseModel):
    """A key, without its secret."""

    id: str
    label: str
    created: str
    revoked: str | None


class Keys(BaseModel):
    """The keys of a tenant."""

    keys: list[ShownKey]


class Problem(BaseModel):
    """An error, as RFC 9457 says."""

    type: str
    title: str
    status: int
    detail: str
    hint: str | None = None


def numbers_of(counts: DeliveryCounts) -> Numbers:
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


def _failing_of(failing: WebhookFailures) -> FailingWebhook:
    return FailingWebhook(
        since=None if failing.since is None else iso(failing.since),
        attempts=failing.failures,
        error=failing.reason,
        status=failing.status,
        next_try=None if failing.due is None else iso(failing.due),
    )


def subscription_answer(
    one: Subscription,
    counts: DeliveryCounts | None = None,
    failing: WebhookFailures | None = None,
    *,
    missed: int | None = None,
) -> dict[str, Any]:
    """A subscription as an answer, without its secrets."""
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
        "damaged": one.damaged,
        "state": "active" if one.quarantined is None else "quarantined",
        "quarantine": _quarantine(one, missed),
        "notifications": None if counts is None else numbers_of(counts),
        "failing": None if failing is None else _failing_of(failing),
    }


def _quarantine(one: Subscription, missed: int | None) -> Quarantined | None:
    if one.quarantined is None:
        return None
    reason = one.quarantine_reason or "matching it failed"
    return Quarantined(since=iso(one.quarantined), event=one.quarantine_event, missed=missed, reason=reason)
