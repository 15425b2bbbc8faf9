"""Matching with covering while subscriptions come and go.

It is a LiveMatcher whose large segment has two levels. What is new stands beside them until it is merged. One that is
cancelled goes on opening the second level to those that it covers, without being told of anything itself, so they are
found as before; at the next merge those stand where the covering set has put them by then. No reader ever sees one that
is in neither place, or in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vedette.covering.cover_set import Answer, CoveringSet
from vedette.covering.coverage import Decided, with_levels
from vedette.covering.matcher import CoveringMatcher, Savings, savings
from vedette.matching.draft import Entry
from vedette.matching.live import LiveMatcher
from vedette.matching.matcher import counted
from vedette.matching.segment import Drawn, Segment
from vedette.matching.view import Events


class LiveCoveringMatcher(LiveMatcher):
    """Add, remove and replace by id at any time; the covering set decides what is asked when."""

    def __init__(self, matcher: CoveringMatcher, found: CoveringSet, *, sample: Events | None = None) -> None:
        super().__init__(matcher, sample=sample)
        self._found = found
        self._known = matcher.found  # what the next large segment is built by

    @property
    def covered(self) -> Mapping[str, Answer]:
        """Those that others cover, and how."""
        with self._lock:
            return dict(self._found.covered)

    @property
    def savings(self) -> Savings:
        """What covering is worth; events are counted since the last merge."""
        with self._lock:
            return savings(len(self._found), len(self._found.covered), self._settled[0].segment)

    def frozen(self) -> CoveringMatcher:
        """The present state as an immutable matcher, e.g. to save it."""
        with self._lock:
            view, found = self._current, self._now_known()
        drawn = Drawn.concatenate([part.segment.drawn().keep(part.mask()) for part in view.parts])
        segment = Segment.build(drawn, index=self._index, sample=self._sampled(drawn))
        return CoveringMatcher.beside(segment, view.schema, found, self._sample)

    # ------------------------------------------------------------ under the lock

    def _clear(self, id_: str) -> None:
        super()._clear(id_)
        self._found.remove(id_)

    def _append(self, new: list[Entry]) -> None:
        for entry in new:
            self._found.add(entry.id, entry.when if entry.form.vetoes else entry.form)  # it has more room for boxes
        super()._append(new)

    def _begin_merge(self) -> None:
        # Who covers whom has to be of the same moment as the parts that are merged.
        self._known = self._now_known()
        super()._begin_merge()

    def _now_known(self) -> Decided:
        return replace(self._known, answers=dict(self._found.covered))

    def _large(self, drawn: Drawn) -> Segment:
        return with_levels(super()._large(drawn), self.schema, self._known, self._sample)

    def __repr__(self) -> str:
        return f"<LiveCoveringMatcher: {counted(len(self), 'subscription')}, {len(self._found.covered):,} covered>"
