"""Events -> batches: which filters of steps they satisfy, when they were, and what joins and partitions them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.machines import Numbers
from vedette.composite.values import Values, coded, partition_keys
from vedette.errors import InputError, NotSupported
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.view import Events
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.columns import Column, ColumnData, KeyColumn
from vedette.schema.encode import Reject, encode
from vedette.schema.infer import infer
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import TIMESTAMP, Kind, Type

TIME: Final = "time"
_TIMES: Final = frozenset({Kind.TIMESTAMP, Kind.DATE, Kind.STRING, Kind.INT, Kind.FLOAT})
_DAY: Final = 86_400_000_000
_EARLIEST: Final = np.iinfo(np.int64).min
_SIGNLESS: Final = np.int64(0x7FFF_FFFF_FFFF_FFFF)


class Reader:
    """Reads events for some patterns."""

    def __init__(self, numbers: Numbers, schema: Schema) -> None:
        self._schema = schema
        self._columns = list(numbers.columns)
        self._keys = list(numbers.keys)
        self._matcher = _matcher(numbers.texts(), schema)

    def read(
        self, events: Events, first: int, latest: int | None, rejects: list[Reject] | None
    ) -> tuple[Batch, NDArray[np.bool_]]:
        """The events as a batch numbered from `first`, and which of them have a time of their own.

        An event without one has the latest time before it, of the batch and `latest`. One that breaks the schema is an
        error, or, if a list is handed in, is put there and left out.
        """
        refused: list[Reject] = []
        encoded = self._matcher.encode(events, rejects=None if rejects is None else refused)
        rows = self._matcher.match_rows(encoded, ordered=True)
        size = encoded.size
        types = self._types(events, {*self._columns, *(path for keys in self._keys for path in keys)})
        time_type = self._time_type(events)
        when = [] if time_type is None else [Column(TIME, time_type)]
        read = encode(events, [*(Column(path, type_) for path, type_ in types.items()), *when], self._schema)
        if read.rejects and rejects is None:
            worst = read.rejects[0]
            raise InputError(f"event {worst.row}: attribute {worst.attribute!r}: {worst.reason}")
        refused += read.rejects
        values = {path: coded(read.data[Column(path, type_)], type_.kind) for path, type_ in types.items()}
        nothing: Values = (np.zeros((size, 2), np.int64), np.zeros(size, np.bool_))
        columns = [values.get(path, nothing) for path in self._columns]
        keys = [partition_keys([values.get(path, nothing) for path in paths]) for paths in self._keys]
        time, timed = (
            _times(read.data[when[0]], when[0].type.kind)
            if when
            else (np.zeros(size, np.int64), np.zeros(size, np.bool_))
        )
        if not timed.all():
            time = np.where(timed, time, _latest_before(time, timed, latest))
        batch = Batch(
            np.arange(first, first + size),
            time,
            rows.start.astype(np.int64),
            rows.subscription.astype(np.int32),
            _stacked([key for key, _ in keys], (0, size, 2), np.int64),
            _stacked([known for _, known in keys], (0, size), np.bool_),
            _stacked([value for value, _ in columns], (0, size, 2), np.int64),
            _stacked([known for _, known in columns], (0, size), np.bool_),
        )
        if refused and rejects is not None:
            rejects += sorted({each.row: each for each in refused}.values(), key=lambda each: each.row)
            accepted = np.ones(size, np.bool_)
            accepted[[each.row for each in refused]] = False
            batch, timed = batch.take(np.flatnonzero(accepted)), timed[accepted]
        return batch, timed

    def _types(self, events: Events, paths: set[str]) -> dict[str, Type]:
        """As what each path is read; one of which nothing is known is left out."""
        found: dict[str, Type] = {}
        unknown = []
        for path in sorted(paths):
            declared = self._schema.type_of(path)
            if declared is None:
                unknown.append(path)
            else:
                found[path] = declared
        if unknown:
            look = _looked(events, unknown)
            found |= {path: look[path] for path in unknown if path in look}
        for path, type_ in found.items():
            if type_.is_list or not type_.kind.ordered:
                raise NotSupported(
                    f"{path} is {type_}: patterns join and partition by single values that can be compared"
                )
        return found

    def _time_type(self, events: Events) -> Type | None:
        declared = self._schema.type_of(TIME) or _looked(events, [TIME]).get(TIME)
        if declared is None:
            return None
        if declared.is_list or declared.kind not in _TIMES:
            raise InputError(f"the attribute 'time' is {declared}, not a time\nHint: patterns order events by it")
        return TIMESTAMP if declared.kind is Kind.STRING else declared


def _matcher(texts: Sequence[str], schema: Schema) -> Matcher:
    filters = Subscriptions(schema)
    for number, text in enumerate(texts):
        filters.add(str(number), text)
    return filters.compile()


def _looked(events: Events, paths: Sequence[str]) -> Mapping[str, Type]:
    """What the events themselves say of the types of these attributes."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        return infer_arrow(events.schema)
    found: dict[str, Any] = {}
    for path in paths:
        find = finder(path)
        seen = infer({"value": find(event)} for event in events)
        if "value" in seen:
            found[path] = seen["value"]
    return found


def _times(data: ColumnData, kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds since the epoch, and whether there are any; numbers are seconds."""
    assert isinstance(data, KeyColumn)  # as all kinds of times are
    if kind is Kind.TIMESTAMP:
        return data.keys, data.present
    if kind is Kind.DATE:
        return data.keys * _DAY, data.present
    if kind is Kind.FLOAT:
        seconds = np.where(data.keys >= 0, data.keys, data.keys ^ _SIGNLESS).view(np.float64)
        usable = data.present & (np.abs(seconds) < 9e12)
        return np.round(np.where(usable, seconds, 0) * 1e6).astype(np.int64), usable
    usable = data.present & (np.abs(data.keys) < 9_000_000_000_000)
    return np.where(usable, data.keys, 0) * 1_000_000, usable


def _latest_before(time: NDArray[np.int64], timed: NDArray[np.bool_], latest: int | None) -> NDArray[np.int64]:
    """The greatest time up to each event, `latest` among them; 0 where there is none."""
    before = _EARLIEST if latest is None else latest
    so_far = np.maximum.accumulate(np.maximum(np.where(timed, time, _EARLIEST), before))
    return np.where(so_far == _EARLIEST, 0, so_far)


def _stacked(arrays: Sequence[NDArray[Any]], none: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    return np.stack(arrays) if arrays else np.zeros(none, dtype)
