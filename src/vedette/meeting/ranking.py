"""Rank what meets, and keep the best few for every publication, or for every subscription.

The key is the overlap (`vedette.meeting.overlap`), an attribute or an expression of attributes
(`vedette.meeting.rank_expressions`), or in Python a function. Of an ascending expression the least value over what
both sides allow counts, of a descending one the greatest. For an attribute that only one side tests, that side's
values count; if neither does, or no number is allowed, the score is NaN, and comes last.

The best of several pairs of disjuncts counts. Equal scores are in the given order of the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.language.valuesets import ValueSet, intersection
from vedette.meeting.allowed_values import AllowedValues, Elements, PlaceTerm
from vedette.meeting.bounds import Reckoner
from vedette.meeting.constraint_parser import Constraint, Disjunct
from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.direction import RankSide, check_per
from vedette.meeting.overlap import OverlapShares
from vedette.meeting.rank_expressions import OVERLAP, RankExpression, read_expression
from vedette.meeting.shapes import common_place
from vedette.schema.schema import Schema

# Publication, subscription, and the values that both allow every attribute of either; largest first.
ScoreFunction: TypeAlias = Callable[[Constraint, Constraint, Mapping[str, AllowedValues]], float]
RankBy: TypeAlias = str | ScoreFunction

_AT_ONCE = 1 << 18  # pairs: bounds the memory


@dataclass(frozen=True, slots=True)
class Ranking:
    """The key, the side for which pairs are ranked, and whether the largest come first."""

    by: RankExpression | ScoreFunction
    per: RankSide
    descending: bool

    @classmethod
    def of(cls, by: RankBy | None, per: RankSide, schema: Schema) -> Ranking:
        """Parse a ranking, the overlap by default; InputError if it is invalid."""
        check_per(per)
        if by is None or isinstance(by, str):
            expression = read_expression(OVERLAP if by is None else by, schema)
            return cls(expression, per, expression.descending)
        if not callable(by):
            hint = "rank by an expression such as 'overlap' or 'price desc', or by a function"
            raise InputError(f"by={by!r} is {type(by).__name__}, which nothing can be ranked by\nHint: {hint}")
        return cls(by, per, True)

    def scores(
        self,
        publications: ConstraintTable,
        subscriptions: ConstraintTable,
        p_disjunct: NDArray[Any],
        s_disjunct: NDArray[Any],
    ) -> NDArray[np.float64]:
        """The scores of pairs of disjuncts that meet; both tables are of one space."""
        p, s = np.asarray(p_disjunct, np.int64), np.asarray(s_disjunct, np.int64)
        if not isinstance(self.by, RankExpression):
            return _called(self.by, publications, subscriptions, p, s)
        reckoner = Reckoner(self.by, publications, subscriptions)
        overlap = None
        if any(map(self.by.is_overlap, self.by.nodes())):
            sides = (publications, p), (subscriptions, s)
            overlap = OverlapShares(*sides) if self.per == "publication" else OverlapShares(*reversed(sides))
        found = np.empty(len(p))
        for first in range(0, len(p), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            found[some] = reckoner.of(p[some], s[some], None if overlap is None else overlap.of(some))
        return found

    def best(
        self, p_owner: NDArray[Any], s_owner: NDArray[Any], scores: NDArray[np.float64], top: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The rows to keep, each pair of constraints once, by the side that is ranked for, and their ranks from 1."""
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
            raise InputError(f"top={top!r} is not a number of matches to keep\nHint: it is 1 or more")
        sides = (p_owner, s_owner) if self.per == "publication" else (s_owner, p_owner)
        side, other = (np.asarray(one, np.int64) for one in sides)
        score = (
            -np.asarray(scores, np.float64) if self.descending else np.asarray(scores, np.float64)
        )  # NaN is sorted to the end either way
        pair = side * (int(other.max(initial=0)) + 1) + other
        rows = np.lexsort((score, pair))
        rows = rows[np.diff(pair[rows], prepend=-1) != 0]
        rows = rows[np.lexsort((score[rows], side[rows]))]
        begin = np.flatnonzero(np.diff(side[rows], prepend=-1))
        rank = np.arange(len(rows)) - np.repeat(begin, np.diff(begin, append=len(rows))) + 1
        kept = slice(None) if top is None else rank <= top
        return rows[kept], rank[kept].astype(np.int32)


def _called(
    score: ScoreFunction,
    publications: ConstraintTable,
    subscriptions: ConstraintTable,
    p: NDArray[np.int64],
    s: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The values of a function for each pair."""
    found = np.empty(len(p))
    for row, (mine, theirs) in enumerate(zip(p.tolist(), s.tolist(), strict=True)):
        (one, part), (other, other_part) = _read(publications, mine), _read(subscriptions, theirs)
        value = score(one, other, shared_values(part, other_part))
        try:
            found[row] = float(value)
        except (TypeError, ValueError):
            hint = "let it return a float; the largest come first"
            raise InputError(f"the function to rank by returned {value!r}, which is no number\nHint: {hint}") from None
    return found


def _read(table: ConstraintTable, disjunct: int) -> tuple[Constraint, Disjunct]:
    owner = int(table.owner[disjunct])
    constraint = table.constraints[owner]
    return constraint, constraint.disjuncts[disjunct - int(np.searchsorted(table.owner, owner))]


def shared_values(one: Disjunct, other: Disjunct) -> dict[str, AllowedValues]:
    """The values that two meeting disjuncts both allow, by attribute; a disjunct without a test allows all."""
    found = {term.attribute: term.allowed for term in one.terms}
    for term in other.terms:
        mine = found.get(term.attribute)
        found[term.attribute] = term.allowed if mine is None else both_allow(mine, term.allowed)
    return found


def both_allow(one: AllowedValues, other: AllowedValues) -> AllowedValues:
    """The common values of two that meet; of lists that need not have equal elements, the elements that both name."""
    if isinstance(one, ValueSet) and isinstance(other, ValueSet):
        return intersection(one, other)
    if isinstance(one, ValueSet):  # of a list or place it says only that there is one
        return other
    if isinstance(other, ValueSet):
        return one
    if isinstance(one, Elements) and isinstance(other, Elements):
        every = one.quantifier == other.quantifier == "all"
        return Elements("all" if every else "any", intersection(one.values, other.values))
    if isinstance(one, PlaceTerm) and isinstance(other, PlaceTerm):
        return common_place(one, other)
    raise TypeError("an attribute is a list or a place, not both")
