"""Meet all publications with all subscriptions, once: which pairs meet, and which are the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import FilterError, InputError
from vedette.filters.subscription_set import schema_of
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import Direction, RankSide, check_direction, check_per
from vedette.meeting.given import (
    ConstraintRecord,
    ConstraintsInput,
    RejectedConstraint,
    Rejects,
    current_records,
    read_all,
)
from vedette.meeting.inference import Inference, inferred_schema
from vedette.meeting.meeting_index import MeetingIndex
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.meeting.ranking import Ranking


def meet(
    publications: ConstraintsInput,
    subscriptions: ConstraintsInput,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    direction: Direction = "publication",
    top: int | None = None,
    by: str | Callable[..., float] | None = None,
    per: RankSide = "publication",
    rejects: list[RejectedConstraint] | None = None,
) -> pa.Table:
    """Meet publications with subscriptions; a table of `publication` and `subscription`, in the given order of both.

    Both sides are constraints: id -> text, or records with `id` and `when`. Without a schema an attribute has the type
    that the constants of both sides suggest. `direction` says whose attributes have to be present: every one of the
    publication in the subscription (as in the paper), the other way round, or (`open`) only shared ones count.

    With `top` or `by` the best are kept: `top` of them for every publication (`per`: or subscription), by "overlap",
    an attribute ("price", "-price"), an expression or a function; the table then has their `rank` and `score`, too.

    Invalid constraints are an error, or, if a list is given as `rejects`, are put there and meet nothing. Without a
    schema, the first constraint with an attribute then decides whether it is a number, a text, …
    """
    check_direction(direction)
    check_per(per)
    aside: Rejects | None = None if rejects is None else []
    offered, wanted = (
        current_records(publications, "publication", aside),
        current_records(subscriptions, "subscription", aside),
    )
    sides = {"publication": offered, "subscription": wanted}
    known = schema_of(schema) if schema is not None else _inferred(sides, aside)
    reader, space = Constraints(known), AttributeSpace()
    one, other = (read_all(records, reader, side, space, aside) for side, records in sides.items())
    ranking = ranking_of(top, by, per, known)
    found = MeetingTables.of(one, other).pairs(direction)
    if rejects is not None and aside:
        rejects += sorted(aside, key=lambda each: (each.side, each.row))
    return table_of(found, list(offered), list(wanted), ranking, top)


def _inferred(sides: Mapping[str, dict[str, ConstraintRecord]], aside: Rejects | None) -> Schema:
    if aside is None:
        named = [(f"{side} {id_!r}", record.when) for side, records in sides.items() for id_, record in records.items()]
        return inferred_schema([when for _, when in named], [name for name, _ in named])
    inference = Inference()
    for side, records in sides.items():
        for record in list(records.values()):
            try:
                inference.add(record.when, f"{side} {record.id!r}")
            except FilterError as error:
                aside.append(RejectedConstraint(side, record.row, record.id, str(error)))
                del records[record.id]
    return inference.schema()


def ranking_of(top: int | None, by: str | Callable[..., float] | None, per: RankSide, schema: Schema) -> Ranking | None:
    """The ranking, if there is to be one; InputError if it is invalid."""
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InputError(f"top={top!r} is no number of rows to keep\nHint: it is 1 or more")
    if top is None and by is None:
        return None
    from vedette.meeting.ranking import Ranking

    return Ranking.of(by, per, schema)


@dataclass(frozen=True, slots=True)
class MeetingPairs:
    """Disjuncts that meet, and their tables."""

    publications: ConstraintTable
    subscriptions: ConstraintTable
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


class MeetingTables:
    """The tables of both sides: the larger one is indexed, the smaller one probes it."""

    def __init__(self, publications: ConstraintTable, subscriptions: ConstraintTable) -> None:
        self._publications, self._subscriptions = publications, subscriptions
        self._standing: RankSide = "subscription"
        if len(publications.owner) > len(subscriptions.owner):
            self._standing = "publication"
        self._index = MeetingIndex(publications if self._standing == "publication" else subscriptions)

    @classmethod
    def of(cls, publications: Sequence[Constraint], subscriptions: Sequence[Constraint]) -> MeetingTables:
        """Build the tables from the constraints of both sides."""
        space = AttributeSpace()
        slots = space.slots([*publications, *subscriptions])
        return cls(ConstraintTable.of(publications, space, slots), ConstraintTable.of(subscriptions, space, slots))

    def pairs(self, direction: Direction) -> MeetingPairs:
        """The pairs of disjuncts that meet."""
        if self._standing == "subscription":
            one, other = self._index.pairs(self._publications, direction, "subscription")
        else:
            other, one = self._index.pairs(self._subscriptions, direction, "publication")
        return MeetingPairs(self._publications, self._subscriptions, one, other)


def table_of(
    found: MeetingPairs,
    publications: Sequence[str],
    subscriptions: Sequence[str],
    ranking: Ranking | None,
    top: int | None,
) -> pa.Table:
    """The table of ids that meet, ranked if required."""
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
