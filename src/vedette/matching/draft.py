"""Subscriptions as they are added, one after another, on their way to a segment."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from vedette.language.normalform import NormalForm
from vedette.matching.clause_builder import ClauseBuilder
from vedette.matching.origins import Origin
from vedette.matching.records import Records
from vedette.matching.segment import Drawn


class Entry(NamedTuple):
    """A subscription that was read, ready to be kept."""

    id: str
    when: str
    form: NormalForm
    subscriber: str | None = None
    origin: Origin | None = None


class Draft:
    """Takes normal forms and keeps arrays; what is added keeps its ordinal."""

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

    def append(
        self, id_: str, when: str, form: NormalForm, subscriber: str | None, origin: Origin | None = None
    ) -> int:
        """Add one; returns its ordinal."""
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

    def drawn(self) -> Drawn:
        """All that was added so far."""
        vetoes = np.zeros(self._builder.size if self._vetoes else 0, np.bool_)
        for begin, end in self._vetoes:
            vetoes[begin:end] = True
        return Drawn(
            self._builder.clauses(),
            np.array(self._owner, np.int32),
            np.frombuffer(bytes(self._repeats), np.bool_),
            Records.of(self.ids, self.texts, self.subscribers, self.origins),
            vetoes,
        )
