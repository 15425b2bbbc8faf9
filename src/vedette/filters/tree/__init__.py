"""The matching tree (Aguilera 1999): an index whose work grows more slowly than the number of conjunctions.

A node tests one thing of the event and has an edge for each result that some conjunction needs, and a *-edge for
conjunctions that do not test it.
"""

from vedette.filters.tree.index import MatchingTree, TreeOptions

__all__ = ["MatchingTree", "TreeOptions"]
