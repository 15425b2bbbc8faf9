"""Who should hear of the events of one stream? All that stands there: filters, with and without operators, patterns.

Plain filters are in a live matcher, which takes changes at once. Filters that call operators and patterns are few; what
holds them is made anew when they change, patterns going on where they stand. One thread at a time uses an engine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from vedette.composite.pictures import Picture
from vedette.composite.times import TIME
from vedette.errors import InputError, NotSupported, UnknownSubscription, VedetteError
from vedette.matching.live import LiveMatcher
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.registry import Operators
from vedette.prediction.stream import StreamMatcher
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.service.kinds import Kind, Standing, kind_in
from vedette.service.times import with_times


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of one stream in the order in which they were accepted."""

    numbers: Sequence[int]
    ids: Sequence[str]
    events: Sequence[Mapping[str, Any]]
    received: Sequence[int]  # when each was accepted

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, begin: int, end: int) -> Batch:
        """Some of the events."""
        return Batch(self.numbers[begin:end], self.ids[begin:end], self.events[begin:end], self.received[begin:end])


class Told(NamedTuple):
    """One subscription hears of one event."""

    event: int  # its number
    subscription: str
    kind: str = "match"  # or prediction
    steps: Mapping[str, str] | None = None  # name of a step -> id of the event that took it
    bindings: Mapping[str, str] | None = None
    probability: float | None = None
    within: int | None = None


class Engine:
    """The subscriptions of a stream, as they come and go, and what events tell them."""

    def __init__(
        self, schema: Schema, *, operators: Operators | None = None, lateness: dt.timedelta = dt.timedelta(0)
    ) -> None:
        self.schema = schema
        self._operators = operators
        self._lateness = lateness
        self._kinds: dict[str, Kind] = {}
        self._empty = Subscriptions(schema)  # where texts are looked at, which knows those that were alike
        self._filters: LiveMatcher = Subscriptions(schema).live()
        self._calls = Subscriptions(schema)
        self._patterns = Subscriptions(schema)
        self._calling: Calling | None = None
        self._caller: OperatorMatcher | None = None
        self._stream: StreamMatcher | None = None
        self._restored: bytes | None = None

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._kinds

    def kind_of(self, standing: Standing) -> Kind:
        """What a subscription would be here; an error says why it cannot stand."""
        return kind_in(self._empty, standing, self._operators)

    # ------------------------------------------------------------ changes

    def add(self, standing: Standing) -> None:
        """Let a subscription stand from the next event on."""
        if standing.id in self._kinds:
            raise InputError(f"there is a subscription {standing.id!r} already")
        kind = self.kind_of(standing)
        if kind == "filter":
            self._filters.add(standing.id, standing.when)
        elif kind == "operators":
            self._calls.add(standing.id, standing.when)
            self._caller = None
        else:
            self._patterns.add(standing.id, standing.when, predict=standing.predict)
            self._follow()
        self._kinds[standing.id] = kind

    def add_many(self, some: Iterable[Standing]) -> list[tuple[str, VedetteError]]:
        """The same for many at once, which is much quicker; those that cannot stand, and why."""
        kinds: set[Kind] = set()
        plain: list[dict[str, str]] = []
        refused: list[tuple[str, VedetteError]] = []
        for standing in some:
            try:
                kind = self.kind_of(standing)
            except VedetteError as error:
                refused.append((standing.id, error))
                continue
            if kind == "filter":
                plain.append({"id": standing.id, "when": standing.when})
            elif kind == "operators":
                self._calls.add(standing.id, standing.when)
            else:
                self._patterns.add(standing.id, standing.when, predict=standing.predict)
            self._kinds[standing.id] = kind
            kinds.add(kind)
        if plain:
            self._filters.add_many(plain)
        if "operators" in kinds:
            self._caller = None
        if "pattern" in kinds:
            self._follow()
        return refused

    def remove(self, id_: str) -> None:
        """Let a subscription go; UnknownSubscription if there is none."""
        kind = self._kinds.pop(id_, None)
        if kind is None:
            raise UnknownSubscription(f"there is no subscription {id_!r}")
        if kind == "filter":
            self._filters.remove(id_)
        elif kind == "operators":
            self._calls.remove(id_)
            self._caller = None
        else:
            self._patterns.remove(id_)
            self._follow()

    def replace(self, standing: Standing) -> None:
        """Let an id say something else from the next event on."""
        self.kind_of(standing)  # refused before anything changes
        self.remove(standing.id)
        self.add(standing)

    def _follow(self) -> None:
        if self._stream is not None:
            self._stream.update(self._patterns)

    # ------------------------------------------------------------ events

    def match(self, batch: Batch, rejects: list[Reject] | None = None) -> list[Told]:
        """What events tell, by event; those that break the schema go to `rejects` and tell nothing."""
        told: list[Told] = []
        broken: list[Reject] = []
        events, numbers = list(batch.events), batch.numbers
        if len(self._filters):
            found = self._filters.match_batch(events, rejects=broken)
            rows, names = found["event"].to_pylist(), found["subscription"].to_pylist()
            told += [Told(numbers[row], name) for row, name in zip(rows, names, strict=True)]
        if len(self._calls):
            for one in self._called().match_batch(events, rejects=broken).to_pylist():
                told.append(Told(numbers[one["event"]], one["subscription"], bindings=_mapping(one["bindings"])))
        if self._stream is not None or self._restored is not None or len(self._patterns):
            told += map(_of_pattern, self._happened(batch, broken))
        if rejects is not None:
            rejects += {reject.row: reject for reject in reversed(broken)}.values()
        told.sort(key=lambda one: one.event)  # stable: within an event as they stand
        return told

    def _happened(self, batch: Batch, broken: list[Reject], first: int = 0) -> list[dict[str, Any]]:
        """What patterns tell. An event that they cannot take is rejected alone: nobody's event may stop the others'."""
        names = [f"{number} {id_}" for number, id_ in zip(batch.numbers, batch.ids, strict=True)]
        events = batch.events if self.schema.type_of(TIME) else with_times(batch.events, batch.received)
        rejects: list[Reject] = []
        try:
            rows: list[dict[str, Any]] = self._followed().process(list(events), ids=names, rejects=rejects).to_pylist()
        except (InputError, NotSupported) as error:  # found while they are read: nothing has happened yet
            if len(batch) > 1:
                half = len(batch) // 2
                before = self._happened(batch.part(0, half), broken, first)
                return before + self._happened(batch.part(half, len(batch)), broken, first + half)
            broken.append(Reject(first, "", str(error)))
            return []
        broken += [replace(each, row=first + each.row) for each in rejects]
        return rows

    def _called(self) -> OperatorMatcher:
        if self._caller is None:
            if self._calling is None:
                self._calling = Calling(self._operators)
            self._caller = self._calling.matcher(self._calls)
        return self._caller

    def _followed(self) -> StreamMatcher:
        if self._stream is None:
            if self._restored is not None:
                self._stream = StreamMatcher.from_bytes(self._restored, self._patterns, operators=self._operators)
            else:
                self._stream = StreamMatcher(self._patterns, lateness=self._lateness, operators=self._operators)
            self._restored = None
        return self._stream

    # ------------------------------------------------------------ kept

    def to_bytes(self) -> bytes | None:
        """Where patterns and forecasts stand; None if there are none."""
        if self._stream is None:
            return self._restored
        return self._stream.to_bytes()

    def restore(self, state: bytes | None) -> None:
        """Go on where another engine stood; to be called before anything is matched."""
        self._restored = state

    def picture(self, id_: str) -> Picture:
        """The machine of a pattern as it stands now; UnknownSubscription if there is none."""
        if self._kinds.get(id_) != "pattern":
            raise UnknownSubscription(f"there is no pattern {id_!r}")
        return self._followed().picture(id_)

    def score(self, id_: str) -> dict[str, Any] | None:
        """How good the forecasts of a pattern have been; None where there are none."""
        found = None if self._stream is None else self._stream.scores.get(id_)
        return None if found is None else found.figures()

    @property
    def metrics(self) -> dict[str, Any]:
        """What patterns and operators count, for people."""
        return {} if self._stream is None else self._stream.metrics

    def close(self) -> None:
        """End what operators left running."""
        self._filters.close()
        for each in (self._calling, self._stream):
            if each is not None:
                each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _of_pattern(row: Mapping[str, Any]) -> Told:
    """A row of a stream matcher, whose events are called by number and id."""
    steps = {name: str(taken).partition(" ")[2] for name, taken in row["steps"] or ()}
    number = int(row["event"].partition(" ")[0])
    bindings = _mapping(row["bindings"])
    return Told(number, row["subscription"], row["kind"], steps, bindings, row["probability"], row["within"])


def _mapping(pairs: Sequence[tuple[str, str]] | None) -> dict[str, str] | None:
    return dict(pairs) if pairs else None
