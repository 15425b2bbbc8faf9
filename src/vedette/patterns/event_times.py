"""Times of events: the attribute `time`, in any of its forms."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.subscription_view import Events
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.columns import Column, KeyColumn, TextColumn
from vedette.schema.encode import Reject, encode
from vedette.schema.infer import infer
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import STRING, TIMESTAMP, Kind, Type

TIME: Final = "time"
_TIMES: Final = frozenset({Kind.TIMESTAMP, Kind.DATE, Kind.STRING, Kind.INT, Kind.FLOAT})
_DAY: Final = 86_400_000_000
YEAR_10000: Final = 253_402_300_800  # seconds
_YEAR_1: Final = -62_135_596_800
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EARLIEST: Final = np.iinfo(np.int64).min
_SIGNLESS: Final = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Times:
    """Microseconds since 1970-01-01 UTC of some events, which of them have a time, and those whose time is invalid."""

    microseconds: NDArray[np.int64]
    known: NDArray[np.bool_]
    rejects: list[Reject]

    def filled(self, latest: int | None) -> NDArray[np.int64]:
        """Times without gaps: events without one get the greatest before, `latest` included; 0 while there is none."""
        if self.known.all():
            return self.microseconds
        before = _EARLIEST if latest is None else latest
        own = np.where(self.known, self.microseconds, _EARLIEST)
        so_far = np.maximum.accumulate(np.maximum(own, before))
        return np.where(self.known, self.microseconds, np.where(so_far == _EARLIEST, 0, so_far))


def times_of(events: Events, schema: Schema) -> Times:
    """Read times: a text as ISO 8601, a number as seconds; anything else is rejected, and null is no time."""
    declared = schema.type_of(TIME) or looked_at(events, [TIME]).get(TIME)
    if declared is None:
        return Times(np.zeros(len(events), np.int64), np.zeros(len(events), np.bool_), [])
    if declared.is_list or declared.kind not in _TIMES:
        raise InputError(f"the attribute 'time' is {declared}, not a time\nHint: patterns order events by it")
    if declared.kind is Kind.STRING:
        return _of_texts(events, schema)
    column = Column(TIME, declared)
    read = encode(events, [column], schema)
    data = read.data[column]
    assert isinstance(data, KeyColumn)  # as all that is left is
    if declared.kind is Kind.TIMESTAMP:
        return Times(data.keys, data.present, read.rejects)
    if declared.kind is Kind.DATE:
        return Times(data.keys * _DAY, data.present, read.rejects)
    return _of_numbers(data, declared.kind, read.rejects)


def _of_texts(events: Events, schema: Schema) -> Times:
    as_text, as_time = Column(TIME, STRING), Column(TIME, TIMESTAMP)
    read = encode(events, [as_text, as_time], schema)
    texts, times = read.data[as_text], read.data[as_time]
    assert isinstance(texts, TextColumn)
    assert isinstance(times, KeyColumn)
    rejects = list(read.rejects)
    for row in np.flatnonzero((texts.codes >= 0) & ~times.present).tolist():
        shown = texts.values[texts.codes[row]].decode()
        rejects.append(Reject(row, TIME, f"{shown!r} is not a time such as '2024-05-01T12:30:00Z'"))
    return Times(times.keys, times.present, sorted(rejects, key=lambda reject: reject.row))


def _of_numbers(data: KeyColumn, kind: Kind, rejects: list[Reject]) -> Times:
    seconds: NDArray[Any] = data.keys
    if kind is Kind.FLOAT:
        seconds = np.where(data.keys >= 0, data.keys, data.keys ^ _SIGNLESS).view(np.float64)
    usable = data.present & (np.abs(seconds) < YEAR_10000)
    wrong = np.flatnonzero(data.present & ~usable).tolist()
    more = [
        Reject(row, TIME, f"{seconds[row]} is no time in seconds since 1970: are these milliseconds?") for row in wrong
    ]
    seconds = np.where(usable, seconds, 0)
    # Whole seconds stay exact; of others microseconds are what a float can say.
    microseconds = seconds * 1_000_000 if kind is Kind.INT else np.round(seconds * 1e6).astype(np.int64)
    return Times(microseconds, usable, sorted([*rejects, *more], key=lambda reject: reject.row))


def stamped(events: list[Mapping[str, Any]], received: Sequence[int]) -> list[Mapping[str, Any]]:
    """The events, each with a `time`; one without a valid text or number gets the time when it was `received`.

    Events may be from many publishers. Those of one batch get times of one form, since they are read as one column.
    """
    found = [event.get(TIME) for event in events]
    texts = any(not _is_number(each) for each in found)
    if all(_stands(each, texts) for each in found):
        return events
    return [
        event if _stands(each, texts) else {**event, TIME: _text(each, moment)}
        for event, each, moment in zip(events, found, received, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _stands(value: Any, texts: bool) -> bool:
    return isinstance(value, str) or (_is_number(value) and not texts)


def _text(value: Any, received: int) -> str:
    if not _is_number(value):
        return _iso(received)
    # What is no time stays none: it is rejected where the others of the batch are read.
    return _iso(round(value * 1_000_000)) if _YEAR_1 <= value < YEAR_10000 else str(value)


@lru_cache(maxsize=256)  # what is published together was received together
def _iso(microseconds: int) -> str:
    return (_EPOCH + dt.timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")


def looked_at(events: Events, paths: Sequence[str]) -> Mapping[str, Type]:
    """The types of these attributes, found by looking at the events."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        return infer_arrow(events.schema)
    found: dict[str, Type] = {}
    for path in paths:
        find = finder(path)
        seen = infer({"value": find(event)} for event in events)
        if "value" in seen:
            found[path] = seen["value"]
    return found
