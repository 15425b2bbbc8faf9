"""The matching tree (Aguilera 1999): an index whose work grows more slowly than the number of conjunctions.

A node asks one thing of the event and has an edge for each answer that some conjunction wants, and a *-edge for
those that do not care. `Tree` is the frozen tree that is walked, `GrowingTree` the one to which conjunctions are
added and from which they are removed one at a time; both have the same shape for the same conjunctions.
"""

from vedette.matching.tree.growing import GrowingTree
from vedette.matching.tree.index import Tree
from vedette.matching.tree.options import TreeOptions

__all__ = ["GrowingTree", "Tree", "TreeOptions"]
