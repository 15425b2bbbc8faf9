"""A network of brokers in one process, for simulations and tests.

    network = Network({"a": ["b"], "b": ["c"]}, seed=7)
    network.subscribe("a", "s1", "price < 120")
    network.settle()
    network.publish("c", {"price": 119})
    network.settle()                            # [NetworkNotification(broker='a', subscription='s1', ...)]

Messages over one link keep their order; which link delivers next is drawn from the seed, so every run can be repeated.
Messages are encoded to the same bytes as between processes.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from vedette.errors import InputError
from vedette.overlay.broker import Broker, BrokerNotification
from vedette.overlay.forwarding import Cover, ExactCover
from vedette.overlay.messages import Message
from vedette.overlay.node import BrokerNode
from vedette.overlay.wire import Frame, check_links, decode, encode
from vedette.schema.schema import Schema


class NetworkNotification(NamedTuple):
    """A subscriber of a broker was notified."""

    broker: str
    subscription: str
    event: Mapping[str, Any]
    publication: tuple[str, int]


_Direction: TypeAlias = tuple[str, str]
_DOWN = 0


class _LinkEnds:
    """One broker's links, which end in the network's queues."""

    def __init__(self, network: Network, name: str) -> None:
        self._network = network
        self._name = name

    def send(self, link: str, message: Message) -> None:
        self._network._sent(self._name, link, message)


class Network:
    """Brokers by name, and their links; a link may be given at one of its ends only."""

    def __init__(
        self,
        links: Mapping[str, Iterable[str]],
        cover: Callable[[Schema], Cover] = ExactCover,
        *,
        schema: Schema | Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._cover, self._schema = cover, schema
        self._random = random.Random(seed)
        self._links = {frozenset((one, other)) for one, others in links.items() for other in check_links(one, others)}
        self._up: set[frozenset[str]] = set()
        self._lives: Counter[str] = Counter()
        self._life: Counter[frozenset[str]] = Counter()  # how often a link has come up
        self._knows: Counter[_Direction] = Counter()  # which of them its ends have heard of
        # Messages in transit, and numbers that mark which session of the link has begun, or that it has ended.
        self._queues: dict[_Direction, deque[bytes | int]] = {}
        self._nodes: dict[str, BrokerNode] = {}
        self._told: list[NetworkNotification] = []
        self.messages: Counter[tuple[str, str, str]] = Counter()  # from, to and kind of all that was sent
        for name in sorted({*links, *(name for link in self._links for name in link)}):
            self._start(name)
        for one, other in sorted(sorted(link) for link in self._links):
            self.mend(one, other)

    # ------------------------------------------------------------ clients

    def subscribe(self, broker: str, id_: str, when: str) -> None:
        """Subscribe at a broker."""
        self._node(broker).subscribe(id_, when)

    def replace(self, broker: str, id_: str, when: str) -> None:
        """Replace the filter of a subscription."""
        self._node(broker).replace(id_, when)

    def cancel(self, broker: str, id_: str) -> None:
        """Cancel at the broker where it was subscribed."""
        self._node(broker).cancel(id_)

    def publish(self, broker: str, event: Mapping[str, Any]) -> None:
        """Publish at a broker."""
        self._node(broker).publish(event)

    # ------------------------------------------------------------ time

    def deliver(self) -> bool:
        """Let one link, drawn at random, deliver its next message; False if there is none."""
        waiting = sorted(direction for direction, queue in self._queues.items() if queue)
        if not waiting:
            return False
        sender, receiver = direction = self._random.choice(waiting)
        node, next_ = self._nodes[receiver], self._queues[direction].popleft()
        if isinstance(next_, bytes):
            message = decode(next_).message
            assert message is not None  # this network sends no frames without one
            node.handle(message, sender)
        elif next_ == _DOWN:
            node.down(sender)
        else:
            self._knows[receiver, sender] = next_
            node.up(sender)
        return True

    def settle(self) -> list[NetworkNotification]:
        """Deliver until there are no messages; return the notifications since the last call."""
        while self.deliver():
            pass
        told, self._told = self._told, []
        return told

    # ------------------------------------------------------------ what breaks

    def cut(self, one: str, other: str) -> None:
        """Cut a link: messages in transit are lost, and either end notices it some time later."""
        link = self._known(one, other)
        if link in self._up:
            self._up.remove(link)
            for direction in ((one, other), (other, one)):
                # An end that has not noticed yet that the link is up notices first that, and then that it is down.
                kept = [each for each in self._queues[direction] if isinstance(each, int)]
                self._queues[direction] = deque([*kept, _DOWN])

    def mend(self, one: str, other: str) -> None:
        """Bring a link up again."""
        link = self._known(one, other)
        if link not in self._up:
            self._up.add(link)
            self._life[link] += 1
            for direction in ((one, other), (other, one)):
                self._queues.setdefault(direction, deque()).append(self._life[link])

    def restart(self, broker: str) -> None:
        """Kill and restart a broker: its clients have to subscribe again."""
        links = [link for link in self._up if broker in link]
        for link in links:
            self.cut(*link)
        self._start(broker)
        for link in links:
            (other,) = link - {broker}
            self._queues[other, broker].clear()  # it never knew the links of its former life
            self.mend(broker, other)

    def _start(self, name: str) -> None:
        self._lives[name] += 1
        neighbours = sorted(other for link in self._links if name in link for other in link - {name})
        broker = Broker(name, neighbours, self._cover, schema=self._schema, epoch=self._lives[name] << 40)
        self._nodes[name] = BrokerNode(
            broker, _LinkEnds(self, name), lambda notification: self._notified(name, notification)
        )

    # ------------------------------------------------------------ reading

    def broker(self, name: str) -> Broker:
        """A broker, for inspection."""
        return self._node(name).broker

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the brokers."""
        return tuple(self._nodes)

    def sent(self, *kinds: str) -> int:
        """The number of messages of these kinds that were sent over all links."""
        return sum(count for (_, _, kind), count in self.messages.items() if kind in kinds)

    def _node(self, name: str) -> BrokerNode:
        if name not in self._nodes:
            raise InputError(f"there is no broker {name!r}\nHint: there are {', '.join(self._nodes)}")
        return self._nodes[name]

    def _known(self, one: str, other: str) -> frozenset[str]:
        link = frozenset((one, other))
        if link not in self._links:
            raise InputError(f"there is no link between {one!r} and {other!r}")
        return link

    def _sent(self, sender: str, receiver: str, message: Message) -> None:
        link = frozenset((sender, receiver))
        self.messages[sender, receiver, type(message).__name__.removesuffix("Message").lower()] += 1
        # What is sent by an end that does not know yet that the link was interrupted is lost as well.
        if link in self._up and self._knows[sender, receiver] == self._life[link]:
            self._queues[sender, receiver].append(encode(Frame(0, 0, 0, message)))

    def _notified(self, broker: str, notification: BrokerNotification) -> None:
        self._told.append(
            NetworkNotification(broker, notification.subscription, notification.event, notification.publication)
        )
