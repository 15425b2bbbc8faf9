"""A matcher that tests covered subscriptions only where those that cover them matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vedette.covering.cover_judge import BUDGET, Method
from vedette.covering.cover_set import CoverAnswer
from vedette.covering.coverage import CoverDecisions, ProgressListener, cover_all, decided_before, with_levels
from vedette.covering.level_index import LevelIndex
from vedette.covering.speed_trials import IN_LEVELS
from vedette.errors import InputError
from vedette.filters.indexes import DEFAULT
from vedette.filters.matcher import Matcher, counted
from vedette.filters.segment import Segment
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.covering.live import LiveCoveringMatcher


@dataclass(frozen=True, slots=True)
class Savings:
    """The savings by covering. `events` were matched level by level, all others in one index of everything."""

    subscriptions: int
    covered: int
    events: int
    reached: int  # of these, the events that were matched with covered subscriptions
    in_levels: bool  # how large batches are matched at present: whichever way is faster
    extra_bytes: int  # what the levels take beside the index over everything

    @property
    def active(self) -> int:
        """The number of subscriptions that no others cover."""
        return self.subscriptions - self.covered

    def __str__(self) -> str:
        covered = (
            f"{self.covered:,} of {counted(self.subscriptions, 'subscription')} "
            f"{'is' if self.covered == 1 else 'are'} covered by others"
        )
        if not self.events:
            return f"{covered}; matching all of them together is faster"
        told = f"{covered}; {self.reached:,} of {counted(self.events, 'event')} reached them"
        return told if self.in_levels else f"{told}, then matching all of them together was faster"


class CoveringMatcher(Matcher):
    """An immutable set of subscriptions, with covered ones on a level of their own; the same matches as without."""

    def __init__(self, view: SubscriptionView, found: CoverDecisions) -> None:
        super().__init__(view)
        self.found = found

    @classmethod
    def compile(
        cls,
        subscriptions: SubscriptionSet,
        index: str = DEFAULT,
        *,
        sample: Events | None = None,
        method: Method = "auto",
        budget: int = BUDGET,
        told: ProgressListener | None = None,
    ) -> CoveringMatcher:
        """Compile the plain filters of a set, after deciding which are covered; `told` is called with the count."""
        if not isinstance(subscriptions, SubscriptionSet):
            raise InputError(
                f"a {type(subscriptions).__name__} is no set of subscriptions\nHint: make one: vedette.Subscriptions()"
            )
        plain = subscriptions.compile_filters(index, sample=sample)
        found = cover_all(plain.segment.records, plain.schema, method=method, budget=budget, told=told)
        return cls.beside(plain.segment, plain.schema, CoverDecisions(dict(found.covered), method, budget), sample)

    @classmethod
    def beside(
        cls, segment: Segment, schema: Schema, found: CoverDecisions, sample: Events | None = None
    ) -> CoveringMatcher:
        """Build the levels beside the index of a segment, from known covers."""
        return cls(SubscriptionView(schema, (LiveSegment(with_levels(segment, schema, found, sample)),)), found)

    @property
    def covered(self) -> Mapping[str, CoverAnswer]:
        """The subscriptions that others cover, and how."""
        return MappingProxyType(dict(self.found.answers))

    @property
    def levels(self) -> LevelIndex | None:
        """The two levels; None if too few are covered to make them worthwhile."""
        found = self.segment.index
        return found if isinstance(found, LevelIndex) else None

    @property
    def index(self) -> str:
        """The name of the index of each level."""
        return self.plain.index.name

    @property
    def plain(self) -> Segment:
        """The same matcher without levels."""
        levels = self.levels
        return self.segment if levels is None else replace(self.segment, index=levels.flat)

    @property
    def savings(self) -> Savings:
        """The savings by covering so far."""
        return savings(len(self), len(self.found.answers), self.segment)

    def count_anew(self) -> None:
        """Reset the counts, e.g. after warm-up events."""
        if self.levels is not None:
            self.levels.count_anew()

    def live(self, *, sample: Events | None = None) -> LiveCoveringMatcher:
        """A matcher that takes changes while it matches, starting from this one."""
        from vedette.covering.live import LiveCoveringMatcher

        found = decided_before(self.segment.records, self.schema, self.found)
        return LiveCoveringMatcher(self, found, sample=sample)

    def save(self, folder: str | Path) -> None:
        """Write a snapshot: the matcher, its levels, and the covers."""
        from vedette.covering.snapshot import save

        save(self, Path(folder))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = True) -> CoveringMatcher:
        """Open a snapshot; `verify` as in `Matcher.open`."""
        from vedette.covering.snapshot import load

        return load(Path(folder), verify=verify)

    def __repr__(self) -> str:
        covered = f"{len(self.found.answers):,} covered"
        return f"<CoveringMatcher: {counted(len(self), 'subscription')}, {covered}, index {self.index}>"


def savings(subscriptions: int, covered: int, segment: Segment) -> Savings:
    """The savings, from the levels of a segment."""
    index: Any = segment.index
    if not isinstance(index, LevelIndex):
        return Savings(subscriptions, covered, 0, 0, in_levels=False, extra_bytes=0)
    return Savings(
        subscriptions, covered, *index.counts, in_levels=index.way == IN_LEVELS, extra_bytes=index.extra_bytes
    )
