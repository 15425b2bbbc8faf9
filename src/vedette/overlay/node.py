"""Who lets a broker do what it says? A node: it hands on what is to be sent, notified and reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from vedette.overlay.broker import Broker, Notification, Step
from vedette.overlay.messages import Message

_LOG = logging.getLogger("vedette.overlay")


class Links(Protocol):
    """The links of one broker; `broker.py` says what they have to keep to."""

    def send(self, link: str, message: Message) -> None:
        """Hand a message on, without waiting for it to arrive."""
        ...


class Node:
    """A broker on its links. One thread at a time."""

    def __init__(self, broker: Broker, links: Links, notify: Callable[[Notification], None]) -> None:
        self.broker = broker
        self._links = links
        self._notify = notify

    def subscribe(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Somebody wants to hear of what a filter matches; InputError if the id is taken."""
        self._follow(self.broker.subscribe(id_, when, subscriber=subscriber))

    def replace(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Let a subscription say something else from now on."""
        self._follow(self.broker.replace(id_, when, subscriber=subscriber))

    def cancel(self, id_: str) -> None:
        """Nobody wants to hear of it any more; UnknownSubscription if there is none."""
        self._follow(self.broker.cancel(id_))

    def publish(self, event: Mapping[str, Any]) -> None:
        """An event for all who want it; InputError if it breaks the schema or cannot be sent."""
        self._follow(self.broker.publish(event))

    def handle(self, message: Message, link: str) -> None:
        """A neighbour has said something."""
        self._follow(self.broker.handle(message, link))

    def up(self, link: str) -> None:
        """A link has come up."""
        self._follow(self.broker.up(link))

    def down(self, link: str) -> None:
        """A link has gone down."""
        self._follow(self.broker.down(link))

    def _follow(self, step: Step) -> None:
        for link, message in step.sends:
            self._links.send(link, message)
        for notification in step.notifications:
            self._notify(notification)
        for problem in step.problems:
            _LOG.warning("%s: %s", self.broker.name, problem)
