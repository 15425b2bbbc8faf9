"""A network in memory beside an oracle that knows who must, and who may, hear of each event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.overlay.grid_cover import EVENTS, SCHEMA, points
from vedette.overlay.forwarding import Cover
from vedette.overlay.memory import Network
from vedette.overlay.messages import AdjacencyMessage
from vedette.overlay.topology import routes
from vedette.schema.schema import Schema


@dataclass
class _Published:
    """An event that may still be on its way."""

    broker: str
    number: int  # of the event in EVENTS
    must: set[tuple[str, str]]
    may: set[tuple[str, str]]
    told: Counter[tuple[str, str]] = field(default_factory=Counter)


class World:
    """Does to a network what it is told, and holds what subscribers hear against what flooding would give them.

    A subscription that was there when the network was last quiet, and stays until it is quiet again, must hear of every
    event that matches it, once, if there was a way all the time. One that came or went meanwhile may hear of it.
    """

    def __init__(self, links: list[tuple[str, str]], cover: Callable[[Schema], Cover], seed: int) -> None:
        self.links = links
        graph: dict[str, list[str]] = {}
        for one, other in links:
            graph.setdefault(one, []).append(other)
        self.network = Network(graph, cover, schema=SCHEMA, seed=seed)
        self.names = self.network.names
        self.down: set[tuple[str, str]] = set()
        self.alive: dict[tuple[str, str], str] = {}
        self.settled: set[tuple[str, str]] = set()
        self.published: list[_Published] = []
        self.calm = False  # nothing broke since the network was last quiet
        self.count = 0
        self.settle()

    # ------------------------------------------------------------ what happens

    def subscribe(self, broker: str, text: str) -> None:
        self.count += 1
        id_ = f"s{self.count}"
        self.network.subscribe(broker, id_, text)
        self.alive[broker, id_] = text
        self._may((broker, id_), text)

    def cancel(self, choice: int) -> None:
        if self.alive:
            chosen = sorted(self.alive)[choice % len(self.alive)]
            self.network.cancel(*chosen)
            del self.alive[chosen]
            self._unsettle(chosen)

    def replace(self, choice: int, text: str) -> None:
        if self.alive:
            chosen = sorted(self.alive)[choice % len(self.alive)]
            self.network.replace(*chosen, text)
            self.alive[chosen] = text
            self._unsettle(chosen)
            self._may(chosen, text)

    def publish(self, broker: str, number: int) -> None:
        may = {key for key, text in self.alive.items() if number in points(text)}
        must = {key for key in may & self.settled if self.calm and key[0] in self._reachable(broker)}
        self.published.append(_Published(broker, number, must, may))
        self.network.publish(broker, {**EVENTS[number], "event": len(self.published) - 1})

    def deliver(self, steps: int) -> None:
        for _ in range(steps):
            self.network.deliver()

    def cut(self, choice: int) -> None:
        link = self.links[choice % len(self.links)]
        self.down.add(link)
        self.network.cut(*link)
        self._disturb()

    def mend(self, choice: int) -> None:
        link = self.links[choice % len(self.links)]
        self.down.discard(link)
        self.network.mend(*link)
        self._disturb()

    def restart(self, choice: int) -> None:
        name = self.names[choice % len(self.names)]
        self.network.restart(name)
        self._disturb()
        for key in [key for key in self.alive if key[0] == name]:  # its clients come back
            self.network.subscribe(*key, self.alive[key])

    def settle(self) -> None:
        """Let everything arrive, and compare."""
        for told in self.network.settle():
            self.published[told.event["event"]].told[told.broker, told.subscription] += 1
        for each in self.published:
            assert set(each.told.values()) <= {1}, "told twice"
            assert each.must <= set(each.told) <= each.may, (each.must - set(each.told), set(each.told) - each.may)
        self.published = []
        self.settled, self.calm = set(self.alive), True
        self._same_tree()

    # ------------------------------------------------------------ what is known

    def _may(self, key: tuple[str, str], text: str) -> None:
        for each in self.published:
            if each.number in points(text):
                each.may.add(key)

    def _unsettle(self, key: tuple[str, str]) -> None:
        self.settled.discard(key)
        for each in self.published:
            each.must.discard(key)

    def _disturb(self) -> None:
        self.calm = False
        for each in self.published:
            each.must.clear()

    def _same_tree(self) -> None:
        """In a quiet network everybody knows the links that there are, and so has the same tree."""
        up = {frozenset(link) for link in self.links if link not in self.down}
        there = {
            name: AdjacencyMessage(name, 0, tuple(other for other in self.names if frozenset((name, other)) in up))
            for name in self.names
        }
        for name in self.names:
            assert self.network.broker(name).tree == routes(name, there).tree

    def _reachable(self, broker: str) -> set[str]:
        found, new = {broker}, {broker}
        while new:
            new = {
                end
                for one, other in self.links
                if (one, other) not in self.down
                for end in (one, other)
                if {one, other} & new and end not in found
            }
            found |= new
        return found

    def do(self, action: tuple[Any, ...]) -> None:
        """One action, as it is drawn."""
        getattr(self, action[0])(*action[1:])
