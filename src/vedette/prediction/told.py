"""What is told of a stream, as a table: matches of filters and patterns, and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.outputs import Witnesses
from vedette.errors import InputError

_MANY = 1 << 18  # events that are kept before those are forgotten that no witness can name any more


class ToldEvents:
    """What events are called: by ids that were handed in, or by their numbers. The first events decide which."""

    def __init__(self) -> None:
        self._numbers = np.zeros(0, np.int64)
        self._ids: NDArray[np.object_] | None = None
        self._begun = False

    def check(self, count: int, ids: Sequence[str] | None) -> None:
        """InputError if these ids do not fit so many events, or the way in which others were called before."""
        if ids is not None and len(ids) != count:
            raise InputError(f"there are {len(ids)} ids for {count} events")
        if self._begun and (ids is None) != (self._ids is None):
            raise InputError("some events of the stream have ids, others none\nHint: hand in `ids` always, or never")

    def keep(self, first: int, ids: Sequence[str] | None) -> None:
        """Events may be named from now on: they are numbered from `first`."""
        self._begun = True
        if ids is not None:
            more = np.empty(len(ids), object)
            more[:] = [str(id_) for id_ in ids]
            self._ids = more if self._ids is None else np.concatenate([self._ids, more])
            self._numbers = np.concatenate([self._numbers, np.arange(first, first + len(ids))])

    def many(self) -> bool:
        """Whether it is time to forget some."""
        return self._numbers.size > _MANY

    def forget(self, but: NDArray[np.int64]) -> None:
        """Keep only these events."""
        if self._ids is not None:
            left = np.isin(self._numbers, but)
            self._numbers, self._ids = self._numbers[left], self._ids[left]

    def names(self, numbers: NDArray[np.int64]) -> pa.Array:
        """What events are called."""
        if self._ids is None:
            return pa.array(numbers, pa.int64())
        return pa.array(self._ids[np.searchsorted(self._numbers, numbers)], pa.string())

    def plain(self, remembered: NDArray[np.int64]) -> dict[str, Any]:
        """The names that may still be needed, as they can be written as JSON."""
        self.forget(remembered)
        ids = None if self._ids is None else self._ids.tolist()
        return {"begun": self._begun, "numbers": self._numbers.tolist(), "ids": ids}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> ToldEvents:
        """What `plain` gave."""
        events = cls()
        events._begun, events._numbers = plain["begun"], np.array(plain["numbers"], np.int64)
        if plain["ids"] is not None:
            events._ids = np.array([*plain["ids"], None], object)[:-1]
        return events


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind: of filters (with a place), of matches of patterns, of predictions (with a probability)."""

    event: NDArray[np.int64]
    place: NDArray[np.int64] | None
    pattern: NDArray[np.int64] | None
    witness: Witnesses
    probability: NDArray[np.float64] | None
    within: NDArray[np.int64] | None

    @staticmethod
    def of_filters(event: NDArray[np.int64], place: NDArray[np.int64]) -> Rows:
        """Matches of filters; `place` among the subscriptions."""
        nothing = Witnesses(np.zeros(event.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return Rows(event, place, None, nothing, None, None)

    @staticmethod
    def of_patterns(
        event: NDArray[np.int64],
        pattern: NDArray[Any],
        witness: Witnesses,
        *,
        probability: NDArray[np.float64] | None = None,
        within: NDArray[np.int64] | None = None,
    ) -> Rows:
        """Matches of patterns, or predictions of them."""
        return Rows(event, None, pattern.astype(np.int64), witness, probability, within)


def table(
    rows: Sequence[Rows],
    subscriptions: Sequence[str],
    places: Mapping[int, int],
    names: Mapping[int, Sequence[str]],
    events: ToldEvents,
) -> pa.Table:
    """All rows by event, then by subscription, then matches before predictions.

    `places` says where a pattern stands among the subscriptions, `names` what its steps are called.
    """
    none = np.zeros(0, np.int64)
    event = np.concatenate([none, *(one.event for one in rows)])
    place = np.concatenate([none, *(_places(one, places) for one in rows)])
    predicted = np.concatenate([none, *(np.full(one.event.size, one.probability is not None) for one in rows)])
    order = np.lexsort((predicted, place, event))
    taken = pa.array(order)
    columns = {
        "event": events.names(event[order]),
        "subscription": pa.array(subscriptions, pa.string()).take(pa.array(place[order])),
        "kind": pa.array(["match", "prediction"], pa.string()).take(pa.array(predicted[order].astype(np.int64))),
        "steps": _steps(rows, names, events).take(taken),
        "probability": _filled([one.probability for one in rows], rows, pa.float64()).take(taken),
        "within": _filled([one.within for one in rows], rows, pa.int64()).take(taken),
    }
    return pa.table(columns)


def _places(one: Rows, places: Mapping[int, int]) -> NDArray[np.int64]:
    if one.place is not None:
        return one.place
    assert one.pattern is not None  # a row is of a filter or of a pattern
    return np.array([places[number] for number in one.pattern.tolist()], np.int64)


def _steps(rows: Sequence[Rows], names: Mapping[int, Sequence[str]], events: ToldEvents) -> pa.MapArray:
    """Name of a step -> the event that took it; null for filters."""
    witness = Witnesses.joined([one.witness for one in rows])
    keys: list[str] = []
    for one in rows:
        for row, number in enumerate([] if one.pattern is None else one.pattern.tolist()):
            begin, end = one.witness.start[row], one.witness.start[row + 1]
            keys += [names[number][position] for position in one.witness.position[begin:end].tolist()]
    filters = np.concatenate([np.zeros(0, np.bool_), *(np.full(one.event.size, one.place is not None) for one in rows)])
    offsets = pa.array(witness.start.astype(np.int32), mask=np.append(filters, False))
    return pa.MapArray.from_arrays(offsets, pa.array(keys, pa.string()), events.names(witness.taken))


def _filled(given: Sequence[NDArray[Any] | None], rows: Sequence[Rows], type_: pa.DataType) -> pa.Array:
    parts = [
        pa.nulls(one.event.size, type_) if values is None else pa.array(values, type_)
        for values, one in zip(given, rows, strict=True)
    ]
    return pa.chunked_array(parts, type_).combine_chunks()
