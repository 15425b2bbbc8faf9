"""The broker: a state machine that takes what happened and returns messages to send and subscribers to notify.

Subscriptions travel over the links of the tree (`topology.py`), unless they are covered by what was forwarded
over a link already (`forwarding.py`). Events go the other way: over a link of the tree if a subscription that came over
it matches. Nothing here waits or sends: `node.py` hosts it.

Links are a port. Between `up` and `down` a link loses nothing and keeps the order; messages in transit at `down` are
lost. Subscriptions and cancellations survive that: when the link is up again each side sends what it has of the other,
and gets the difference. Events that were lost with a link are not sent again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from vedette.errors import InputError, UnknownSubscription
from vedette.filters.subscription_input import check_texts, id_exists_message
from vedette.filters.subscription_set import schema_of
from vedette.overlay.forwarding import Cover, ExactCover, Forwarding
from vedette.overlay.interests import HERE, Interests
from vedette.overlay.messages import (
    AdjacencyMessage,
    CancelMessage,
    DifferMessage,
    DigestMessage,
    HaveMessage,
    Message,
    PublishMessage,
    SubscribeMessage,
    SubscriptionKey,
    differing,
    digest,
    part,
)
from vedette.overlay.topology import Routes, routes
from vedette.overlay.wire import ID_CHARACTERS, MOST_KEYS, check_links, check_name, check_size, plain
from vedette.schema.schema import Schema

MOST = 65_536  # far more than can be on their way round while the tree is changing


class DuplicateFilter:
    """The names of recent events; the oldest are dropped."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._names: OrderedDict[tuple[str, int], None] = OrderedDict()

    def __contains__(self, name: tuple[str, int]) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: tuple[str, int]) -> None:
        """Add one event."""
        self._names[name] = None
        if len(self._names) > self._most:
            self._names.popitem(last=False)


class BrokerNotification(NamedTuple):
    """A notification for a subscriber of this broker."""

    subscription: str
    subscriber: str | None
    event: Mapping[str, Any]
    publication: tuple[str, int]  # the event's name: the broker it was published at, and a number


class BrokerEffects(NamedTuple):
    """The effects of something that happened, in this order."""

    sends: list[tuple[str, Message]]  # to which link, what
    notifications: list[BrokerNotification]
    problems: list[str]  # for people: what no error could report


class _Link:
    """The state of the link to a neighbour."""

    def __init__(self, cover: Cover) -> None:
        self.up = False
        self.agreed = False  # since the link came up, it was settled what the neighbour has
        self.counts = True  # whether the subscriptions that came over it count
        self.received: dict[SubscriptionKey, str] = {}
        self.forwarding = Forwarding(cover)
        self.asked: tuple[int, ...] = ()  # parts that the neighbour is telling about
        self.listed: list[SubscriptionKey] = []


class _LocalSubscription(NamedTuple):
    key: SubscriptionKey
    text: str
    subscriber: str | None


class Broker:
    """A broker with its neighbours, each of which is a link of its name.

    `epoch` distinguishes the runs of a broker: each start needs a higher one; None takes it from the clock.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[str],
        cover: Callable[[Schema], Cover] = ExactCover,
        *,
        schema: Schema | Mapping[str, Any] | None = None,
        epoch: int | None = None,
    ) -> None:
        self.name = check_name(name)
        known = schema_of(schema)
        self._links = {link: _Link(cover(known)) for link in check_links(name, links)}
        self._number = time.time_ns() if epoch is None else epoch
        self._interests = Interests(known)
        self._local: dict[str, _LocalSubscription] = {}
        self._ids: dict[str, set[str]] = {}  # of local subscriptions, by text
        self._seen = DuplicateFilter()
        self._adjacent: dict[str, AdjacencyMessage] = {}
        self._routes = Routes(frozenset(), frozenset({name}))
        self._step = BrokerEffects([], [], [])

    # ------------------------------------------------------------ clients

    def subscribe(self, id_: str, when: str, *, subscriber: str | None = None) -> BrokerEffects:
        """Add a subscription to events that match a filter; InputError if the id is taken."""
        if id_ in self._local:
            raise InputError(id_exists_message(id_))
        key = self._subscribed(id_, when, subscriber)
        self._forward([key])
        return self._taken()

    def replace(self, id_: str, when: str, *, subscriber: str | None = None) -> BrokerEffects:
        """Replace the filter of a subscription."""
        old = self._found(id_)
        key = self._subscribed(id_, when, subscriber, old)
        self._forward([old.key, key])
        return self._taken()

    def cancel(self, id_: str) -> BrokerEffects:
        """Cancel a subscription; UnknownSubscription if there is none."""
        found = self._found(id_)
        self._forget(found)
        self._forward([found.key])
        return self._taken()

    def publish(self, event: Mapping[str, Any]) -> BrokerEffects:
        """Publish an event; InputError if it breaks the schema or cannot be sent."""
        message = PublishMessage(self.name, self._number + 1, plain(event))
        check_size(message)
        self._route(message, HERE)
        self._number += 1
        return self._taken()

    def _subscribed(
        self, id_: str, when: str, subscriber: str | None, old: _LocalSubscription | None = None
    ) -> SubscriptionKey:
        check_texts(id_, when, subscriber)
        if len(id_) > ID_CHARACTERS:
            raise InputError(f"the id of a subscription has {len(id_):,} characters, and {ID_CHARACTERS} is the most")
        self._interests.check(when)
        if old is not None:
            self._forget(old)
        self._number += 1
        key = SubscriptionKey(self.name, id_, self._number)
        self._local[id_] = _LocalSubscription(key, when, subscriber)
        self._ids.setdefault(when, set()).add(id_)
        self._interests.add(key, when, HERE)
        return key

    def _forget(self, old: _LocalSubscription) -> None:
        self._interests.remove(old.key, HERE)
        del self._local[old.key.id]
        self._ids[old.text].remove(old.key.id)
        if not self._ids[old.text]:
            del self._ids[old.text]

    def _found(self, id_: str) -> _LocalSubscription:
        if id_ not in self._local:
            raise UnknownSubscription(f"there is no subscription {id_!r} at broker {self.name!r}")
        return self._local[id_]

    # ------------------------------------------------------------ links

    def up(self, link: str) -> BrokerEffects:
        """A link has come up: send the neighbour all adjacencies, and digests of its subscriptions here."""
        found = self._link(link)
        found.up, found.agreed, found.asked, found.listed = True, False, (), []
        self._announce()
        for adjacency in self._adjacent.values():
            if adjacency.broker != self.name:
                self._send(link, adjacency)
        self._send(link, DigestMessage(digest(found.received)))
        return self._taken()

    def down(self, link: str) -> BrokerEffects:
        """A link has gone down: messages in transit are lost."""
        found = self._link(link)
        found.up = found.agreed = False
        self._announce()
        return self._taken()

    def handle(self, message: Message, link: str) -> BrokerEffects:
        """Process a message of a neighbour."""
        found = self._link(link)
        match message:
            case PublishMessage():
                self._passed_on(message, link)
            case SubscribeMessage(key, text):
                found.received[key] = text
                self._count(key, link, found)
                self._forward([key])
            case CancelMessage(key):
                found.received.pop(key, None)
                self._interests.remove(key, link)
                self._forward([key])
            case AdjacencyMessage():
                self._learn(message, link)
            case DigestMessage(parts):
                found.asked = differing(digest(found.forwarding.forwarded), parts)
                if found.asked:
                    self._send(link, DifferMessage(found.asked))
                else:
                    self._agree(link, found)
            case DifferMessage(parts):
                self._list(link, found, frozenset(parts))
            case HaveMessage(keys, last):
                found.listed += keys
                if last:
                    # A subscription that was cancelled meanwhile has no text; it is cancelled at once.
                    had = {key: self._interests.wanted(key, besides=link) or "" for key in found.listed}
                    found.forwarding.correct(found.asked, had)
                    self._agree(link, found)
        return self._taken()

    def _link(self, link: str) -> _Link:
        if link not in self._links:
            raise InputError(f"broker {self.name!r} has no link to {link!r}\nHint: its links are {sorted(self._links)}")
        return self._links[link]

    def _list(self, link: str, found: _Link, parts: frozenset[int]) -> None:
        keys = [key for key in found.received if part(key) in parts]
        starts = range(0, max(1, len(keys)), MOST_KEYS)
        for start in starts:
            self._send(link, HaveMessage(tuple(keys[start : start + MOST_KEYS]), start == starts[-1]))

    def _agree(self, link: str, found: _Link) -> None:
        found.agreed, found.listed = True, []
        self._forward(None, only=link)

    # ------------------------------------------------------------ the tree

    def _announce(self) -> None:
        """Announce this broker's links to all brokers."""
        self._number += 1
        neighbours = tuple(sorted(name for name, link in self._links.items() if link.up))
        self._learn(AdjacencyMessage(self.name, self._number, neighbours), HERE)

    def _learn(self, said: AdjacencyMessage, source: str) -> None:
        known = self._adjacent.get(said.broker)
        if said.broker == self.name and source != HERE:
            if known is None or said.number > known.number:  # announced in an earlier run, when clocks were ahead
                self._number = max(self._number, said.number)
                self._announce()
            return
        if known is not None and said.number <= known.number:
            return
        self._adjacent[said.broker] = said
        for name, link in self._links.items():
            if link.up and name != source:
                self._send(name, said)
        self._reroute()

    def _reroute(self) -> None:
        """Recompute the tree, since links may have changed."""
        before, self._routes = self._routes, routes(self.name, self._adjacent)
        changed = before.tree != self._routes.tree
        for name, link in self._links.items():
            # While a neighbour cannot be reached at all, its subscriptions are kept until it comes back.
            counts = name in self._routes.tree or name not in self._routes.reachable
            if counts != link.counts:
                link.counts, changed = counts, True
                for key in link.received:
                    self._count(key, name, link)
        if changed:
            self._forward(None)

    def _count(self, key: SubscriptionKey, name: str, link: _Link) -> None:
        if not link.counts:
            self._interests.remove(key, name)
        elif (problem := self._interests.add(key, link.received[key], name)) is not None:
            self._step.problems.append(problem)

    # ------------------------------------------------------------ subscriptions and events

    def _forward(self, keys: Iterable[SubscriptionKey] | None, *, only: str | None = None) -> None:
        """Send neighbours the changes of these subscriptions, or of all."""
        for name, link in self._links.items():
            if not link.agreed or only not in (None, name):
                continue
            wanted: dict[SubscriptionKey, str] = {}
            gone: list[SubscriptionKey] = []
            forwarding = link.forwarding
            for key in dict.fromkeys((*self._interests, *forwarding)) if keys is None else keys:
                text = self._interests.wanted(key, besides=name) if name in self._routes.tree else None
                if text is None:
                    gone.append(key)
                elif key not in forwarding:
                    wanted[key] = text
            for message in forwarding.change(wanted, gone):
                self._send(name, message)

    def _passed_on(self, message: PublishMessage, link: str) -> None:
        if (message.origin, message.number) in self._seen:
            return
        try:
            self._route(message, link)
        except InputError as error:
            self._step.problems.append(
                f"event {message.number} of {message.origin!r} came over {link!r} and cannot be read here: {error}\n"
                "Hint: let all brokers of a network have the same schema"
            )

    def _route(self, message: PublishMessage, source: str) -> None:
        texts, sources = self._interests.matching(message.event)
        name = message.origin, message.number
        self._seen.add(name)
        for link in sorted(sources & self._routes.tree - {source}):
            if self._links[link].up:
                self._send(link, message)
        for id_ in sorted(id_ for text in texts for id_ in self._ids.get(text, ())):
            subscriber = self._local[id_].subscriber
            self._step.notifications.append(BrokerNotification(id_, subscriber, message.event, name))

    # ------------------------------------------------------------ what follows

    def _send(self, link: str, message: Message) -> None:
        self._step.sends.append((link, message))

    def _taken(self) -> BrokerEffects:
        """Return the collected effects, once."""
        step, self._step = self._step, BrokerEffects([], [], [])
        return step

    # ------------------------------------------------------------ reading

    @property
    def links(self) -> tuple[str, ...]:
        """The configured neighbours."""
        return tuple(self._links)

    @property
    def tree(self) -> frozenset[str]:
        """The neighbours to which the tree has a link."""
        return self._routes.tree

    def received(self, link: str) -> Mapping[SubscriptionKey, str]:
        """The subscriptions that a neighbour has sent to this broker."""
        return dict(self._link(link).received)

    def forwarded(self, link: str) -> Mapping[SubscriptionKey, str]:
        """The subscriptions that were forwarded to a neighbour."""
        return dict(self._link(link).forwarding.forwarded)

    def held(self, link: str) -> Mapping[SubscriptionKey, tuple[SubscriptionKey, ...]]:
        """The subscriptions not forwarded to a neighbour, and those that cover them."""
        return self._link(link).forwarding.held

    def __repr__(self) -> str:
        return f"<Broker {self.name}: {len(self._local)} subscriptions, links {', '.join(self._links)}>"
