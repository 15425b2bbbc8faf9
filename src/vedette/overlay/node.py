"""A node: hosts a broker, and carries out what it returns: messages, notifications and reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from vedette.overlay.broker import Broker, BrokerEffects, BrokerNotification
from vedette.overlay.messages import Message

_LOG = logging.getLogger("vedette.overlay")


class BrokerLinks(Protocol):
    """The links of one broker; `broker.py` states what they have to guarantee."""

    def send(self, link: str, message: Message) -> None:
        """Send a message, without waiting for its arrival."""
        ...


class BrokerNode:
    """A broker with its links. Use it from one thread at a time."""

    def __init__(self, broker: Broker, links: BrokerLinks, notify: Callable[[BrokerNotification], None]) -> None:
        self.broker = broker
        self._links = links
        self._notify = notify

    def subscribe(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Add a subscription to events that match a filter; InputError if the id is taken."""
        self._follow(self.broker.subscribe(id_, when, subscriber=subscriber))

    def replace(self, id_: str, when: str, *, subscriber: str | None = None) -> None:
        """Replace the filter of a subscription."""
        self._follow(self.broker.replace(id_, when, subscriber=subscriber))

    def cancel(self, id_: str) -> None:
        """Cancel a subscription; UnknownSubscription if there is none."""
        self._follow(self.broker.cancel(id_))

    def publish(self, event: Mapping[str, Any]) -> None:
        """Publish an event; InputError if it breaks the schema or cannot be sent."""
        self._follow(self.broker.publish(event))

    def handle(self, message: Message, link: str) -> None:
        """Process a message of a neighbour."""
        self._follow(self.broker.handle(message, link))

    def up(self, link: str) -> None:
        """A link has come up."""
        self._follow(self.broker.up(link))

    def down(self, link: str) -> None:
        """A link has gone down."""
        self._follow(self.broker.down(link))

    def _follow(self, step: BrokerEffects) -> None:
        for link, message in step.sends:
            self._links.send(link, message)
        for notification in step.notifications:
            self._notify(notification)
        for problem in step.problems:
            _LOG.warning("%s: %s", self.broker.name, problem)
