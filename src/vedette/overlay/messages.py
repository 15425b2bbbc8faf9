"""The messages between brokers, as plain values, and digests of many; `wire.py` defines their encoding.

Keys are spread over parts by their hashes, and a part's digest is the XOR of the hashes in it: the order does not
matter, and parts with equal digests need no further messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
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


PARTS = 256
BITS = 64  # of a part's digest


def digest(keys: Iterable[SubscriptionKey]) -> tuple[int, ...]:
    """The digests of all parts."""
    parts = [0] * PARTS
    for key in keys:
        hashed = _hashed(key)
        parts[hashed % PARTS] ^= hashed
    return tuple(parts)


def part(key: SubscriptionKey) -> int:
    """The part of a key."""
    return _hashed(key) % PARTS


def differing(mine: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[int, ...]:
    """The parts with different digests."""
    return tuple(number for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])


def _hashed(key: SubscriptionKey) -> int:
    # Lengths precede the names, so that different keys have different encodings.
    written = f"{len(key.origin)} {len(key.id)} {key.origin}{key.id}{key.version}".encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=BITS // 8).digest(), "little")
