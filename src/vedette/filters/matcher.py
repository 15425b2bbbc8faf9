"""The result of `compile`: an immutable matcher that threads share, and that is saved and opened as a snapshot."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import InputError, NotSupported, UnknownSubscription
from vedette.filters.kernels.match_rows import MatchRows, events_of, joined
from vedette.filters.origins import Origin
from vedette.filters.segment import Segment
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.parser import parse
from vedette.lazy import once
from vedette.schema.encode import EncodedEvents, Reject, check_batch, check_event
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents

if TYPE_CHECKING:
    from vedette.filters.explain import FilterExplanation


class MatchPairs(NamedTuple):
    """Match i: event number `event[i]` (by row), subscription number `subscription[i]` (an index into `ids`)."""

    event: NDArray[np.int64]
    subscription: NDArray[np.int32]


class BaseMatcher(abc.ABC):
    """What all matchers have: matching against a view of the subscriptions."""

    @abc.abstractmethod
    def _view(self) -> SubscriptionView:
        """The current state."""

    def __len__(self) -> int:
        """The number of subscriptions."""
        return self._view().living

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, str):
            return False
        try:
            self._view().find(id_)
        except UnknownSubscription:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        """The ids of the subscriptions, in the order of addition."""
        for part in self._view().parts:
            yield from part.segment.records.keep(part.mask()).ids.to_pylist()

    @property
    def schema(self) -> Schema:
        """The schema by which events are read."""
        return self._view().schema

    @property
    def view(self) -> SubscriptionView:
        """The current state, which never changes."""
        return self._view()

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that an event matches, in the order of addition."""
        try:
            return self._view().match_one(event)
        except (AttributeError, TypeError, InputError):  # checked only now: it would slow every event
            check_event(event)
            raise

    def match_numbers(self, event: Mapping[str, Any]) -> list[int]:
        """As `match`, as numbers in ascending order: indexes into `ids`."""
        return self._view().number_one(event)

    def match_batch(
        self,
        events: Events,
        *,
        threads: int = 1,
        id_column: str | None = None,
        rejects: list[Reject] | None = None,
    ) -> pa.Table:
        """The matches of many events: a table (event, subscription), by event, then by the order of addition.

        `event` is the number of the row, or, with `id_column`, the value of that attribute. Events that break the
        schema are an error, or, if a list is passed as `rejects`, are put there and match nothing.
        """
        view = self._view()
        encoded = view.encode(events, rejects)
        ids = None if id_column is None else event_ids(events, id_column)
        return view.table(view.match(encoded, threads=threads, ordered=True), ids)

    def match_pairs(
        self,
        events: Events | EncodedEvents,
        *,
        threads: int = 1,
        ordered: bool = False,
        rejects: list[Reject] | None = None,
    ) -> MatchPairs:
        """As `match_batch`, as numbers, which is faster; within an event in any order, unless `ordered`."""
        rows = self.match_rows(events, threads=threads, ordered=ordered, rejects=rejects)
        return MatchPairs(events_of(rows), rows.subscription)

    def match_rows(
        self,
        events: Events | EncodedEvents,
        *,
        threads: int = 1,
        ordered: bool = False,
        rejects: list[Reject] | None = None,
    ) -> MatchRows:
        """As `match_pairs`, grouped: the subscriptions of event e are `subscription[start[e] : start[e + 1]]`."""
        view = self._view()
        encoded = events if isinstance(events, EncodedEvents) else view.encode(events, rejects)
        return joined(view.match(encoded, threads=threads, ordered=ordered))

    def encode(self, events: Events, *, rejects: list[Reject] | None = None) -> EncodedEvents:
        """Events as typed columns, for matching them more than once."""
        return self._view().encode(events, rejects)

    @property
    def ids(self) -> pa.LargeStringArray:
        """The ids that the numbers of `match_pairs` stand for."""
        return self._view().ids

    def text(self, id_: str) -> str | None:
        """The text of a subscription."""
        segment, ordinal = self._view().find(id_)
        return segment.records.text(ordinal)

    def subscriber(self, id_: str) -> str | None:
        """The subscriber of a subscription, if known."""
        segment, ordinal = self._view().find(id_)
        return segment.records.subscriber(ordinal)

    def origin(self, id_: str) -> dict[str, Any]:
        """The facts that a subscription's notifications carry: title, level, author; empty if there are none."""
        return self.origin_of(id_).told

    def origin_of(self, id_: str) -> Origin:
        """The origin of a subscription: these facts, the dialect it was written in, and the rule as it was written."""
        segment, ordinal = self._view().find(id_)
        return segment.records.origin(ordinal)

    def told(self) -> dict[str, str]:
        """Id -> the facts that its notifications carry, as JSON; only subscriptions that have some."""
        found: dict[str, str] = {}
        for part in self._view().parts:
            if part.segment.records.has_origins:
                found |= part.segment.records.keep(part.mask()).told()
        return found

    def explain(self, event: Mapping[str, Any], id_: str) -> FilterExplanation:
        """Explain why an event matches a subscription or does not: every part, the value seen, the nearest miss."""
        from vedette.filters.explain import explain

        check_event(event)
        return explain(self._checked(id_), event, origin=self.origin_of(id_))

    def failing(self, events: Events | Iterator[Mapping[str, Any]], id_: str) -> list[tuple[str, int]]:
        """The tests that kept events from matching a subscription, with the number of events; most frequent first."""
        from vedette.filters.explain import failing

        checked = self._checked(id_)
        if isinstance(events, pa.Table | pa.RecordBatch):
            events = TableEvents(events).dicts(path for column in checked.columns() for path in column.paths)
        elif not isinstance(events, Iterator):
            check_batch(events)
        return [(checked.text_of(leaf), count) for leaf, count in failing(checked, events)]

    def _checked(self, id_: str) -> CheckedExpression:
        text = self.text(id_)
        if text is None:
            raise NotSupported(f"subscription {id_!r} came without its text, so there is nothing to explain")
        return check(parse(text), self.schema, text)


class Matcher(BaseMatcher):
    """An immutable set of subscriptions, ready to match."""

    def __init__(self, view: SubscriptionView) -> None:
        self._fixed = view

    @classmethod
    def of(cls, segment: Segment, schema: Schema) -> Matcher:
        """A matcher from a built segment."""
        return cls(SubscriptionView(schema, (LiveSegment(segment),)))

    def _view(self) -> SubscriptionView:
        return self._fixed

    @property
    def segment(self) -> Segment:
        """The compiled set itself."""
        return self._fixed.parts[0].segment

    @once
    def version(self) -> str:
        """Twelve hexadecimal digits that identify the set of subscriptions.

        The same ids, subscribers, texts and schema have the same version, whatever index they were compiled into,
        and wherever; any difference gives another one.
        """
        found = hashlib.sha256(self.segment.records.digest())
        found.update("\n".join([f"closed: {self.schema.closed}", *sorted(str(self.schema).split("\n"))]).encode())
        if not self.segment.records.has_texts:  # without texts, only the compiled predicates can be hashed
            found.update(self.segment.digest())
        return found.hexdigest()[:12]

    @property
    def index(self) -> str:
        """The name of the index."""
        return self.segment.index.name

    @property
    def nbytes(self) -> int:
        """The size of constants, predicates and index in bytes; ids and texts are not counted."""
        return self.segment.nbytes

    def count_anew(self) -> None:
        """Reset the statistics of events, after events that only warmed it up. Most matchers have none."""

    def save(self, folder: str | Path) -> None:
        """Write a snapshot: a folder of plain arrays that `Matcher.open` maps into memory."""
        from vedette.filters.snapshot import save

        save(self.segment, self.schema, Path(folder))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = True) -> Matcher:
        """Open a snapshot and verify every byte by its checksum; DamageError says which file is damaged, and where.

        Without `verify` only samples are compared, in milliseconds: damage can then give wrong answers, or end the
        process.
        """
        from vedette.filters.snapshot import load

        return cls.of(*load(Path(folder), verify=verify))

    def __repr__(self) -> str:
        return f"<Matcher: {counted(len(self), 'subscription')}, index {self.index}, {self.nbytes:,} bytes>"

    def _repr_html_(self) -> str:
        facts = {
            "subscriptions": f"{len(self):,}",
            "conjunctions": f"{self.segment.conjunctions:,}",
            "index": self.index,
            "bytes": f"{self.nbytes:,}",
            "attributes": ", ".join(sorted({column.name for column in self._fixed.columns})),
        }
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts.items())
        return f"<table><caption>Matcher</caption>{rows}</table>"


def event_ids(events: Events, path: str) -> pa.Array:
    """The value of an attribute in every event."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        if path not in events.schema.names:
            raise InputError(f"the events have no column {path!r}\nHint: their columns are {events.schema.names}")
        column = events.column(path)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    find = finder(path)
    ids = [find(event) for event in events]
    if ids and all(id_ is None for id_ in ids):
        seen = sorted({str(name) for event in islice(events, 100) for name in event})
        raise InputError(f"no event has the attribute {path!r}\nHint: they have e.g. {', '.join(seen[:12]) or 'none'}")
    try:
        return pa.array(ids)
    except (pa.ArrowException, OverflowError):
        raise InputError(
            f"the values of {path!r} are of several types\nHint: ids are all texts or all numbers"
        ) from None


def counted(number: int, noun: str) -> str:
    """A number with its noun, singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
