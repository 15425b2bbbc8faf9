"""What was forwarded over a link, and what is held back because this covers it; the port to covering.

Each link has its own, made from the schema: `Broker(..., cover=ExactCover)`.

The forwarded subscriptions always cover all that the neighbour should match: what was held back because of one is
forwarded before that one is cancelled. So there is no moment at which an event could be missed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from vedette.covering.cover_set import CoveringSet
from vedette.errors import InputError, NotSupported
from vedette.overlay.messages import CancelMessage, SubscribeMessage, SubscriptionKey, part
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


class Forwarding:
    """One direction of a link, at the end that sends subscriptions."""

    def __init__(self, cover: Cover) -> None:
        self._cover = cover
        self.forwarded: dict[SubscriptionKey, str] = {}
        self._held: dict[SubscriptionKey, tuple[str, tuple[SubscriptionKey, ...]]] = {}  # its text, and what covers it
        self._holding: dict[
            SubscriptionKey, dict[SubscriptionKey, None]
        ] = {}  # what is held back because of one that was forwarded

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self.forwarded or key in self._held

    def __iter__(self) -> Iterator[SubscriptionKey]:
        yield from self.forwarded
        yield from self._held

    @property
    def held(self) -> Mapping[SubscriptionKey, tuple[SubscriptionKey, ...]]:
        """The subscriptions held back, and those that cover them."""
        return {key: by for key, (_, by) in self._held.items()}

    def change(
        self, wanted: Mapping[SubscriptionKey, str], gone: Iterable[SubscriptionKey]
    ) -> list[SubscribeMessage | CancelMessage]:
        """Add and remove subscriptions; return what to send to the neighbour, in this order."""
        cancelled = []
        for key in gone:
            if key in self._held:
                self._release(key)
            elif self.forwarded.pop(key, None) is not None:
                self._cover.withdraw(key)
                cancelled.append(key)
        uncertain = {held: self._release(held) for key in cancelled for held in list(self._holding.get(key, ()))}
        told: list[SubscribeMessage | CancelMessage] = []
        for key, text in {**uncertain, **wanted}.items():
            by = self._offer(key, text)
            if by is None:
                self.forwarded[key] = text
                told.append(SubscribeMessage(key, text))
            else:
                self._hold(key, text, by)
        return [*told, *map(CancelMessage, cancelled)]

    def correct(self, parts: Iterable[int], had: Mapping[SubscriptionKey, str]) -> None:
        """Set what the neighbour has in these parts; what is held back has to be decided again."""
        wrong = frozenset(parts)
        for key in [key for key in self.forwarded if part(key) in wrong]:
            del self.forwarded[key]
            self._cover.withdraw(key)
        for key, text in had.items():
            self.forwarded[key] = text
            with contextlib.suppress(InputError, NotSupported):
                self._cover.told(key, text)
        self._held.clear()
        self._holding.clear()

    def _offer(self, key: SubscriptionKey, text: str) -> tuple[SubscriptionKey, ...] | None:
        try:
            return self._cover.offer(key, text)
        except (InputError, NotSupported):  # of a text that another broker could read
            return None

    def _hold(self, key: SubscriptionKey, text: str, by: tuple[SubscriptionKey, ...]) -> None:
        self._held[key] = text, by
        for each in by:
            self._holding.setdefault(each, {})[key] = None

    def _release(self, key: SubscriptionKey) -> str:
        text, by = self._held.pop(key)
        for each in by:
            del self._holding[each][key]
            if not self._holding[each]:
                del self._holding[each]
        return text
