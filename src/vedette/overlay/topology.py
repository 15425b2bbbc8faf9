"""The spanning tree over which subscriptions and events travel, on which all brokers agree.

Every broker announces its links to all others, and each computes the same tree from that: links in the order of
their names, each taken unless its ends are joined already. When a link of the tree goes down one other takes its
place, and when it comes back it is used again; all other links of the tree stay.

One tree for all is needed because of covering. If each subscription took its own way, by whichever path was fastest,
one could be held back at two links because of two others that came round the other way, and events would circle
between those two brokers and never reach the third: a ring of five is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vedette.overlay.messages import AdjacencyMessage


class Routes(NamedTuple):
    """A broker's part of the tree."""

    tree: frozenset[str]  # the neighbours that it is joined to by links of the tree
    reachable: frozenset[str]  # every broker that there is a way to, itself among them


def routes(me: str, known: Mapping[str, AdjacencyMessage]) -> Routes:
    """The tree, computed from the announcements; a link exists if both ends announce it."""
    groups: dict[str, set[str]] = {name: {name} for name in {me, *known}}
    tree = set()
    for one, other in _links(known):
        mine, others = groups[one], groups[other]
        if mine is others:
            continue
        mine |= others
        for name in others:
            groups[name] = mine
        if me in (one, other):
            tree.add(other if me == one else one)
    return Routes(frozenset(tree), frozenset(groups[me]))


def _links(known: Mapping[str, AdjacencyMessage]) -> list[tuple[str, str]]:
    said = {(each.broker, neighbour) for each in known.values() for neighbour in each.neighbours}
    return sorted((one, other) for one, other in said if one < other and (other, one) in said)
