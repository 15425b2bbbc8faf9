"""What runs in Spark's Python workers: columns in, for every event what plain filters and operators found of it.

Plain filters answer with one text per event, as they do alone (`vedette.spark.worker`), those that call operators with
a list of labels and bindings. Both look at the events of many batches of Spark at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from vedette.errors import VedetteError
from vedette.matching.operator_records import OperatorRecord
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher, OperatorMatches
from vedette.operators.sources import EventSource
from vedette.operators.values import as_text
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.spark.operators.hosted import hosted
from vedette.spark.operators.reports import Caller
from vedette.spark.snapshots import Shipped, opened
from vedette.spark.worker import gathered, label_of, labels_kept, texts_of, with_rejects

TEXT, FOUND = "text", "found"
RETURNED: Final = f"`{TEXT}` string, `{FOUND}` array<struct<label: string, bindings: map<string, string>>>"
_FOUND = pa.list_(pa.struct([("label", pa.string()), ("bindings", pa.map_(pa.string(), pa.string()))]))
_FIRST_SLICE = 256  # events that are matched before it is known how many matches they have
_MATCHES = 4_000_000  # at a time, about


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters that call operators: what workers plan."""

    version: str
    records: tuple[OperatorRecord, ...]
    schema: Schema

    def matcher(self, calling: Calling) -> OperatorMatcher:
        """Planned, with what is known of the operators."""
        own = Subscriptions(self.schema)
        for record in self.records:
            own.add(record.id, record.text, subscriber=record.subscriber)
        return calling.matcher(own)


def filters_of(records: tuple[OperatorRecord, ...], schema: Schema, beside: str = "") -> Filters:
    """Filters with a name of their own; what is matched `beside` them counts."""
    hashed = hashlib.blake2b(beside.encode(), digest_size=6)
    for record in records:
        hashed.update(repr((record.id, record.text, record.subscriber)).encode())
    return Filters(hashed.hexdigest(), records, schema)


@dataclass(frozen=True, slots=True)
class Task:
    """All that travels to a worker."""

    plain: Shipped
    filters: Filters
    caller: Caller
    columns: tuple[Column, ...]  # that are read of every event
    names: tuple[str, ...]  # of the columns that it gets
    named: bool  # behind them comes what each event is called
    subscribers: bool  # are wanted in labels
    escaped: bool  # some label has one of the characters that mean something


def calling(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all its batches: each a tuple of columns."""

    # Spark tells by these hints what kind of function it is.
    def found(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        try:
            with hosted(task.caller) as host:
                worker = _Worker(task, host.kept(task.filters.version, task.filters.matcher))
                for batch in gathered(batches, (*task.names, *([""] if task.named else []))):
                    yield from worker.found(batch)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return found


class _Worker:
    """Matches batch after batch, in slices that are as large as their matches allow."""

    def __init__(self, task: Task, matcher: OperatorMatcher) -> None:
        self._task = task
        self._plain = opened(task.plain)
        self._matcher = matcher
        self._labels = labels_kept(task.plain, task.subscribers, task.escaped)
        self._own = [
            label_of(each.id, each.subscriber if task.subscribers else None, task.escaped)
            for each in task.filters.records
        ]
        self._slice = _FIRST_SLICE
        self._begun = 0

    def found(self, batch: pa.RecordBatch) -> Iterator[pa.Array]:
        """Of all events of a batch, in one array or several."""
        begin = 0
        while begin < batch.num_rows:
            part = batch.slice(begin, self._slice)
            begin += part.num_rows
            called = self._called(part)
            events = part.select(range(len(self._task.names)))
            encoded = encode(events, self._task.columns, self._task.filters.schema)
            rows = self._plain.match_rows(encoded)
            found = self._matcher.matches(encoded, source=EventSource(events, self._task.filters.schema, called))
            several = len(rows.subscription) + len(found.event)
            self._slice = min(max(64, int(_MATCHES * part.num_rows / max(1, several))), 8 * self._slice)
            lists = _lists(found, self._own, part.num_rows)
            first = 0
            for text in with_rejects(texts_of(rows, self._labels, None), encoded):
                yield _struct(text, lists.slice(first, len(text)))
                first += len(text)

    def _called(self, part: pa.RecordBatch) -> Sequence[str]:
        """What events are called where operators fail: by their ids, or by their numbers among those of the task."""
        numbers = range(self._begun, self._begun + part.num_rows)
        self._begun += part.num_rows
        given = part.column(part.num_columns - 1).to_pylist() if self._task.named else [None] * part.num_rows
        return [f"number {number}" if id_ is None else id_ for number, id_ in zip(numbers, given, strict=True)]


def _lists(found: OperatorMatches, labels: Sequence[str], events: int) -> pa.Array:
    """A list for every event, of a label and bindings for every match."""
    ends = np.searchsorted(found.event, np.arange(events + 1)).astype(np.int32)
    texts = [
        None if not bindings else [(name, as_text(value)) for name, value in bindings.items()]
        for bindings in found.bindings
    ]
    fields = [
        pa.array([labels[place] for place in found.subscription.tolist()], pa.string()),
        pa.array(texts, pa.map_(pa.string(), pa.string())),
    ]
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays(fields, ["label", "bindings"]))


def _struct(text: pa.Array, found: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([text, found.cast(_FOUND)], [TEXT, FOUND])
