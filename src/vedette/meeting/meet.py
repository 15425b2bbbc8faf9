"""All publications against all subscriptions, once: who meets whom, and who meets best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.matching.subscriptions import schema_of
from vedette.meeting.direction import Direction, Per, check_direction, check_per
from vedette.meeting.given import Given, read_all, texts_of
from vedette.meeting.index import Index
from vedette.meeting.inference import inferred_schema
from vedette.meeting.reading import Constraint, Constraints
from vedette.meeting.table import Space, Table
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.meeting.ranking import Ranking


def meet(
    publications: Given,
    subscriptions: Given,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    direction: Direction = "publication",
    top: int | None = None,
    by: str | Callable[..., float] | None = None,
    per: Per = "publication",
) -> pa.Table:
    """Who meets whom: a table of `publication` and `subscription`, in the order in which both were given.

    Both sides are constraints: id -> text, or records with `id` and `when`. Without a schema an attribute has the type
    that the constants of both sides suggest. `direction` says whose attributes have to be there: every one of the
    publication in the subscription (as the paper has it), the other way round, or (`open`) only shared ones count.

    With `top` or `by` the best are kept: `top` of them for every publication (`per`: or subscription), by "overlap",
    an attribute ("price", "-price"), an expression or a function; the table then has their `rank` and `score`, too.
    """
    check_direction(direction)
    check_per(per)
    offered, wanted = texts_of(publications, "publication"), texts_of(subscriptions, "subscription")
    known = schema_of(schema) if schema is not None else _inferred(offered, wanted)
    reader = Constraints(known)
    made = read_all(offered, reader, "publication"), read_all(wanted, reader, "subscription")
    ranking = ranking_of(top, by, per, known)
    found = Sides.of(*made).pairs(direction)
    return table_of(found, list(offered), list(wanted), ranking, top)


def _inferred(offered: Mapping[str, str], wanted: Mapping[str, str]) -> Schema:
    names = [*(f"publication {id_!r}" for id_ in offered), *(f"subscription {id_!r}" for id_ in wanted)]
    return inferred_schema([*offered.values(), *wanted.values()], names)


def ranking_of(top: int | None, by: str | Callable[..., float] | None, per: Per, schema: Schema) -> Ranking | None:
    """How to rank, if that is asked for; InputError if it makes no sense."""
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InputError(f"top={top!r} is no number of rows to keep\nHint: it is 1 or more")
    if top is None and by is None:
        return None
    from vedette.meeting.ranking import Ranking

    return Ranking.of(by, per, schema)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Disjuncts that meet, and the tables they are of."""

    publications: Table
    subscriptions: Table
    publication: NDArray[np.int32]
    subscription: NDArray[np.int32]

    @property
    def owners(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The constraints of the disjuncts."""
        return self.publications.owner[self.publication], self.subscriptions.owner[self.subscription]

    def constraints(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The constraints that meet, each pair once, in order."""
        one, other = self.owners
        width = max(1, len(self.subscriptions.constraints))
        together = one.astype(np.int64) * width + other
        # Where publications probe, and each has one disjunct, they come in order, and once.
        if len(together) < 2 or bool((together[1:] > together[:-1]).all()):
            return one, other
        together.sort()
        together = together[np.diff(together, prepend=-1) > 0]
        first = together // width
        return first, together - first * width


class Sides:
    """Both sides made ready: the larger one is standing, the smaller one probes it."""

    def __init__(self, publications: Table, subscriptions: Table) -> None:
        self._publications, self._subscriptions = publications, subscriptions
        self._standing: Per = "subscription"
        if len(publications.owner) > len(subscriptions.owner):
            self._standing = "publication"
        self._index = Index(publications if self._standing == "publication" else subscriptions)

    @classmethod
    def of(cls, publications: Sequence[Constraint], subscriptions: Sequence[Constraint]) -> Sides:
        """From the constraints of both."""
        space = Space()
        slots = space.slots([*publications, *subscriptions])
        return cls(Table.of(publications, space, slots), Table.of(subscriptions, space, slots))

    def pairs(self, direction: Direction) -> Pairs:
        """Which disjuncts meet."""
        if self._standing == "subscription":
            one, other = self._index.pairs(self._publications, direction, "subscription")
        else:
            other, one = self._index.pairs(self._subscriptions, direction, "publication")
        return Pairs(self._publications, self._subscriptions, one, other)


def table_of(
    found: Pairs, publications: Sequence[str], subscriptions: Sequence[str], ranking: Ranking | None, top: int | None
) -> pa.Table:
    """What meets, by the names of both, and ranked where that is asked for."""
    if ranking is None:
        one, other = found.constraints()
        return pa.table({"publication": _named(publications, one), "subscription": _named(subscriptions, other)})
    scores = ranking.scores(found.publications, found.subscriptions, found.publication, found.subscription)
    p_owner, s_owner = found.owners
    kept, rank = ranking.best(p_owner, s_owner, scores, top)
    return pa.table(
        {
            "publication": _named(publications, p_owner[kept]),
            "subscription": _named(subscriptions, s_owner[kept]),
            "rank": pa.array(rank, pa.int32()),
            "score": pa.array(scores[kept], pa.float64()),
        }
    )


def _named(ids: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
    return pa.array(ids, pa.string()).take(pa.array(numbers))
