"""Turn events into batches for patterns: which filters of steps they satisfy, their times, joins and partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import FilterError, InputError, NotSupported
from vedette.filters.matcher import Matcher
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events
from vedette.operators.calling import Calling
from vedette.operators.event_sources import EventSource
from vedette.operators.matcher import OperatorMatcher
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.event_times import looked_at, times_of
from vedette.patterns.machines import PatternNumbering
from vedette.patterns.single_event_reader import NeedsBatchReader, SingleEvent, SingleEventReader
from vedette.patterns.values import Values, coded, partition_keys
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.infer import infer
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import Type


class PatternReader:
    """Reads events for some patterns. Without a `calling` it cannot read: others do, and need to have the operators."""

    def __init__(self, numbers: PatternNumbering, schema: Schema, calling: Calling | None) -> None:
        self._schema = schema
        self._columns = list(numbers.columns)
        self._keys = list(numbers.keys)
        self._matcher = None if calling is None else _matcher(numbers.texts(), schema, calling)
        # Operators are called for batches only.
        self._one = (
            SingleEventReader(self._matcher, schema, self._columns, self._keys)
            if isinstance(self._matcher, Matcher)
            else None
        )

    @property
    def operators(self) -> OperatorMatcher | None:
        """The matcher of those filters of steps; None if none of them calls operators."""
        return self._matcher if isinstance(self._matcher, OperatorMatcher) else None

    def read_one(self, event: Mapping[str, Any]) -> SingleEvent:
        """Read a single event, fast; NeedsBatchReader if only `read` can."""
        if self._one is None:
            raise NeedsBatchReader
        return self._one.read(event)

    def read(
        self,
        events: Events,
        first: int,
        latest: int | None,
        rejects: list[Reject] | None,
        ids: Sequence[object] | None = None,
        source: EventSource | None = None,
        refused: Collection[int] = (),
    ) -> tuple[PatternBatch, NDArray[np.bool_]]:
        """Read events as a batch numbered from `first`, and find which of them have a time of their own.

        An event without one gets the latest time before it, of the batch and `latest`. One that breaks the schema is an
        error, or, if a list is given, is put there and left out, as are those that others have `refused`, by their
        rows. If others evaluate operators for the same events, all share one `source` of results.
        """
        if self._matcher is None:
            raise RuntimeError("this one only follows what others have read")
        broken: list[Reject] = []
        encoded = self._matcher.encode(events, rejects=None if rejects is None else broken)
        if isinstance(self._matcher, OperatorMatcher):
            if source is None:
                source = EventSource(events, self._schema, _called(ids, first, encoded.size))
            rows = self._matcher.match_rows(encoded, source)
        else:
            rows = self._matcher.match_rows(encoded, ordered=True)
        size = encoded.size
        times = times_of(events, self._schema)
        if refused:
            known = times.known.copy()
            known[[*refused]] = False  # they do not count, and neither do their times
            times = replace(times, known=known)
        columns, keys, wrong = self._joined_values(events, size, lenient=rejects is not None)
        wrong += times.rejects
        if wrong and rejects is None:
            raise _worst(wrong, first)
        broken += wrong
        timed = times.known
        batch = PatternBatch(
            np.arange(first, first + size),
            times.filled(latest),
            rows.start.astype(np.int64),
            rows.subscription.astype(np.int32),
            _stacked([key for key, _ in keys], (0, size, 2), np.int64),
            _stacked([known for _, known in keys], (0, size), np.bool_),
            _stacked([value for value, _ in columns], (0, size, 2), np.int64),
            _stacked([known for _, known in columns], (0, size), np.bool_),
        )
        if broken and rejects is not None:
            found = {each.row: each for each in broken if each.row not in refused}
            rejects += [found[row] for row in sorted(found)]
        if broken or refused:
            accepted = np.ones(size, np.bool_)
            accepted[[*(each.row for each in broken), *refused]] = False
            batch, timed = batch.take(np.flatnonzero(accepted)), timed[accepted]
        return batch, timed

    def _joined_values(
        self, events: Events, size: int, *, lenient: bool
    ) -> tuple[list[Values], list[Values], list[Reject]]:
        """The values that joins compare, those that partition the events, and the events that break the schema."""
        paths = {*self._columns, *(path for keys in self._keys for path in keys)}
        types = self._types(events, paths, lenient=lenient)
        read = encode(events, [Column(path, type_) for path, some in types.items() for type_ in some], self._schema)
        values = {
            path: _either([coded(read.data[Column(path, type_)], type_.kind) for type_ in some])
            for path, some in types.items()
        }
        nothing: Values = (np.zeros((size, 2), np.int64), np.zeros(size, np.bool_))
        columns = [values.get(path, nothing) for path in self._columns]
        keys = [partition_keys([values.get(path, nothing) for path in paths]) for paths in self._keys]
        return columns, keys, [*read.rejects]

    def _types(self, events: Events, paths: set[str], *, lenient: bool) -> dict[str, list[Type]]:
        """The type by which each path is read; a path whose type is unknown is left out.

        Where events may be wrong, they may also disagree about the type of an attribute, and one of them must not
        decide for the others: every single value is read by its own type, and a list counts as missing.
        """
        found: dict[str, list[Type]] = {}
        unknown = []
        for path in sorted(paths):
            declared = self._schema.type_of(path)
            if declared is None:
                unknown.append(path)
            else:
                found[path] = [declared]
        if unknown and lenient and not isinstance(events, pa.Table | pa.RecordBatch):
            found |= {path: some for path in unknown if (some := _singles(events, path))}
        elif unknown:
            look = looked_at(events, unknown)
            found |= {path: [look[path]] for path in unknown if path in look}
        for path, some in found.items():
            for type_ in some:
                if type_.is_list or not type_.kind.ordered:
                    raise NotSupported(
                        f"{path} is {type_}: patterns join and partition by single values that can be compared"
                    )
        return found


def _singles(events: Sequence[Mapping[str, Any]], path: str) -> list[Type]:
    """The types of the single values of an attribute: texts, booleans, numbers and others separately."""
    find = finder(path)
    groups: dict[object, list[Any]] = {}
    for value in map(find, events):
        if value is not None and not isinstance(value, list | tuple | set | Mapping):
            kind = next((each for each in (str, bool, int, float) if isinstance(value, each)), None)
            groups.setdefault(int if kind is float else kind, []).append(value)
    types = [infer({"value": value} for value in some).type_of("value") for some in groups.values()]
    return [each for each in types if each is not None and not each.is_list and each.kind.ordered]


def _either(some: Sequence[Values]) -> Values:
    """Combine several readings of the same rows; at most one of them knows a row."""
    values, known = some[0]
    for more, there in some[1:]:
        values, known = np.where(there[:, None], more, values), known | there
    return values, known


def _called(ids: Sequence[object] | None, first: int, size: int) -> list[str]:
    """Names of events in failures of operators: their ids, or, without one, their numbers."""
    given = [None] * size if ids is None else ids
    return [str(first + row if id_ is None else id_) for row, id_ in enumerate(given)]


def _matcher(texts: Sequence[str], schema: Schema, calling: Calling) -> Matcher | OperatorMatcher:
    filters = SubscriptionSet(schema)
    for number, text in enumerate(texts):
        filters.add(str(number), text)
    if not filters.with_operators:
        return filters.compile_filters()
    try:
        return calling.matcher(filters)
    except FilterError as error:
        raise error.of("a step of a pattern, or a feature of its forecast") from None


def _stacked(arrays: Sequence[NDArray[Any]], none: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    return np.stack(arrays) if arrays else np.zeros(none, dtype)


def _worst(wrong: Sequence[Reject], first: int) -> InputError:
    """The error for the first event that breaks the schema."""
    worst = min(wrong, key=lambda each: each.row)
    return InputError(
        f"event {first + worst.row}: attribute {worst.attribute!r}: {worst.reason}\n"
        "Hint: with a list as `rejects` such events are put there, and do not count"
    )
