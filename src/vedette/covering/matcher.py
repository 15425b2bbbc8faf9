"""A matcher that asks about covered subscriptions only where those that cover them matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vedette.covering.cover_set import Answer
from vedette.covering.coverage import Decided, Told, decided, decided_before, with_levels
from vedette.covering.covers import BUDGET, Method
from vedette.covering.levels import Levels
from vedette.covering.trials import IN_LEVELS
from vedette.errors import InputError
from vedette.matching.indexes import DEFAULT
from vedette.matching.matcher import Matcher, counted
from vedette.matching.segment import Segment
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.view import Events, Part, View
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.covering.live import LiveCoveringMatcher


@dataclass(frozen=True, slots=True)
class Savings:
    """What covering is worth. `events` were matched level by level, all others in one index over everything."""

    subscriptions: int
    covered: int
    events: int
    reached: int  # of these, the events that covered subscriptions were asked about
    in_levels: bool  # how large batches are matched at present: whichever way is faster
    extra_bytes: int  # what the levels take beside the index over everything

    @property
    def active(self) -> int:
        """Subscriptions that no others cover."""
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

    def __init__(self, view: View, found: Decided) -> None:
        super().__init__(view)
        self.found = found

    @classmethod
    def compile(
        cls,
        subscriptions: Subscriptions,
        index: str = DEFAULT,
        *,
        sample: Events | None = None,
        method: Method = "auto",
        budget: int = BUDGET,
        told: Told | None = None,
        filters_only: bool = False,
    ) -> CoveringMatcher:
        """As `Subscriptions.compile`, after deciding which are covered, of which `told` hears how many are done."""
        if not isinstance(subscriptions, Subscriptions):
            raise InputError(
                f"a {type(subscriptions).__name__} is no set of subscriptions\nHint: make one: vedette.Subscriptions()"
            )
        plain = subscriptions.compile(index, sample=sample, filters_only=filters_only)
        found = decided(plain.segment.records, plain.schema, method=method, budget=budget, told=told)
        return cls.beside(plain.segment, plain.schema, Decided(dict(found.covered), method, budget), sample)

    @classmethod
    def beside(cls, segment: Segment, schema: Schema, found: Decided, sample: Events | None = None) -> CoveringMatcher:
        """Beside the index of a segment, given who covers whom."""
        return cls(View(schema, (Part(with_levels(segment, schema, found, sample)),)), found)

    @property
    def covered(self) -> Mapping[str, Answer]:
        """Those that others cover, and how."""
        return MappingProxyType(dict(self.found.answers))

    @property
    def levels(self) -> Levels | None:
        """The two levels; None where too few are covered to make them worth while."""
        found = self.segment.index
        return found if isinstance(found, Levels) else None

    @property
    def index(self) -> str:
        """The name of the index of each level."""
        return self.plain.index.name

    @property
    def plain(self) -> Segment:
        """The same without levels."""
        levels = self.levels
        return self.segment if levels is None else replace(self.segment, index=levels.flat)

    @property
    def savings(self) -> Savings:
        """What covering is worth so far."""
        return savings(len(self), len(self.found.answers), self.segment)

    def count_anew(self) -> None:
        """Forget the events so far: they were only to make ready."""
        if self.levels is not None:
            self.levels.count_anew()

    def live(self, *, sample: Events | None = None) -> LiveCoveringMatcher:
        """A matcher that takes changes while it matches, starting from this one."""
        from vedette.covering.live import LiveCoveringMatcher

        found = decided_before(self.segment.records, self.schema, self.found)
        return LiveCoveringMatcher(self, found, sample=sample)

    def save(self, folder: str | Path) -> None:
        """Write a snapshot: the matcher, its levels, and who covers whom."""
        from vedette.covering.snapshot import save

        save(self, Path(folder))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = False) -> CoveringMatcher:
        """Open a snapshot; `verify` reads every byte and compares its checksum."""
        from vedette.covering.snapshot import load

        return load(Path(folder), verify=verify)

    def __repr__(self) -> str:
        covered = f"{len(self.found.answers):,} covered"
        return f"<CoveringMatcher: {counted(len(self), 'subscription')}, {covered}, index {self.index}>"


def savings(subscriptions: int, covered: int, segment: Segment) -> Savings:
    """What covering is worth, from the levels of a segment."""
    index: Any = segment.index
    if not isinstance(index, Levels):
        return Savings(subscriptions, covered, 0, 0, in_levels=False, extra_bytes=0)
    return Savings(
        subscriptions, covered, *index.counts, in_levels=index.way == IN_LEVELS, extra_bytes=index.extra_bytes
    )
