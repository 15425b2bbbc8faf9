"""The messages between brokers, as plain values; `wire.py` defines their encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class SubscriptionKey(NamedTuple):
    """The identity of a subscription: its broker, its id there, and its version; each version is another one."""

    origin: str
    id: str
    version: int


@dataclass(frozen=True, slots=True)
class AdjacencyMessage:
    """The current links of a broker; of two such messages the higher number is the later one."""

    broker: str
    number: int
    neighbours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribeMessage:
    """A subscription: send me events that match this filter."""

    key: SubscriptionKey
    text: str


@dataclass(frozen=True, slots=True)
class CancelMessage:
    """A cancellation of a subscription."""

    key: SubscriptionKey


@dataclass(frozen=True, slots=True)
class PublishMessage:
    """An event, with its global name: the broker where it was published, and a number."""

    origin: str
    number: int
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DigestMessage:
    """Digests by part of the subscriptions I have of you (`digests.py`): the first message when a link has come up."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DifferMessage:
    """The parts in which your digests differ from mine: send what you have."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HaveMessage:
    """The subscriptions I have of you in the parts that differ; in several messages, of which one is the last."""

    keys: tuple[SubscriptionKey, ...]
    last: bool


Message: TypeAlias = (
    AdjacencyMessage | SubscribeMessage | CancelMessage | PublishMessage | DigestMessage | DifferMessage | HaveMessage
)
