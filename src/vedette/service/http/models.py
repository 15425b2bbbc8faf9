"""Models of requests, as OpenAPI describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vedette.service.rights import RIGHTS, Right
from vedette.service.settings import Lateness

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Grantee = Annotated[str, Field(max_length=128, pattern=r"^(\*|[A-Za-z0-9][A-Za-z0-9._-]*)$")]
Text = Annotated[str, Field(min_length=1, max_length=1_000_000)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]  # of a row
Label = Annotated[str, Field(min_length=1, max_length=256)]


def _for_example(**values: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [values]})


class RequestModel(BaseModel):
    """A request; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Queue(RequestModel):
    """Notifications are queued: read as server-sent events, over a WebSocket, or by pulling."""

    type: Literal["queue"] = "queue"


class Webhook(RequestModel):
    """Notifications are sent to a URL, signed as Standard Webhooks says."""

    type: Literal["webhook"]
    url: Annotated[str, Field(max_length=2048)]
    secret: Annotated[str, Field(max_length=200)] | None = None


Delivery = Annotated[Queue | Webhook, Field(discriminator="type")]


class Prediction(RequestModel):
    """Notify as soon as a pattern completes within so many events with at least this probability."""

    within: Annotated[int, Field(ge=1)]
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    features: list[Text] | None = None


class Subscribe(RequestModel):
    """A subscription: its text, how long it is valid, and how it is delivered."""

    model_config = _for_example(when="issue = 'IBM' and price < 120", subscriber="alice", validity=3600.0)

    when: Text | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    subscriber: Label | None = None
    predict: Prediction | None = None
    validity: Annotated[float, Field(gt=0)] | None = None  # seconds
    delivery: Delivery = Queue()
    want: bool = False  # a constraint that meets offers


class Replace(Subscribe):
    """A new text for a subscription; subscriber, delivery and validity stay as they are, unless they are given."""

    model_config = _for_example(when="issue = 'IBM' and price < 100")

    delivery: Annotated[Queue | Webhook, Field(discriminator="type")] | None = None  # type: ignore[assignment]


class Renew(RequestModel):
    """How long a subscription is valid, from now on."""

    model_config = _for_example(validity=86400.0)

    validity: Annotated[float, Field(gt=0)] | None = None


class Trial(RequestModel):
    """A subscription to try: on sample events, on the last hour's traffic, or on both."""

    model_config = _for_example(when="price < 120", events=[{"price": 99}, {"price": 130}])

    when: Text | dict[str, Any]
    dialect: Annotated[str, Field(max_length=32)] | None = None
    stream: Name = "default"
    predict: Prediction | None = None
    events: list[dict[str, Any]] = []
    recent: bool = True


class Acknowledge(RequestModel):
    """Which notifications have been taken."""

    model_config = _for_example(ids=["n_lb4y3mvtbmq5oqxklzmyqfe2w46kwhbv"])

    ids: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=1000)]


class Replay(RequestModel):
    """Which dead letters to send again; all of them if none is named."""

    model_config = _for_example(numbers=[17])

    numbers: Annotated[list[Number], Field(max_length=1000)] | None = None


class Offer(RequestModel):
    """A publication that is itself a constraint, and is kept until it expires."""

    model_config = _for_example(when="lot between 1000 and 10000 and price = 1.00", publisher="seller")

    when: Text
    stream: Name = "default"
    publisher: Label | None = None
    validity: Annotated[float, Field(gt=0)] | None = None


class TenantLimits(RequestModel):
    """Limits of a tenant, where they differ from the settings."""

    requests: Annotated[float, Field(gt=0, le=1e12)] | None = None  # a second
    subscriptions: Annotated[int, Field(ge=0)] | None = None
    cost: Annotated[float, Field(ge=0)] | None = None


class NewTenant(RequestModel):
    """A new tenant, who will publish and subscribe."""

    model_config = _for_example(name="acme")

    name: Name
    limits: TenantLimits = TenantLimits()


class NewKey(RequestModel):
    """A key for a tenant."""

    model_config = _for_example(label="of the phone")

    label: Annotated[str, Field(max_length=128)] = ""


class NewStream(RequestModel):
    """A stream of events."""

    model_config = _for_example(schema={"price": "float", "issue": "string"}, anonymous=False)

    attributes: dict[str, Any] | None = Field(default=None, alias="schema")
    anonymous: bool = False
    lateness: Lateness = 0.0
    owner: Name | None = None  # a tenant, which has every right on it, and grants them
    publish: list[Grantee] | None = None  # who may: names of tenants, or "*"
    subscribe: list[Grantee] | None = None
    read: list[Grantee] | None = None  # what others published


class GrantRights(RequestModel):
    """The rights of a tenant on a stream."""

    model_config = _for_example(rights=["subscribe", "read"])

    rights: Annotated[list[Right], Field(max_length=len(RIGHTS))]


class TakenUpTo(BaseModel):
    """All up to this notification have been taken."""

    ack: Annotated[str, Field(max_length=64)]
