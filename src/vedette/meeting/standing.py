"""Both sides stand: publications and subscriptions come, expire and are withdrawn, and a new one meets the others.

A side keeps its constraints in segments that never change, each with an index of its own. What came last is gathered
and made a segment when it is first asked about. Of two segments the smaller has less than half of the larger, or they
are made one, so that a constraint is laid out anew a number of times that grows with the logarithm of how many stand.
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
from vedette.matching.subscriptions import schema_of
from vedette.meeting.direction import Direction, Per, check_direction, check_per
from vedette.meeting.given import Given, Record, moment_of, now, records_of
from vedette.meeting.index import Index
from vedette.meeting.meet import Pairs, ranking_of, table_of
from vedette.meeting.reading import Constraint, Constraints
from vedette.meeting.table import Space, Table
from vedette.schema.columns import Column
from vedette.schema.schema import Schema


class _Segment:
    """Constraints that came together; some may be gone."""

    def __init__(self, ids: Sequence[str], constraints: Sequence[Constraint], space: Space) -> None:
        self.ids = list(ids)
        self.index = Index(Table.of(constraints, space))
        self.constraints = constraints
        self.there = np.ones(len(ids), np.bool_)
        self.left = len(ids)

    def __len__(self) -> int:
        return self.left


class _Standing:
    """A constraint, where it is, and until when."""

    __slots__ = ("constraint", "expires", "order", "place", "segment")

    def __init__(self, constraint: Constraint, expires: dt.datetime | None, order: int) -> None:
        self.constraint = constraint
        self.expires = expires
        self.order = order
        self.segment: _Segment | None = None  # not laid out yet
        self.place = -1


class Side:
    """The publications, or the subscriptions, that stand."""

    def __init__(self, meeting: Meeting, name: Per) -> None:
        self._meeting = meeting
        self._name = name
        self._standing: dict[str, _Standing] = {}
        self._segments: list[_Segment] = []
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
        """What it says."""
        return self._one(id_).constraint.text

    def expires(self, id_: str) -> dt.datetime | None:
        """Until when it stands; None: until it is removed."""
        return self._one(id_).expires

    # ------------------------------------------------------------ changes

    def add(self, id_: str, when: str, *, expires: dt.datetime | str | None = None) -> list[str]:
        """Take it up; the ids of those of the other side that it meets, in the order in which they came.

        One whose time is over already is not taken up, and meets nobody.

        InputError if the id is taken or `expires` is no time, FilterError if the text makes no sense: nothing changes.
        """
        with self._meeting.lock:
            found = self._meeting.met_by(self, self._take([{"id": id_, "when": when, "expires": expires}]))
        return found[0] if found else []

    def add_many(self, records: Given) -> pa.Table:
        """Take up records with `id`, `when` and perhaps `expires` (or id -> text): all, or none if one is wrong.

        Returns what they meet of the other side: a table of `publication` and `subscription`, in the order of the
        records, and for each in the order in which the others came.
        """
        with self._meeting.lock:
            taken = self._take(records)
            met = self._meeting.met_by(self, taken)
        mine = [one for one, others in zip(taken, met, strict=True) for _ in others]
        theirs = [each for others in met for each in others]
        columns = (mine, theirs) if self._name == "publication" else (theirs, mine)
        return pa.table(
            dict(zip(("publication", "subscription"), (pa.array(c, pa.string()) for c in columns), strict=True))
        )

    def remove(self, id_: str) -> None:
        """Withdraw it; UnknownSubscription if it does not stand."""
        with self._meeting.lock:
            self._drop(id_, self._one(id_))

    def expire(self, now: dt.datetime | None = None) -> list[str]:
        """Withdraw those whose time is over, and return their ids in the order of their times."""
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

    def _one(self, id_: str) -> _Standing:
        found = self._standing.get(id_)
        if found is None:
            raise UnknownSubscription(f"there is no {self._name} {id_!r}")
        return found

    def _take(self, given: Given) -> list[str]:
        """Those that stand now; whose time is over leaves first, and is not taken up."""
        now = self._meeting.clock()
        self._meeting.expire(now)
        made: dict[str, _Standing] = {}
        columns: dict[str, Column] = {}
        for record in records_of(given, self._name):
            id_, standing = self._read(record, columns)
            if id_ in self._standing or id_ in made:
                raise InputError(
                    f"the id {id_!r} is taken by another {self._name}\nHint: remove it first, or give every one its own"
                )
            made[id_] = standing
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

    def _read(self, record: Record, columns: dict[str, Column]) -> tuple[str, _Standing]:
        try:
            constraint = self._meeting.read(record.when, columns)
        except FilterError as error:
            raise error.of(f"{self._name} {record.id!r}") from None
        return record.id, _Standing(constraint, record.expires, 0)

    def _drop(self, id_: str, standing: _Standing) -> None:
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

    def segments(self) -> Sequence[_Segment]:
        """All that stands, laid out."""
        if self._fresh:
            self._lay_out(list(self._fresh))
            self._fresh.clear()
            self._merge()
        return self._segments

    def _lay_out(self, ids: list[str]) -> None:
        standing = [self._standing[id_] for id_ in ids]
        segment = _Segment(ids, [one.constraint for one in standing], self._meeting.space)
        for place, one in enumerate(standing):
            one.segment, one.place = segment, place
        self._segments.append(segment)

    def _merge(self) -> None:
        """Make the last ones one while they are of a size."""
        while True:
            self._segments.sort(key=len, reverse=True)
            if len(self._segments) < 2 or 2 * len(self._segments[-1]) < len(self._segments[-2]):
                return
            small, large = self._segments.pop(), self._segments.pop()
            self._lay_out(_there(large) + _there(small))

    def table(self, ids: Sequence[str], segment: _Segment) -> Table:
        """Some of this side as probes of a segment of the other."""
        return Table.of([self._standing[id_].constraint for id_ in ids], self._meeting.space, segment.index.slots)

    def constraint(self, id_: str) -> Constraint:
        """What it asks for."""
        return self._one(id_).constraint

    def order(self, id_: str) -> int:
        """As the how manieth it came."""
        return self._standing[id_].order


def _there(segment: _Segment) -> list[str]:
    return [id_ for id_, there in zip(segment.ids, segment.there, strict=True) if there]


class Meeting:
    """Publications and subscriptions that stand, both of them constraints, and what meets.

    >>> auction = Meeting({"lot": "int", "price": "float"})
    >>> auction.subscriptions.add("buyer", "lot >= 5000 and price <= 1.10")
    []
    >>> auction.publications.add("seller", "lot between 1000 and 10000 and price = 1.00")
    ['buyer']

    Whoever's time is over by the `clock` leaves before anything else is done. Any number of threads may use one: what
    they do comes one after the other.
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
        self.space = Space()
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
        self, *, top: int | None = None, by: str | Callable[..., float] | None = None, per: Per = "publication"
    ) -> pa.Table:
        """All that meets of what stands now, as `vedette.meet` gives it."""
        check_per(per)
        ranking = ranking_of(top, by, per, self.schema)
        with self.lock:
            self.expire()
            ids = list(self.publications), list(self.subscriptions)
            made = [[side.constraint(id_) for id_ in side] for side in (self.publications, self.subscriptions)]
        space = Space()
        slots = space.slots([*made[0], *made[1]])
        tables = [Table.of(each, space, slots) for each in made]
        one, other = Index(tables[1]).pairs(tables[0], self.direction, "subscription")
        return table_of(Pairs(tables[0], tables[1], one, other), *ids, ranking, top)

    def expire(self, now: dt.datetime | None = None) -> tuple[list[str], list[str]]:
        """Withdraw publications and subscriptions whose time is over, and return their ids."""
        with self.lock:
            moment = self.clock() if now is None else moment_of(now)
            return self.publications.expire(moment), self.subscriptions.expire(moment)

    def read(self, text: str, beside: dict[str, Column]) -> Constraint:
        """A text as a constraint whose attributes have the types that they have elsewhere, and in those `beside`."""
        constraint = self._constraints.read(text)
        self.space.check(constraint, beside)
        return constraint

    def met_by(self, side: Side, ids: Sequence[str]) -> list[list[str]]:
        """For each of these, which are of this side, the ids of the other side that it meets, as they came."""
        other = self.subscriptions if side is self.publications else self.publications
        found: list[list[tuple[int, str]]] = [[] for _ in ids]
        for segment in other.segments():
            probes = side.table(ids, segment)
            name: Per = "subscription" if other is self.subscriptions else "publication"
            for mine, theirs in _alive(segment, probes, *segment.index.pairs(probes, self.direction, name)):
                id_ = segment.ids[theirs]
                found[mine].append((other.order(id_), id_))
        return [[id_ for _, id_ in sorted(each)] for each in found]


def _alive(segment: _Segment, probes: Table, probe: NDArray[np.int32], met: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Pairs of constraints, each once, of which that of the segment is still there."""
    owner = segment.index.table.owner[met]
    there = segment.there[owner]
    pairs = np.unique(np.stack([probes.owner[probe][there], owner[there]], axis=1), axis=0)
    return [(int(one), int(other)) for one, other in pairs.tolist()]
