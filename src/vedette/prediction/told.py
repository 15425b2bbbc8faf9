"""What is told of a stream, as a table: matches of filters and patterns, and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.outputs import Witnesses
from vedette.composite.telling import Telling
from vedette.operators.values import as_text


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind: of filters (with a place), of matches of patterns, of predictions (with a probability)."""

    event: NDArray[np.int64]
    place: NDArray[np.int64] | None
    pattern: NDArray[np.int64] | None
    witness: Witnesses
    probability: NDArray[np.float64] | None
    within: NDArray[np.int64] | None
    bound: Sequence[Mapping[str, Any] | None] | None = None  # of filters: what operators bound

    @staticmethod
    def of_filters(
        event: NDArray[np.int64], place: NDArray[np.int64], bound: Sequence[Mapping[str, Any] | None] | None = None
    ) -> Rows:
        """Matches of filters; `place` among the subscriptions."""
        nothing = Witnesses(np.zeros(event.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return Rows(event, place, None, nothing, None, None, bound)

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
    telling: Telling,
    *,
    named: bool,
    numbered: bool = False,
) -> pa.Table:
    """All rows by event, then by subscription, then matches before predictions.

    `places` says where a pattern stands among the subscriptions. Events are `named` by texts, or by their numbers;
    where the table is `numbered`, it has their numbers anyway.
    """
    if not any(one.event.size for one in rows):  # as with most single events
        return _nothing(named, numbered)
    none = np.zeros(0, np.int64)
    event = np.concatenate([none, *(one.event for one in rows)])
    place = np.concatenate([none, *(_places(one, places) for one in rows)])
    predicted = np.concatenate([none, *(np.full(one.event.size, one.probability is not None) for one in rows)])
    order = np.lexsort((predicted, place, event))
    taken = pa.array(order)
    columns = {
        "event": _called(event[order], telling, named),
        "subscription": _subscribed(subscriptions, place[order]),
        "kind": pa.array(["match", "prediction"], pa.string()).take(pa.array(predicted[order].astype(np.int64))),
        "steps": _steps(rows, telling, named).take(taken),
        "bindings": _bindings(rows, telling).take(taken),
        "probability": _filled([one.probability for one in rows], rows, pa.float64()).take(taken),
        "within": _filled([one.within for one in rows], rows, pa.int64()).take(taken),
    }
    if numbered:
        columns["number"] = pa.array(event[order], pa.int64())
    return pa.table(columns)


def as_dicts(
    rows: Sequence[Rows], subscriptions: Sequence[str], places: Mapping[int, int], telling: Telling, *, named: bool
) -> list[dict[str, Any]]:
    """The same as `table`, a few rows without a step of Arrow, each without what is not there."""
    found: list[tuple[tuple[int, int, bool], dict[str, Any]]] = []
    for one in (one for one in rows if one.event.size):
        predicted = one.probability is not None
        for row, (event, place) in enumerate(zip(one.event.tolist(), _places(one, places).tolist(), strict=True)):
            told: dict[str, Any] = {
                "event": telling.called(event) if named else event,
                "subscription": subscriptions[place],
                "kind": "prediction" if predicted else "match",
            }
            bound = None if one.bound is None else one.bound[row]
            if one.pattern is not None:
                pattern, witness = int(one.pattern[row]), one.witness.of(row)
                names = telling.names(pattern)
                told["steps"] = {names[at]: telling.called(taken) if named else taken for at, taken in witness}
                bound = telling.bindings(pattern, witness) if telling.joins(pattern) else None
            if bound:
                as_said = as_text if one.pattern is None else str
                told["bindings"] = {name: as_said(value) for name, value in bound.items()}
            if one.probability is not None and one.within is not None:
                told |= {"probability": float(one.probability[row]), "within": int(one.within[row])}
            found.append(((event, place, predicted), told))
    return [told for _, told in sorted(found, key=itemgetter(0))]


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


def _subscribed(subscriptions: Sequence[str], place: NDArray[np.int64]) -> pa.Array:
    """Who is told; few rows are not worth an array of all subscriptions."""
    if place.size < len(subscriptions):
        return pa.array([subscriptions[each] for each in place.tolist()], pa.string())
    return pa.array(subscriptions, pa.string()).take(pa.array(place))


def _places(one: Rows, places: Mapping[int, int]) -> NDArray[np.int64]:
    if one.place is not None:
        return one.place
    assert one.pattern is not None  # a row is of a filter or of a pattern
    distinct, which = np.unique(one.pattern, return_inverse=True)
    return np.array([places[number] for number in distinct.tolist()], np.int64)[which]


def _called(numbers: NDArray[np.int64], telling: Telling, named: bool) -> pa.Array:
    return pa.array(telling.ids(numbers), pa.string()) if named else pa.array(numbers, pa.int64())


def _steps(rows: Sequence[Rows], telling: Telling, named: bool) -> pa.MapArray:
    """Name of a step -> the event that took it; null for filters."""
    witness = Witnesses.joined([one.witness for one in rows])
    pattern = np.concatenate([np.zeros(0, np.int64), *(one.pattern for one in rows if one.pattern is not None)])
    lengths = np.concatenate(
        [np.zeros(0, np.int64), *(np.diff(one.witness.start) for one in rows if one.pattern is not None)]
    )
    distinct, which = np.unique(pattern, return_inverse=True)
    names = [telling.names(number) for number in distinct.tolist()]
    first = np.cumsum([0, *map(len, names)])  # of each of these patterns, among all names
    keys = pa.array([name for each in names for name in each], pa.string())
    keys = keys.take(pa.array(np.repeat(first[which], lengths) + witness.position))
    filters = np.concatenate([np.zeros(0, np.bool_), *(np.full(one.event.size, one.place is not None) for one in rows)])
    offsets = pa.array(witness.start.astype(np.int32), mask=np.append(filters, False))
    return pa.MapArray.from_arrays(offsets, keys, _called(witness.taken, telling, named))


def _bindings(rows: Sequence[Rows], telling: Telling) -> pa.Array:
    """Variable -> its value, as a text; null for filters, and where there is none."""
    found: list[list[tuple[str, str]] | None] = []
    for one in rows:
        if one.pattern is None:
            bound = one.bound or [None] * one.event.size
            found += [None if not each else [(name, as_text(value)) for name, value in each.items()] for each in bound]
            continue
        told: list[list[tuple[str, str]] | None] = [None] * one.event.size
        joining = [number for number in np.unique(one.pattern).tolist() if telling.joins(number)]
        for row in np.flatnonzero(np.isin(one.pattern, joining)).tolist() if joining else ():
            joined = telling.bindings(int(one.pattern[row]), one.witness.of(row))
            told[row] = [(name, str(value)) for name, value in joined.items()] or None
        found += told
    return pa.array(found, pa.map_(pa.string(), pa.string()))


def _filled(given: Sequence[NDArray[Any] | None], rows: Sequence[Rows], type_: pa.DataType) -> pa.Array:
    parts = [
        pa.nulls(one.event.size, type_) if values is None else pa.array(values, type_)
        for values, one in zip(given, rows, strict=True)
    ]
    return pa.chunked_array(parts, type_).combine_chunks()
