"""The switches of the matching tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """The optimisations of Aguilera 1999, §5, and the total order. None of them changes an answer."""

    collapse: bool = True
    """An edge leads past nodes that only a *-edge leaves."""

    successors: bool = False
    """Successor sets are computed ahead for the equality form: fewer tests, but more space, and measured slower."""

    refine: bool = False
    """Successor sets leave out nodes where the test that has just failed must fail again."""

    index: int | tuple[int, ...] = 0
    """Factor out these columns, or so many of the best: one tree for each combination of their values."""

    order: tuple[int, ...] | None = None
    """Columns in the order of their tests, before all others; None: chosen from the conjunctions and the sample."""
