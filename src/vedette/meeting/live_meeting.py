"""Live meeting: publications and subscriptions are added, expire and are withdrawn, and a new one meets the others.

A side keeps its constraints in immutable segments, each with an index of its own. The latest ones are collected
and become a segment with the next lookup. Of two segments the smaller has less than half the size of the larger, or
they are merged, so that a constraint is indexed a number of times that grows with the logarithm of their number.
"""

from __future__ import annotations

import datetime as dt
import heapq
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import FilterError, InputError, UnknownSubscription
from vedette.filters.subscription_set import schema_of
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import Direction, RankSide, check_direction, check_per
from vedette.meeting.given import ConstraintsInput, RejectedConstraint, Rejects, moment_of, now, records_of
from vedette.meeting.meet import MeetingPairs, ranking_of, table_of
from vedette.meeting.meeting_index import MeetingIndex
from vedette.schema.columns import Column
from vedette.schema.schema import Schema


class _ConstraintSegment:
    """Constraints that were added together; some may have been removed."""

    def __init__(self, ids: Sequence[str], constraints: Sequence[Constraint], space: AttributeSpace) -> None:
        self.ids = list(ids)
        self.index = MeetingIndex(ConstraintTable.of(constraints, space))
        self.constraints = constraints
        self.there = np.ones(len(ids), np.bool_)
        self.left = len(ids)

    def __len__(self) -> int:
        return self.left


class _StoredConstraint:
    """A constraint, its segment, and its time to expire."""

    __slots__ = ("constraint", "expires", "order", "place", "segment")

    def __init__(self, constraint: Constraint, expires: dt.datetime | None, order: int) -> None:
        self.constraint = constraint
        self.expires = expires
        self.order = order
        self.segment: _ConstraintSegment | None = None  # not laid out yet
        self.place = -1


class Side:
    """The current publications, or the current subscriptions."""

    def __init__(self, meeting: Meeting, name: RankSide) -> None:
        self._meeting = meeting
        self._name = name
        self._standing: dict[str, _StoredConstraint] = {}
        self._segments: list[_ConstraintSegment] = []
        self._fresh: dict[str, None] = {}
        self._due: list[tuple[dt.datetime, int, str]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._standing)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._standing

    def __iter__(self) -> Iterator[str]:
        return iter(self._standing)

    def __repr__(self) -> str:
        return f"<{len(self):,} {self._name}s>"

    def text(self, id_: str) -> str:
        """The text of a constraint."""
        return self._one(id_).constraint.text

    def expires(self, id_: str) -> dt.datetime | None:
        """The time when it expires; None: it is kept until it is removed."""
        return self._one(id_).expires

    # ------------------------------------------------------------ changes

    def add(self, id_: str, when: str, *, expires: dt.datetime | str | None = None) -> list[str]:
        """Add a constraint; return the ids of those of the other side that it meets, in the order in which they came.

        One that has expired already is not added, and meets nothing.

        InputError if the id is taken or `expires` is no time, FilterError if the text is invalid: nothing changes.
        """
        with self._meeting.lock:
            found = self._meeting.met_by(self, self._take([{"id": id_, "when": when, "expires": expires}]))
        return found[0] if found else []

    def take(self, id_: str, when: str) -> None:
        """Add a constraint without meeting it; use `meets` for that later; raises the errors of `add`."""
        with self._meeting.lock:
            self._take([{"id": id_, "when": when}])

    def add_many(self, records: ConstraintsInput, *, rejects: list[RejectedConstraint] | None = None) -> pa.Table:
        """Add records with `id`, `when` and perhaps `expires` (or id -> text): all, or none if one is wrong.

        If a list is given as `rejects`, wrong records are put there, and the others are added.

        Returns the constraints of the other side that they meet: a table of `publication` and `subscription`, in the
        order of the records, and for each in the order in which the others came.
        """
        with self._meeting.lock:
            aside: Rejects | None = None if rejects is None else []
            taken = self._take(records, aside)
            if rejects is not None and aside:
                rejects += sorted(aside, key=lambda each: each.row)
            met = self._meeting.met_by(self, taken)
        mine = [one for one, others in zip(taken, met, strict=True) for _ in others]
        theirs = [each for others in met for each in others]
        columns = (mine, theirs) if self._name == "publication" else (theirs, mine)
        return pa.table(
            dict(zip(("publication", "subscription"), (pa.array(c, pa.string()) for c in columns), strict=True))
        )

    def meets(self, when: str) -> list[str]:
        """The ids of those of the other side that a constraint would meet, if it came now; it is not added.

        FilterError if the text is invalid, or disagrees with others about the type of an attribute.
        """
        with self._meeting.lock:
            self._meeting.expire()
            columns: dict[str, Column] = {}
            constraint = self._meeting.read(when, columns)
            space = self._meeting.space.copy()
            for column in columns.values():
                space.number(column)
            return self._meeting.met(
                self, 1, lambda segment: ConstraintTable.of([constraint], space, segment.index.slots)
            )[0]

    def remove(self, id_: str) -> None:
        """Remove a constraint; UnknownSubscription if there is none of this id."""
        with self._meeting.lock:
            self._drop(id_, self._one(id_))

    def expire(self, now: dt.datetime | None = None) -> list[str]:
        """Remove expired constraints, and return their ids in the order of their times."""
        with self._meeting.lock:
            moment = self._meeting.clock() if now is None else moment_of(now)
            gone = []
            while self._due and self._due[0][0] <= moment:
                _, order, id_ = heapq.heappop(self._due)
                standing = self._standing.get(id_)
                if standing is not None and standing.order == order:
                    self._drop(id_, standing)
                    gone.append(id_)
            return gone

    def _one(self, id_: str) -> _StoredConstraint:
        found = self._standing.get(id_)
        if found is None:
            raise UnknownSubscription(f"there is no {self._name} {id_!r}")
        return found

    def _take(self, given: ConstraintsInput, rejects: Rejects | None = None) -> list[str]:
        """Add constraints; expired ones are removed first, and are not added."""
        now = self._meeting.clock()
        self._meeting.expire(now)
        made: dict[str, _StoredConstraint] = {}
        columns: dict[str, Column] = {}
        for record in records_of(given, self._name, rejects):
            try:
                if record.id in self._standing or record.id in made:
                    raise InputError(
                        f"the id {record.id!r} is taken by another {self._name}\n"
                        "Hint: remove it first, or give every one its own"
                    )
                constraint = self._meeting.read(record.when, columns)
            except InputError as error:
                if rejects is None:
                    if isinstance(error, FilterError):
                        raise error.of(f"{self._name} {record.id!r}") from None
                    raise
                rejects.append(RejectedConstraint(self._name, record.row, record.id, str(error)))
            else:
                made[record.id] = _StoredConstraint(constraint, record.expires, 0)
        made = {id_: one for id_, one in made.items() if one.expires is None or one.expires > now}
        for column in columns.values():
            self._meeting.space.number(column)
        for id_, standing in made.items():
            standing.order = self._arrivals
            self._arrivals += 1
            if standing.expires is not None:
                heapq.heappush(self._due, (standing.expires, standing.order, id_))
        self._standing |= made
        self._fresh |= dict.fromkeys(made)
        return list(made)

    def _drop(self, id_: str, standing: _StoredConstraint) -> None:
        del self._standing[id_]
        self._fresh.pop(id_, None)
        segment = standing.segment
        if segment is None:
            return
        segment.there[standing.place] = False
        segment.left -= 1
        if not segment.left:
            self._segments.remove(segment)
        elif segment.left < len(segment.there) // 2:
            self._segments.remove(segment)
            self._lay_out(_there(segment))
            self._merge()

    # ------------------------------------------------------------ segments

    def segments(self) -> Sequence[_ConstraintSegment]:
        """All current constraints, in segments."""
        if self._fresh:
            self._lay_out(list(self._fresh))
            self._fresh.clear()
            self._merge()
        return self._segments

    def _lay_out(self, ids: list[str]) -> None:
        standing = [self._standing[id_] for id_ in ids]
        segment = _ConstraintSegment(ids, [one.constraint for one in standing], self._meeting.space)
        for place, one in enumerate(standing):
            one.segment, one.place = segment, place
        self._segments.append(segment)

    def _merge(self) -> None:
        """Merge the last segments while they are of similar size."""
        while True:
            self._segments.sort(key=len, reverse=True)
            if len(self._segments) < 2 or 2 * len(self._segments[-1]) < len(self._segments[-2]):
                return
            small, large = self._segments.pop(), self._segments.pop()
            self._lay_out(_there(large) + _there(small))

    def table(self, ids: Sequence[str], segment: _ConstraintSegment) -> ConstraintTable:
        """Some of this side's constraints, as probes of a segment of the other."""
        return ConstraintTable.of(
            [self._standing[id_].constraint for id_ in ids], self._meeting.space, segment.index.slots
        )

    def constraint(self, id_: str) -> Constraint:
        """A constraint by its id."""
        return self._one(id_).constraint

    def order(self, id_: str) -> int:
        """The ordinal of a constraint's arrival."""
        return self._standing[id_].order


def _there(segment: _ConstraintSegment) -> list[str]:
    return [id_ for id_, there in zip(segment.ids, segment.there, strict=True) if there]


class Meeting:
    """The current publications and subscriptions, both of them constraints, and their meetings.

    >>> auction = Meeting({"lot": "int", "price": "float"})
    >>> auction.subscriptions.add("buyer", "lot >= 5000 and price <= 1.10")
    []
    >>> auction.publications.add("seller", "lot between 1000 and 10000 and price = 1.00")
    ['buyer']

    Expired ones, by the `clock`, are removed before anything else is done. Any number of threads may use a meeting;
    their operations are done one after the other.
    """

    def __init__(
        self,
        schema: Schema | Mapping[str, Any] | None = None,
        *,
        direction: Direction = "publication",
        clock: Callable[[], dt.datetime] = now,
    ) -> None:
        check_direction(direction)
        self.clock = clock
        self.schema = schema_of(schema)
        self.direction = direction
        self.space = AttributeSpace()
        self.lock = threading.RLock()
        self._constraints = Constraints(self.schema)
        self.publications = Side(self, "publication")
        self.subscriptions = Side(self, "subscription")

    def __repr__(self) -> str:
        sides = f"{len(self.publications):,} publications, {len(self.subscriptions):,} subscriptions"
        return f"<Meeting of {sides}, direction {self.direction}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td style='text-align:right'>{len(side):,}</td></tr>"
            for name, side in (("publications", self.publications), ("subscriptions", self.subscriptions))
        )
        return f"<table><caption>Meeting, direction {self.direction}</caption>{rows}</table>"

    def pairs(
        self, *, top: int | None = None, by: str | Callable[..., float] | None = None, per: RankSide = "publication"
    ) -> pa.Table:
        """All current meetings, in the form of `vedette.meet`."""
        check_per(per)
        ranking = ranking_of(top, by, per, self.schema)
        with self.lock:
            self.expire()
            ids = list(self.publications), list(self.subscriptions)
            made = [[side.constraint(id_) for id_ in side] for side in (self.publications, self.subscriptions)]
        space = AttributeSpace()
        slots = space.slots([*made[0], *made[1]])
        tables = [ConstraintTable.of(each, space, slots) for each in made]
        one, other = MeetingIndex(tables[1]).pairs(tables[0], self.direction, "subscription")
        return table_of(MeetingPairs(tables[0], tables[1], one, other), *ids, ranking, top)

    def expire(self, now: dt.datetime | None = None) -> tuple[list[str], list[str]]:
        """Remove expired publications and subscriptions, and return their ids."""
        with self.lock:
            moment = self.clock() if now is None else moment_of(now)
            return self.publications.expire(moment), self.subscriptions.expire(moment)

    def read(self, text: str, beside: dict[str, Column]) -> Constraint:
        """Parse a text as a constraint whose attributes have the types that they have already, here or in `beside`."""
        constraint = self._constraints.read(text)
        self.space.check(constraint, beside)
        return constraint

    def met_by(self, side: Side, ids: Sequence[str]) -> list[list[str]]:
        """For each of these constraints of this side, the ids of the other side that it meets, in order of arrival."""
        return self.met(side, len(ids), lambda segment: side.table(ids, segment))

    def met(
        self, side: Side, count: int, probes_of: Callable[[_ConstraintSegment], ConstraintTable]
    ) -> list[list[str]]:
        """As `met_by`, for so many constraints of this side, used as probes of each segment of the other."""
        other = self.subscriptions if side is self.publications else self.publications
        found: list[list[tuple[int, str]]] = [[] for _ in range(count)]
        for segment in other.segments():
            probes = probes_of(segment)
            name: RankSide = "subscription" if other is self.subscriptions else "publication"
            met: set[tuple[int, int]] = set()
            for probe, standing in segment.index.parts(probes, self.direction, name):
                met |= _alive(segment, probes, probe, standing)
            for mine, theirs in met:
                id_ = segment.ids[theirs]
                found[mine].append((other.order(id_), id_))
        return [[id_ for _, id_ in sorted(each)] for each in found]


def _alive(
    segment: _ConstraintSegment, probes: ConstraintTable, probe: NDArray[np.int32], met: NDArray[np.int32]
) -> set[tuple[int, int]]:
    """Pairs of constraints from pairs of disjuncts, without removed constraints of the segment."""
    owner = segment.index.table.owner[met]
    there = segment.there[owner]
    count = len(segment.ids)
    pairs = np.unique(probes.owner[probe][there].astype(np.int64) * count + owner[there])
    return set(zip((pairs // count).tolist(), (pairs % count).tolist(), strict=True))
