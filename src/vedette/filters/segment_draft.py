"""Collects subscriptions, added one after another, from which a segment is built."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from vedette.filters.clause_builder import ClauseBuilder
from vedette.filters.origins import Origin
from vedette.filters.segment import SegmentContent
from vedette.filters.subscription_table import SubscriptionTable
from vedette.language.normalform import NormalForm


class DraftEntry(NamedTuple):
    """A subscription that was read and normalised, ready to be added to a draft."""

    id: str
    when: str
    form: NormalForm
    subscriber: str | None = None
    origin: Origin | None = None


class SegmentDraft:
    """Filters for a segment to be built, as arrays; append-only, so that ordinals stay."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.subscribers: list[str | None] = []
        self.origins: dict[int, Origin] = {}  # of those that have one
        self._repeats = bytearray()
        self._owner = array("i")
        self._vetoes: list[tuple[int, int]] = []  # from which conjunction up to which, of those that have some
        self._builder = ClauseBuilder()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tests(self) -> int:
        """Number of tests of all of them: a filter may have a few, or many thousands."""
        return self._builder.tests

    def append(
        self, id_: str, when: str, form: NormalForm, subscriber: str | None, origin: Origin | None = None
    ) -> int:
        """Add a subscription; returns its ordinal."""
        ordinal = len(self.ids)
        first = self._builder.size
        repeats = self._builder.add(form)
        if form.vetoes:
            begin = self._builder.size
            self._builder.add_vetoes(form)
            self._vetoes.append((begin, self._builder.size))
        self._owner.extend([ordinal] * (self._builder.size - first))
        self.ids.append(id_)
        self.texts.append(when)
        self.subscribers.append(subscriber)
        if origin is not None:
            self.origins[ordinal] = origin
        self._repeats.append(repeats)
        return ordinal

    def drawn(self) -> SegmentContent:
        """The content added so far."""
        vetoes = np.zeros(self._builder.size if self._vetoes else 0, np.bool_)
        for begin, end in self._vetoes:
            vetoes[begin:end] = True
        return SegmentContent(
            self._builder.clauses(),
            np.array(self._owner, np.int32),
            np.frombuffer(bytes(self._repeats), np.bool_),
            SubscriptionTable.of(self.ids, self.texts, self.subscribers, self.origins),
            vetoes,
        )
