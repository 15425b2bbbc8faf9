"""Planners as one would write them on paper: what the kernels are held against.

Alternatives are lists of predicates; `truth` says which predicates hold. Each planner returns what it evaluates, in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Alternatives = Sequence[Sequence[int]]
Truth = Sequence[bool]


def settled(alternative: Sequence[int], known: dict[int, bool]) -> bool | None:
    """Whether it matches; None: undecided."""
    if any(known.get(each) is False for each in alternative):
        return False
    return True if all(each in known for each in alternative) else None


def naive(alternatives: Alternatives, truth: Truth) -> list[int]:
    """§5.2: each by itself, from its first predicate to one that fails; what was evaluated before is not again."""
    known: dict[int, bool] = {}
    for alternative in alternatives:
        for predicate in alternative:
            known.setdefault(predicate, truth[predicate])
            if not known[predicate]:
                break
    return list(known)


def sequential(alternatives: Alternatives, truth: Truth) -> list[int]:
    """Algorithm 1."""
    known: dict[int, bool] = {}
    for picked in alternatives:
        if settled(picked, known) is not None:
            continue
        for predicate in picked:
            if predicate not in known and any(
                predicate in each and settled(each, known) is None for each in alternatives
            ):
                known[predicate] = truth[predicate]
    return list(known)


def suborder(alternatives: Alternatives, truth: Truth) -> list[int]:
    """§4.2.2: down one chain after another, as they are given; a chain that is settled is left."""
    known: dict[int, bool] = {}
    for chain in alternatives:
        for predicate in chain:
            if settled(chain, known) is None and predicate not in known:
                known[predicate] = truth[predicate]
    return list(known)


def adaptive(
    alternatives: Alternatives, truth: Truth, selectivity: Sequence[float], cost: Sequence[float]
) -> list[int]:
    """What some undecided alternative lacks alone; else what is expected to settle most of them for its cost.

    Alternatives count by how little their predicates promise: those are hard to settle otherwise.
    """
    promised = [(1 - p) / c for p, c in zip(selectivity, cost, strict=True)]
    weight = {id(one): sum(promised[each] for each in one) ** -1.5 for one in alternatives}
    known: dict[int, bool] = {}
    while undecided := [each for each in alternatives if settled(each, known) is None]:
        open_ = [[each for each in one if each not in known] for one in undecided]
        alone = [one[0] for one in open_ if len(one) == 1]
        asked = {each for one in open_ for each in one}
        worth = {each: sum(weight[id(one)] for one in undecided if each in one) for each in asked}
        best = max(asked, key=lambda each: worth[each] * promised[each])
        chosen = alone[0] if alone else best
        known[chosen] = truth[chosen]
    return list(known)


BY_NAME: dict[str, Callable[[Alternatives, Truth], list[int]]] = {
    "naive": naive,
    "sequential": sequential,
    "suborder": suborder,
}
