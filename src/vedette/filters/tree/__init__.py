"""The matching tree (Aguilera 1999): an index whose work grows more slowly than the number of conjunctions.

A node tests one thing of the event and has an edge for each result that some conjunction needs, and a *-edge for
conjunctions that do not test it. `MatchingTree` is the frozen tree that is walked, `GrowingTree` the one to which
conjunctions are added and from which they are removed one at a time; both have the same shape for the same
conjunctions.
"""

from vedette.filters.tree.growing_tree import GrowingTree
from vedette.filters.tree.index import MatchingTree
from vedette.filters.tree.tree_options import TreeOptions

__all__ = ["GrowingTree", "MatchingTree", "TreeOptions"]
