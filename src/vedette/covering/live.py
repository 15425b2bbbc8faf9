"""A live matcher with covering, whose subscriptions come and go.

It is a LiveMatcher whose large segment has two levels. New subscriptions are beside them until a merge. A cancelled
one still opens the second level to those that it covers, without being reported itself, so they are
found as before; at the next merge those move to where the covering set has put them by then. Readers never see one in
neither place, or in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.covering.coverage import CoverDecisions, decided_before, with_levels
from vedette.covering.matcher import CoveringMatcher, Savings, savings
from vedette.filters.live import LiveMatcher
from vedette.filters.matcher import counted
from vedette.filters.segment import DraftEntry, Segment, SegmentContent
from vedette.filters.subscription_view import Events


class LiveCoveringMatcher(LiveMatcher):
    """Add, remove and replace by id at any time; the covering set decides the level of each."""

    def __init__(self, matcher: CoveringMatcher, found: CoveringSet, *, sample: Events | None = None) -> None:
        super().__init__(matcher, sample=sample)
        self._found = found
        self._known = matcher.found  # what the next large segment is built by

    @classmethod
    def of(cls, matcher: CoveringMatcher, *, sample: Events | None = None) -> LiveCoveringMatcher:
        """A matcher that takes changes while it matches, starting from an immutable one."""
        found = decided_before(matcher.segment.records, matcher.schema, matcher.found)
        return cls(matcher, found, sample=sample)

    @property
    def covered(self) -> Mapping[str, CoverAnswer]:
        """The subscriptions that others cover, and how."""
        with self._lock:
            return dict(self._found.covered)

    @property
    def savings(self) -> Savings:
        """The savings by covering; events are counted since the last merge."""
        with self._lock:
            return savings(len(self._found), len(self._found.covered), self._settled[0].segment)

    def frozen(self) -> CoveringMatcher:
        """The current set as an immutable matcher, e.g. to save it."""
        with self._lock:
            view, found = self._current, self._now_known()
        drawn = SegmentContent.concatenate([part.segment.drawn().keep(part.mask()) for part in view.parts])
        segment = Segment.build(drawn, index=self._index, sample=self._sampled(drawn))
        return CoveringMatcher.beside(segment, view.schema, found, self._sample)

    # ------------------------------------------------------------ under the lock

    def _clear(self, id_: str) -> None:
        super()._clear(id_)
        self._found.remove(id_)

    def _append(self, new: list[DraftEntry]) -> None:
        for entry in new:
            self._found.add(entry.id, entry.when if entry.form.vetoes else entry.form)  # it has more room for boxes
        super()._append(new)

    def _begin_merge(self) -> None:
        # The covers have to be from the same moment as the parts that are merged.
        self._known = self._now_known()
        super()._begin_merge()

    def _now_known(self) -> CoverDecisions:
        return replace(self._known, answers=dict(self._found.covered))

    def _large(self, drawn: SegmentContent) -> Segment:
        return with_levels(super()._large(drawn), self.schema, self._known, self._sample)

    def __repr__(self) -> str:
        return f"<LiveCoveringMatcher: {counted(len(self), 'subscription')}, {len(self._found.covered):,} covered>"
