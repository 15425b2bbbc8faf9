"""The outcomes of a step: rows of event, subscription, kind and details.

Filters (with or without operators), patterns and forecasts all give the same kind of row. Rows are ordered by
event, then by subscription, then matches before predictions. They stay columns until somebody asks for texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.operators.values import as_text
from vedette.patterns.outputs import Witnesses

if TYPE_CHECKING:
    from vedette.patterns.witness_names import WitnessNames

# The kinds of outcomes, by number. No subscription of this version gives those from the third to the last but one:
# their numbers are reserved, so that stored outcomes stay valid when they come.
KINDS: Final = ("match", "prediction", "update", "retraction", "enter", "leave", "stay", "gone", "meeting")
MATCH, PREDICTION, MEETING = 0, 1, 8
DETAILS: Final = ("steps", "bindings", "probability", "within")  # the columns of details


class EventNames(Protocol):
    """The names of events: their ids, or texts made from their numbers."""

    def ids(self, numbers: NDArray[np.int64]) -> Any: ...
    def called(self, number: int) -> Any: ...


EventIds: TypeAlias = Sequence[Any] | pa.Array  # what events are called: an Arrow array of texts stays one


def plain(named: EventIds | None) -> Sequence[Any] | None:
    """A value of Arrow as a value of Python."""
    found: Sequence[Any] | None = named.to_pylist() if isinstance(named, pa.Array) else named
    return found


def texts_of(named: EventIds) -> Sequence[str]:
    """Names as texts."""
    return plain(named) or () if isinstance(named, pa.Array) else [str(each) for each in named]


class RangeNames:
    """The names of consecutive events, numbered from `first`."""

    def __init__(self, first: int, names: EventIds) -> None:
        self._first, self._names = first, names

    def ids(self, numbers: NDArray[np.int64]) -> Any:
        """Names of events, as texts."""
        if isinstance(self._names, pa.Array):
            return self._names.take(pa.array(numbers - self._first))
        found = np.empty(len(numbers), object)
        found[:] = [str(self._names[number]) for number in (numbers - self._first).tolist()]
        return found

    def called(self, number: int) -> Any:
        """The name of one event."""
        return str(self._names[number - self._first])

    def places(self, numbers: NDArray[np.int64]) -> pa.DictionaryArray | None:
        """Names of events as places in an Arrow array of all names, if there is one."""
        if not isinstance(self._names, pa.Array):
            return None
        return pa.DictionaryArray.from_arrays(pa.array((numbers - self._first).astype(np.int32)), self._names)


class SparseNames:
    """The names of events with any numbers, ascending."""

    def __init__(self, numbers: NDArray[np.int64], names: pa.Array) -> None:
        self.numbers, self.names = numbers, names

    def ids(self, numbers: NDArray[np.int64]) -> pa.Array:
        """Names of events, as texts."""
        return self.names.take(pa.array(np.searchsorted(self.numbers, numbers)))

    def called(self, number: int) -> Any:
        """The name of one event."""
        return self.names[int(np.searchsorted(self.numbers, number))].as_py()


class OfferNames(NamedTuple):
    """The names of events and offers: an offer's is its id, that of an event without a name is its number."""

    offers: Mapping[int, str]
    events: EventNames | None

    def ids(self, numbers: NDArray[np.int64]) -> Any:
        """Names of events or offers, as texts."""
        if not self.offers:
            return pa.array(numbers).cast(pa.string()) if self.events is None else self.events.ids(numbers)
        found = np.empty(len(numbers), object)
        found[:] = [str(self.called(number)) for number in numbers.tolist()]
        return found

    def called(self, number: int) -> Any:
        """The name of one event or offer."""
        if number in self.offers:
            return self.offers[number]
        return str(number) if self.events is None else self.events.called(number)


@dataclass(frozen=True, slots=True)
class OutcomeRows:
    """Outcomes of one source: filters (with the bindings of operators), or patterns (with a witness).

    `place` is the place of the subscription among all of the set.
    """

    event: NDArray[np.int64]
    place: NDArray[np.int64]
    kind: int = MATCH
    bound: Sequence[Mapping[str, Any] | None] | None = None
    pattern: NDArray[np.int64] | None = None
    witness: Witnesses | None = None
    probability: NDArray[np.float64] | None = None
    within: NDArray[np.int64] | None = None
    telling: WitnessNames | None = None  # names for the patterns' details; None until they are set for all rows

    @property
    def says_more(self) -> bool:
        """Whether these rows have details, beyond event and subscription."""
        return self.kind != MATCH or self.pattern is not None or (self.bound is not None and any(self.bound))

    def take(self, rows: NDArray[np.int64]) -> OutcomeRows:
        """The rows with these numbers."""
        return replace(
            self,
            event=self.event[rows],
            place=self.place[rows],
            bound=None if self.bound is None else [self.bound[row] for row in rows.tolist()],
            pattern=None if self.pattern is None else self.pattern[rows],
            witness=None if self.witness is None else self.witness.take(rows),
            probability=None if self.probability is None else self.probability[rows],
            within=None if self.within is None else self.within[rows],
        )


class _WitnessLists(NamedTuple):
    """Patterns and witnesses of rows as lists: steps `position[start[i] : start[i + 1]]`, and the steps' events."""

    pattern: list[int]
    start: list[int]
    position: list[int]
    called: list[Any]


class OutcomeDetail(NamedTuple):
    """The details of one outcome, beyond event and subscription. A filter has no steps: its match is one event."""

    kind: str
    steps: Mapping[str, Any] = {}  # name of a step -> name of its event
    bindings: Mapping[str, Any] = {}  # variable -> its value
    probability: float | None = None
    within: int | None = None  # events


@dataclass(frozen=True, slots=True)
class OutcomeDetails:
    """The details of those rows that have any, in columns: null where there is nothing."""

    row: NDArray[np.int64]  # which rows, ascending
    kind: NDArray[np.int8]
    steps: pa.Array  # maps of texts
    bindings: Sequence[Mapping[str, Any] | None]
    probability: pa.Array  # float64
    within: pa.Array  # int64

    def part(self, begin: int, end: int) -> OutcomeDetails:
        """The details of rows `begin` to `end`, numbered from `begin`."""
        first, last = np.searchsorted(self.row, [begin, end]).tolist()
        if first == 0 and last == len(self.row) and begin == 0:
            return self
        taken = pa.array(np.arange(first, last))  # a copy: the rest of a sliced map would still be part of it
        return OutcomeDetails(
            self.row[first:last] - begin,
            self.kind[first:last],
            self.steps.take(taken),
            self.bindings[first:last],
            self.probability.take(taken),
            self.within.take(taken),
        )


class Outcomes:
    """Rows of outcomes, in order. `ids` are the ids of all subscriptions, by place; events have names or numbers."""

    def __init__(
        self,
        rows: Sequence[OutcomeRows],
        ids: pa.LargeStringArray,
        naming: EventNames | None = None,
        telling: WitnessNames | None = None,
    ) -> None:
        self._rows = [
            one if one.pattern is None or one.telling is not None else replace(one, telling=telling)
            for one in rows
            if one.event.size
        ]
        self.ids = ids
        self._naming = naming

    def __len__(self) -> int:
        return sum(one.event.size for one in self._rows)

    def count(self, kind: int) -> int:
        """The number of rows of a kind."""
        return sum(one.event.size for one in self._rows if one.kind == kind)

    def take(self, rows: NDArray[np.int64]) -> Outcomes:
        """Some of the rows, by their numbers, ascending."""
        made = rows if self._order is None else self._order[rows]
        first, found = 0, []
        for one in self._rows:
            found.append(one.take(made[(made >= first) & (made < first + one.event.size)] - first))
            first += one.event.size
        return Outcomes(found, self.ids, self._naming)

    # ------------------------------------------------------------ columns

    @property
    def event(self) -> NDArray[np.int64]:
        """The number of each event."""
        return self._sorted[0]

    @property
    def place(self) -> NDArray[np.int64]:
        """The place of each subscription among `ids`."""
        return self._sorted[1]

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """The kind of each row, by its number in `KINDS`."""
        if all(one.kind == MATCH for one in self._rows):
            return np.zeros(len(self), np.int8)
        made = np.concatenate([np.full(one.event.size, one.kind, np.int8) for one in self._rows])
        return made if self._order is None else made[self._order]

    @cached_property
    def _order(self) -> NDArray[np.int64] | None:
        """The permutation from the order of creation to that of the rows; None if the rows are in order already."""
        if len(self._rows) < 2 and all(one.pattern is None for one in self._rows):
            return None
        event = np.concatenate([np.zeros(0, np.int64), *(one.event for one in self._rows)])
        place = np.concatenate([np.zeros(0, np.int64), *(one.place for one in self._rows)])
        kind = np.concatenate([np.zeros(0, np.int64), *(np.full(one.event.size, one.kind) for one in self._rows)])
        return np.lexsort((kind, place, event))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        none = np.zeros(0, np.int64)
        if self._order is None:
            return (self._rows[0].event, self._rows[0].place) if self._rows else (none, none)
        event = np.concatenate([none, *(one.event for one in self._rows)])
        place = np.concatenate([none, *(one.place for one in self._rows)])
        return event[self._order], place[self._order]

    def dictionaries(self) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
        """Names of events and ids of subscriptions as dictionary arrays, in which no text is repeated."""
        subscriptions = pa.DictionaryArray.from_arrays(pa.array(self.place.astype(np.int32, copy=False)), self.ids)
        event = self.event
        events = self._naming.places(event) if isinstance(self._naming, RangeNames) else None
        if events is not None:
            return events, subscriptions
        is_new = np.ones(event.size, np.bool_)
        np.not_equal(event[1:], event[:-1], out=is_new[1:])
        which = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        events = pa.DictionaryArray.from_arrays(pa.array(which), self._ids(event[is_new]).cast(pa.string()))
        return events, subscriptions

    def subscriptions(self) -> pa.Array:
        """The id of each subscription."""
        if self.place.size < _FEW:
            return pa.array(self.names(), pa.string())
        return self.ids.take(pa.array(self.place)).cast(pa.string())

    def names(self) -> list[str]:
        """Event names and subscription ids, as lists of texts."""
        return [self.ids[place].as_py() for place in self.place.tolist()]

    # ------------------------------------------------------------ details

    def in_detail(self) -> OutcomeDetails | None:
        """The details in columns; None if no row has any."""
        saying = [one for one in self._rows if one.says_more]
        if not saying:
            return None
        says = np.concatenate([np.full(one.event.size, one.says_more) for one in self._rows])
        own = self if len(saying) == len(self._rows) else Outcomes(saying, self.ids, self._naming)
        bound = [each for one in saying for each in own._bindings_of(one) or (None,) * one.event.size]
        return OutcomeDetails(
            np.flatnonzero(says if self._order is None else says[self._order]),
            own.kind,
            own._in_order(own._steps()),
            bound if own._order is None else [bound[row] for row in own._order.tolist()],
            own._in_order(_filled([one.probability for one in saying], saying, pa.float64())),
            own._in_order(_filled([one.within for one in saying], saying, pa.int64())),
        )

    def _bindings_of(self, one: OutcomeRows) -> Sequence[Mapping[str, Any] | None] | None:
        """The bindings of variables, row by row; None if no row has any."""
        if one.bound is not None or one.pattern is None:
            return one.bound
        assert one.telling is not None
        joining = [number for number in np.unique(one.pattern).tolist() if one.telling.joins(number)]
        if not joining:
            return None
        found: list[Mapping[str, Any] | None] = [None] * one.event.size
        for row in np.flatnonzero(np.isin(one.pattern, joining)).tolist():
            found[row] = self._of_pattern(one, row)[1] or None
        return found

    def details(self) -> Iterator[tuple[int, OutcomeDetail]]:
        """The rows that have details, and these details; in their order."""
        first, found = 0, []
        for one in self._rows:
            if one.says_more:
                many = self._many(one)
                found += [(first + row, one, row, many) for row in range(one.event.size)]
            first += one.event.size
        if not found:
            return
        at = np.arange(first)
        if self._order is not None:
            at[self._order] = np.arange(first)
        in_order = sorted(((int(at[made]), one, own, many) for made, one, own, many in found), key=itemgetter(0))
        for row, one, own, many in in_order:
            detail = self._detail(one, own, many)
            if detail is not None:
                yield row, detail

    def _many(self, one: OutcomeRows) -> _WitnessLists | None:
        """Witnesses as lists, if there are so many that looking them up together is faster."""
        if one.witness is None or one.pattern is None or len(one.witness.taken) < _FEW:
            return None
        taken = one.witness.taken
        named = taken if self._naming is None else self._naming.ids(taken)
        called = named.to_pylist() if isinstance(named, pa.Array) else named.tolist()
        return _WitnessLists(one.pattern.tolist(), one.witness.start.tolist(), one.witness.position.tolist(), called)

    def _detail(self, one: OutcomeRows, row: int, many: _WitnessLists | None) -> OutcomeDetail | None:
        if one.pattern is None:
            bound = None if one.bound is None else one.bound[row]
            return OutcomeDetail(KINDS[one.kind], {}, bound) if bound else None
        told = self._of_pattern(one, row, many)
        likely = None if one.probability is None else float(one.probability[row])
        within = None if one.within is None else int(one.within[row])
        return OutcomeDetail(KINDS[one.kind], told[0], told[1], likely, within)

    def _of_pattern(
        self, one: OutcomeRows, row: int, many: _WitnessLists | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The steps and bindings of a row of a pattern."""
        assert one.pattern is not None  # callers have checked it
        assert one.witness is not None  # every row of a pattern has a witness
        assert one.telling is not None
        if many is None:
            pattern, names = int(one.pattern[row]), one.telling.names(int(one.pattern[row]))
            steps = {names[at]: self.called(taken) for at, taken in one.witness.of(row)}
        else:
            pattern, names = many.pattern[row], one.telling.names(many.pattern[row])
            own = slice(many.start[row], many.start[row + 1])
            steps = {names[at]: called for at, called in zip(many.position[own], many.called[own], strict=True)}
        if one.bound is not None:
            return steps, dict(one.bound[row] or {})
        return steps, one.telling.bindings(pattern, one.witness.of(row)) if one.telling.joins(pattern) else {}

    def called(self, number: int) -> Any:
        """The name of an event; its number, if events have no names."""
        return number if self._naming is None else self._naming.called(number)

    # ------------------------------------------------------------ over several steps

    def settled(self) -> Outcomes:
        """The same outcomes with a copy of names and bindings, which later steps of the stream cannot change."""
        rows = [replace(one, bound=self._bindings_of(one)) for one in self._rows]
        naming: EventNames | None = None
        if self._naming is not None:
            taken = [one.event for one in rows] + [one.witness.taken for one in rows if one.witness is not None]
            numbers = np.unique(np.concatenate([np.zeros(0, np.int64), *taken]))
            naming = SparseNames(numbers, self._ids(numbers))
        return Outcomes(rows, self.ids, naming)

    @staticmethod
    def joined(several: Sequence[Outcomes]) -> Outcomes:
        """Concatenate the settled outcomes of several steps of one set, as if it had been a single step."""
        listed = [one._naming for one in several if isinstance(one._naming, SparseNames)]
        naming: EventNames | None = None
        if listed:
            numbers, first = np.unique(np.concatenate([one.numbers for one in listed]), return_index=True)
            names = pa.chunked_array([one.names for one in listed], pa.string()).take(pa.array(first))
            naming = SparseNames(numbers, names.combine_chunks())
        return Outcomes([rows for one in several for rows in one._rows], several[0].ids, naming)

    # ------------------------------------------------------------ as a whole

    def table(self, *, numbered: bool = False) -> pa.Table:
        """A table of all rows: event, subscription, kind, steps, bindings, probability, within.

        If `numbered`, events are numbers even where they have names.
        """
        if not self._rows:  # as with most single events
            return _nothing(self._naming is not None, numbered)
        columns = {
            "event": self._ids(self.event),
            "subscription": self.subscriptions(),
            "kind": _kind_names().take(pa.array(self.kind)),
            "steps": self._in_order(self._steps()),
            "bindings": self._in_order(self._bindings()),
            "probability": self._in_order(_filled([one.probability for one in self._rows], self._rows, pa.float64())),
            "within": self._in_order(_filled([one.within for one in self._rows], self._rows, pa.int64())),
        }
        if numbered:
            columns["number"] = pa.array(self.event, pa.int64())
        return pa.table(columns)

    def pairs(self, *, bindings: bool = False) -> pa.Table:
        """A table of event and subscription, with the bindings of operators."""
        columns = {"event": self._ids(self.event), "subscription": self.subscriptions()}
        if bindings:
            columns["bindings"] = self.bound()
        return pa.table(columns)

    def bound(self) -> pa.Array:
        """The bindings of operators, of each row: variable -> its value as a text; null where there is none."""
        return self._in_order(self._bindings())

    def dicts(self) -> list[dict[str, Any]]:
        """Rows as dicts without empty keys; for a few rows Arrow is not used, which is faster."""
        details = dict(self.details())
        return [
            {"event": self.called(event), "subscription": name, "kind": KINDS[kind], **detail_fields(details.get(row))}
            for row, (event, name, kind) in enumerate(
                zip(self.event.tolist(), self.names(), self.kind.tolist(), strict=True)
            )
        ]

    def _ids(self, numbers: NDArray[np.int64]) -> pa.Array:
        if self._naming is None:
            return pa.array(numbers, pa.int64())
        found = self._naming.ids(numbers)
        return found.cast(pa.string()) if isinstance(found, pa.Array) else pa.array(found, pa.string())

    def _in_order(self, made: pa.Array) -> pa.Array:
        return made if self._order is None else made.take(pa.array(self._order))

    def _steps(self) -> pa.Array:
        """Name of a step -> name of its event; null for filters."""
        told = pa.map_(pa.string(), pa.int64() if self._naming is None else pa.string())
        if all(one.pattern is None for one in self._rows):
            return pa.nulls(len(self), told)
        witness = Witnesses.joined([_no_witness(one) if one.witness is None else one.witness for one in self._rows])
        keys = pa.chunked_array([_step_names(one) for one in self._rows], pa.string()).combine_chunks()
        filters = np.concatenate([np.full(one.event.size, one.pattern is None) for one in self._rows])
        offsets = pa.array(witness.start.astype(np.int32), mask=np.append(filters, False))
        return pa.MapArray.from_arrays(offsets, keys, self._ids(witness.taken))

    def _bindings(self) -> pa.Array:
        """Variable -> its value, as a text; null where there is none."""
        told = pa.map_(pa.string(), pa.string())
        parts = [self._bound(one, told) for one in self._rows]
        return pa.chunked_array(parts, told).combine_chunks()

    def _bound(self, one: OutcomeRows, told: pa.DataType) -> pa.Array:
        if one.pattern is None:
            if one.bound is None or not any(one.bound):
                return pa.nulls(one.event.size, told)
            return pa.array([list(_texts(each).items()) if each else None for each in one.bound], told)
        found = self._bindings_of(one)
        if found is None:
            return pa.nulls(one.event.size, told)
        texts = [None if each is None else [(name, str(value)) for name, value in each.items()] for each in found]
        return pa.array(texts, told)


def united_outcomes(several: Iterable[Outcomes]) -> Outcomes:
    """Outcomes of several sets for the same events, combined as one set of all their subscriptions would give them.

    Any grouping gives the same result: the sets may be segments, or shards.
    """
    given = list(several)
    rows, first = [], 0
    for one in given:
        rows += [replace(each, place=each.place + first) if first else each for each in one._rows]
        first += len(one.ids)
    ids = pa.concat_arrays([pa.array([], pa.large_string()), *(one.ids for one in given)])
    return Outcomes(rows, ids, _named_alike([one._naming for one in given if one._naming is not None]))


def _named_alike(given: Sequence[EventNames]) -> EventNames | None:
    """Combine the names of several sets: events have the same names in all; each knows the offers in its outcomes."""
    with_offers = [one for one in given if isinstance(one, OfferNames)]
    events = [one.events for one in with_offers] + [one for one in given if not isinstance(one, OfferNames)]
    called = next((one for one in events if one is not None), None)
    if not with_offers:
        return called
    return OfferNames({number: name for one in with_offers for number, name in one.offers.items()}, called)


_FEW: Final = 64  # rows for which looking ids up one by one is faster


def _texts(bound: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: as_text(value) for name, value in (bound or {}).items()}


def detail_fields(detail: OutcomeDetail | None) -> dict[str, Any]:
    """The details of a dict beyond event, subscription and kind; values of variables as texts."""
    if detail is None:
        return {}
    made: dict[str, Any] = {}
    if detail.steps:
        made["steps"] = dict(detail.steps)
    if detail.bindings:
        as_said = str if detail.steps else as_text
        made["bindings"] = {name: as_said(value) for name, value in detail.bindings.items()}
    if detail.probability is not None:
        made |= {"probability": detail.probability, "within": detail.within}
    return made


def _step_names(one: OutcomeRows) -> pa.Array:
    """The name of each step of each witness."""
    if one.pattern is None or one.witness is None or one.telling is None:
        return pa.array([], pa.string())
    distinct, which = np.unique(one.pattern, return_inverse=True)
    names = [one.telling.names(number) for number in distinct.tolist()]
    first = np.cumsum([0, *map(len, names)])  # the first name of each of these patterns among all names
    keys = pa.array([name for each in names for name in each], pa.string())
    return keys.take(pa.array(np.repeat(first[which], np.diff(one.witness.start)) + one.witness.position))


def _no_witness(one: OutcomeRows) -> Witnesses:
    return Witnesses(np.zeros(one.event.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


@cache
def _kind_names() -> pa.Array:
    return pa.array(KINDS, pa.string())  # not at import: the first array that is made imports pandas, where it is there


@cache
def _nothing(named: bool, numbered: bool) -> pa.Table:
    texts = pa.map_(pa.string(), pa.string())
    event = pa.string() if named else pa.int64()
    kinds = {
        "event": event,
        "subscription": pa.string(),
        "kind": pa.string(),
        "steps": pa.map_(pa.string(), event),
        "bindings": texts,
        "probability": pa.float64(),
        "within": pa.int64(),
        **({"number": pa.int64()} if numbered else {}),
    }
    return pa.schema(kinds).empty_table()


def _filled(given: Sequence[NDArray[Any] | None], rows: Sequence[OutcomeRows], type_: pa.DataType) -> pa.Array:
    parts = [
        pa.nulls(one.event.size, type_) if values is None else pa.array(values, type_)
        for values, one in zip(given, rows, strict=True)
    ]
    return pa.chunked_array(parts, type_).combine_chunks()


def places_of(patterns: NDArray[Any], places: Mapping[int, int]) -> NDArray[np.int64]:
    """The places of patterns' subscriptions, by the patterns' numbers."""
    distinct, which = np.unique(patterns, return_inverse=True)
    return np.array([places[number] for number in distinct.tolist()], np.int64)[which]
