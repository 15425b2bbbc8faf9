"""Which links do subscriptions and events travel over? Those of one spanning tree, which all brokers agree on.

Every broker tells all others whom it is linked to, and each works out the same tree from that: links in the order of
their names, each taken unless its ends are joined already. When a link of the tree goes down one other takes its
place, and when it comes back it is taken again; all other links stay what they were.

One tree for all is needed because of covering. If each subscription went its own way, by whichever path was quickest,
one could be held back at two links because of two others that came round the other way, and events would circle
between those two brokers and never reach the third: a ring of five is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vedette.overlay.messages import Adjacency


class Routes(NamedTuple):
    """A broker's part of the tree."""

    tree: frozenset[str]  # the neighbours that it is joined to by links of the tree
    reachable: frozenset[str]  # every broker that there is a way to, itself among them


def routes(me: str, known: Mapping[str, Adjacency]) -> Routes:
    """The tree as it follows from what is known; a link is there if both ends say so."""
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


def _links(known: Mapping[str, Adjacency]) -> list[tuple[str, str]]:
    said = {(each.broker, neighbour) for each in known.values() for neighbour in each.neighbours}
    return sorted((one, other) for one, other in said if one < other and (other, one) in said)
