"""Filters that call operators, matched beside the plain ones of the same set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import FilterError, NotSupported
from vedette.files.notices import MATCH, Notice, Notices
from vedette.files.operator_calls import OperatorCalls
from vedette.kernels.rows import Rows, events_of
from vedette.matching.indexes import DEFAULT
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher, OperatorMatches
from vedette.operators.sources import EventSource, Shared
from vedette.schema.encode import Encoded


class Told(NamedTuple):
    """Matches of all filters, and what those with variables say beyond it."""

    rows: Rows
    notices: Notices


class OperatorFilters:
    """Takes what plain filters found and adds what those with operators find, in the order of addition.

    The plain ones stay with a matcher of their own, which is as quick as if there were no others.
    """

    def __init__(self, subscriptions: Subscriptions, calling: Calling, *, index: str) -> None:
        own = Subscriptions(subscriptions.schema)
        for record in subscriptions.with_operators.values():
            own.add(record.id, record.text, subscriber=record.subscriber)
        filters = [id_ for id_ in subscriptions if id_ not in subscriptions.patterns]
        calls = np.array([id_ in subscriptions.with_operators for id_ in filters], np.bool_)
        self._begin(calling.matcher(own, index=index), calls, filters)

    @classmethod
    def placed(cls, matcher: OperatorMatcher, calls: NDArray[np.bool_]) -> Self:
        """Where only numbers are told: those that call operators, planned, and where they are among all filters."""
        made = cls.__new__(cls)
        made._begin(matcher, calls, [])
        return made

    def _begin(self, matcher: OperatorMatcher, calls: NDArray[np.bool_], ids: Sequence[str]) -> None:
        self.matcher, self.calls = matcher, calls
        self.ids = pa.array(ids, pa.large_string())  # of all filters
        self._plain_places, self._places = np.flatnonzero(~calls), np.flatnonzero(calls)
        self._index = Matcher.of(matcher.plan.segment, matcher.schema)

    @property
    def binds(self) -> bool:
        """Some filter has variables, whose values are told."""
        return bool(self.matcher.plan.asked.bound.any())

    def candidates(self, encoded: Encoded) -> int:
        """How many alternatives events leave to operators; these are not called."""
        return len(self._index.match_rows(encoded).subscription)

    def told(self, plain: Rows, encoded: Encoded, events: Any, ids: Any, shared: Shared | None = None) -> Told:
        """All matches of the events; `plain` are those of the plain filters, `shared` what others found of events."""
        found = self.matcher.matches(encoded, source=EventSource(events, self.matcher.schema, ids, shared))
        rows, places = self._merged(plain, found)
        said = [number for number, bindings in enumerate(found.bindings) if bindings]
        notices = [Notice(MATCH, {}, _known(found.bindings[number])) for number in said]
        return Told(rows, Notices(places[said], notices))

    def _merged(self, plain: Rows, found: OperatorMatches) -> tuple[Rows, NDArray[np.int64]]:
        """Both in one order, and where those found by operators are in it."""
        size, events = len(self.calls), len(plain.start) - 1
        key = events_of(plain).astype(np.int64) * size + self._plain_places[plain.subscription]
        own = found.event * size + self._places[found.subscription]
        before = np.searchsorted(key, own)
        key = np.insert(key, before, own)
        start = np.searchsorted(key, np.arange(events + 1) * size).astype(np.int64)
        return Rows(start, (key % size).astype(np.int32)), before + np.arange(len(own))


def operator_filters(
    subscriptions: Subscriptions, calls: OperatorCalls, calling: Calling, source: str, *, index: str = DEFAULT
) -> OperatorFilters:
    """Those of a set that was read from a file; BadSubscriptions says of all of them which call makes no sense."""
    try:
        return OperatorFilters(subscriptions, calling, index=index)
    except (FilterError, NotSupported):
        calls.refuse_wrong(subscriptions.schema, source)
        raise


def _known(bindings: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if bindings is None else bindings
