"""Does a neighbour have to hear of a subscription, given what it was told already? The port to covering.

There is one for each link, made from the schema: `Broker(..., cover=ExactCover)`.
"""

from __future__ import annotations

from typing import Protocol

from vedette.covering.cover_set import CoveringSet
from vedette.overlay.messages import Key
from vedette.schema.schema import Schema


class Cover(Protocol):
    """Whoever can tell that filters together match whatever another one matches.

    A false "covered" loses events, a false "not covered" only costs messages: in doubt the answer is None. Of a text
    that it cannot read, it raises InputError or NotSupported, and lets it cover nothing.
    """

    def offer(self, key: Key, text: str) -> tuple[Key, ...] | None:
        """Those of the told ones that together cover it; if they do not, None, and it is one of them from now on."""
        ...

    def told(self, key: Key, text: str) -> None:
        """The neighbour knows it, covered or not."""
        ...

    def withdraw(self, key: Key) -> None:
        """The neighbour knows it no more; of one that it never knew, nothing."""
        ...


class ExactCover:
    """Groups of subscriptions cover others; never wrongly, and what takes too long to find out is not covered."""

    def __init__(self, schema: Schema) -> None:
        self._set = CoveringSet(schema)
        self._keys: dict[str, Key] = {}

    def offer(self, key: Key, text: str) -> tuple[Key, ...] | None:
        """What covers it."""
        id_ = _id(key)
        answer = self._set.add(id_, text)
        if answer.covered:
            self._set.remove(id_)
            return tuple(self._keys[other] for other in answer.by)
        self._keys[id_] = key
        return None

    def told(self, key: Key, text: str) -> None:
        """Take it up without asking."""
        id_ = _id(key)
        self._set.add_decided(id_, text, None)
        self._keys[id_] = key

    def withdraw(self, key: Key) -> None:
        """Forget it."""
        id_ = _id(key)
        if self._keys.pop(id_, None) is not None:
            self._set.remove(id_)


class NoCover:
    """Every subscription is forwarded: flooding."""

    def __init__(self, schema: Schema) -> None:
        """The schema does not matter."""

    def offer(self, key: Key, text: str) -> tuple[Key, ...] | None:
        """Nothing is covered."""
        return None

    def told(self, key: Key, text: str) -> None:
        """Nothing to remember."""

    def withdraw(self, key: Key) -> None:
        """Nothing to forget."""


def _id(key: Key) -> str:
    return f"{key.origin} {key.version} {key.id}"  # the first two have no spaces
