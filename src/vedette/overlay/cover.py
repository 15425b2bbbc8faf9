"""The port to covering: whether a subscription is covered by those forwarded to a neighbour.

Each link has its own, made from the schema: `Broker(..., cover=ExactCover)`.
"""

from __future__ import annotations

from typing import Protocol

from vedette.covering.cover_set import CoveringSet
from vedette.overlay.messages import SubscriptionKey
from vedette.schema.schema import Schema


class Cover(Protocol):
    """Decides whether filters together match whatever another one matches.

    A false "covered" loses events, a false "not covered" only costs messages: in doubt the answer is None. For a text
    that it cannot read, it raises InputError or NotSupported, and this text covers nothing.
    """

    def offer(self, key: SubscriptionKey, text: str) -> tuple[SubscriptionKey, ...] | None:
        """The forwarded subscriptions that together cover it; if there are none, None, and it is added to them."""
        ...

    def told(self, key: SubscriptionKey, text: str) -> None:
        """Add a subscription that the neighbour has, covered or not."""
        ...

    def withdraw(self, key: SubscriptionKey) -> None:
        """Remove a subscription, if the neighbour has it."""
        ...


class ExactCover:
    """Groups of subscriptions cover others; never wrongly, and what takes too long to decide counts as not covered."""

    def __init__(self, schema: Schema) -> None:
        self._set = CoveringSet(schema)
        self._keys: dict[str, SubscriptionKey] = {}

    def offer(self, key: SubscriptionKey, text: str) -> tuple[SubscriptionKey, ...] | None:
        """The subscriptions that cover it."""
        id_ = _id(key)
        answer = self._set.add(id_, text)
        if answer.covered:
            self._set.remove(id_)
            return tuple(self._keys[other] for other in answer.by)
        self._keys[id_] = key
        return None

    def told(self, key: SubscriptionKey, text: str) -> None:
        """Add it without a decision."""
        id_ = _id(key)
        self._set.add_decided(id_, text, None)
        self._keys[id_] = key

    def withdraw(self, key: SubscriptionKey) -> None:
        """Remove it."""
        id_ = _id(key)
        if self._keys.pop(id_, None) is not None:
            self._set.remove(id_)


class NoCover:
    """Every subscription is forwarded: flooding."""

    def __init__(self, schema: Schema) -> None:
        """The schema does not matter."""

    def offer(self, key: SubscriptionKey, text: str) -> tuple[SubscriptionKey, ...] | None:
        """Nothing is covered."""
        return None

    def told(self, key: SubscriptionKey, text: str) -> None:
        """Nothing to remember."""

    def withdraw(self, key: SubscriptionKey) -> None:
        """Nothing to forget."""


def _id(key: SubscriptionKey) -> str:
    return f"{key.origin} {key.version} {key.id}"  # the first two have no spaces
