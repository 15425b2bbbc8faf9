"""Events -> batches: which filters of steps they satisfy, when they were, and what joins and partitions them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.machines import Numbers
from vedette.composite.one import One, OneReader, Unusual
from vedette.composite.times import looked_at, times_of
from vedette.composite.values import Values, coded, partition_keys
from vedette.errors import FilterError, InputError, NotSupported
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.view import Events
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.sources import EventSource
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.infer import infer
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import Type


class Reader:
    """Reads events for some patterns. Without a `calling` it reads none: others do, and operators need not be here."""

    def __init__(self, numbers: Numbers, schema: Schema, calling: Calling | None) -> None:
        self._schema = schema
        self._columns = list(numbers.columns)
        self._keys = list(numbers.keys)
        self._matcher = None if calling is None else _matcher(numbers.texts(), schema, calling)
        # Operators are called for batches only.
        self._one = (
            OneReader(self._matcher, schema, self._columns, self._keys) if isinstance(self._matcher, Matcher) else None
        )

    @property
    def operators(self) -> OperatorMatcher | None:
        """What matches the filters of steps; None where none of them calls operators."""
        return self._matcher if isinstance(self._matcher, OperatorMatcher) else None

    def read_one(self, event: Mapping[str, Any]) -> One:
        """A single event, quickly; Unusual if only `read` can take it."""
        if self._one is None:
            raise Unusual
        return self._one.read(event)

    def read(
        self,
        events: Events,
        first: int,
        latest: int | None,
        rejects: list[Reject] | None,
        ids: Sequence[object] | None = None,
        source: EventSource | None = None,
    ) -> tuple[Batch, NDArray[np.bool_]]:
        """The events as a batch numbered from `first`, and which of them have a time of their own.

        An event without one has the latest time before it, of the batch and `latest`. One that breaks the schema is an
        error, or, if a list is handed in, is put there and left out. Operators ask a `source` of the events, if others
        ask it, too.
        """
        if self._matcher is None:
            raise RuntimeError("this one only follows what others have read")
        refused: list[Reject] = []
        encoded = self._matcher.encode(events, rejects=None if rejects is None else refused)
        if isinstance(self._matcher, OperatorMatcher):
            if source is None:
                source = EventSource(events, self._schema, _called(ids, first, encoded.size))
            rows = self._matcher.match_rows(encoded, source)
        else:
            rows = self._matcher.match_rows(encoded, ordered=True)
        size = encoded.size
        paths = {*self._columns, *(path for keys in self._keys for path in keys)}
        types = self._types(events, paths, lenient=rejects is not None)
        read = encode(events, [Column(path, type_) for path, some in types.items() for type_ in some], self._schema)
        times = times_of(events, self._schema)
        wrong = [*read.rejects, *times.rejects]
        if wrong and rejects is None:
            worst = min(wrong, key=lambda each: each.row)
            raise InputError(
                f"event {first + worst.row}: attribute {worst.attribute!r}: {worst.reason}\n"
                "Hint: with a list as `rejects` such events are put there, and do not count"
            )
        refused += wrong
        values = {
            path: _either([coded(read.data[Column(path, type_)], type_.kind) for type_ in some])
            for path, some in types.items()
        }
        nothing: Values = (np.zeros((size, 2), np.int64), np.zeros(size, np.bool_))
        columns = [values.get(path, nothing) for path in self._columns]
        keys = [partition_keys([values.get(path, nothing) for path in paths]) for paths in self._keys]
        timed = times.known
        batch = Batch(
            np.arange(first, first + size),
            times.filled(latest),
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

    def _types(self, events: Events, paths: set[str], *, lenient: bool) -> dict[str, list[Type]]:
        """As what each path is read; one of which nothing is known is left out.

        Where events may be wrong, they may also disagree about the type of an attribute, and one of them must not
        decide for the others: every single value is read as what it is, and a list counts as if nothing was there.
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
    """The types of the single values of an attribute: those of texts, truths, numbers and the rest, each by itself."""
    find = finder(path)
    groups: dict[object, list[Any]] = {}
    for value in map(find, events):
        if value is not None and not isinstance(value, list | tuple | set | Mapping):
            kind = next((each for each in (str, bool, int, float) if isinstance(value, each)), None)
            groups.setdefault(int if kind is float else kind, []).append(value)
    types = [infer({"value": value} for value in some).type_of("value") for some in groups.values()]
    return [each for each in types if each is not None and not each.is_list and each.kind.ordered]


def _either(some: Sequence[Values]) -> Values:
    """What is known by one of several readings of the same rows; no two know of the same row."""
    values, known = some[0]
    for more, there in some[1:]:
        values, known = np.where(there[:, None], more, values), known | there
    return values, known


def _called(ids: Sequence[object] | None, first: int, size: int) -> list[str]:
    """What events are called where operators fail: by their ids, or, without one, by their numbers."""
    given = [None] * size if ids is None else ids
    return [str(first + row if id_ is None else id_) for row, id_ in enumerate(given)]


def _matcher(texts: Sequence[str], schema: Schema, calling: Calling) -> Matcher | OperatorMatcher:
    filters = Subscriptions(schema)
    for number, text in enumerate(texts):
        filters.add(str(number), text)
    if not filters.with_operators:
        return filters.compile()
    try:
        return calling.matcher(filters)
    except FilterError as error:
        raise error.of("a step of a pattern, or a feature of its forecast") from None


def _stacked(arrays: Sequence[NDArray[Any]], none: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    return np.stack(arrays) if arrays else np.zeros(none, dtype)
