"""A matcher that tests covered subscriptions only where those that cover them matched; and its snapshots.

Such a folder is the snapshot of the matcher without covering, which opens by itself, and has in it

covering/   the two levels beside its index, and the covers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa

from vedette.covering.cover_judge import BUDGET, Method
from vedette.covering.cover_set import CoverAnswer
from vedette.covering.coverage import CoverDecisions, ProgressListener, cover_all, with_levels
from vedette.covering.level_index import IN_LEVELS, LevelIndex
from vedette.errors import InputError, SnapshotError
from vedette.filters.index import DEFAULT
from vedette.filters.matcher import Matcher, counted
from vedette.filters.segment import Segment
from vedette.filters.snapshot_files import MANIFEST, SnapshotReader, SnapshotWriter
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView
from vedette.schema.schema import Schema


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

    def save(self, folder: str | Path) -> None:
        """Write a snapshot: the matcher, its levels, and the covers."""

        save(self, Path(folder))

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = True) -> CoveringMatcher:
        """Open a snapshot; `verify` as in `Matcher.open`."""

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


_COVERING = "covering"
_ANSWERS = pa.schema(
    [
        ("subscription", pa.large_string()),
        ("by", pa.list_(pa.large_string())),
        ("method", pa.string()),
        ("certain", pa.bool_()),
        ("error", pa.float64()),
    ]
)


def save(matcher: CoveringMatcher, folder: Path) -> None:
    """Write both parts; an older snapshot there is replaced."""
    plain = Matcher.of(matcher.plain, matcher.schema)
    plain.save(folder)
    levels, found = matcher.levels, matcher.found
    with SnapshotWriter(folder / _COVERING) as writer:
        for name, array in ({} if levels is None else levels.arrays()).items():
            if not name.startswith("flat."):
                writer.array(f"levels.{name}", array)
        rows = [
            (each.subscription, list(each.by), each.method, each.certain, each.error) for each in found.answers.values()
        ]
        columns = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(_ANSWERS)]
        writer.arrow("answers", pa.RecordBatch.from_arrays(columns, schema=_ANSWERS))
        writer.finish({"plain": plain.version, "covered": len(rows), "method": found.method, "budget": found.budget})


def load(folder: Path, *, verify: bool = True) -> CoveringMatcher:
    """Load the matcher; SnapshotError if the parts are not what `save` wrote, or do not belong together."""
    plain = Matcher.open(folder, verify=verify)
    if not (folder / _COVERING / MANIFEST).exists():
        raise SnapshotError(f"{folder} was saved without covering\nHint: vedette.open opens it")
    reader = SnapshotReader(folder / _COVERING, verify=verify)
    if reader.facts.get("plain") != plain.version:
        raise SnapshotError(f"{folder}: who covers whom was saved with other subscriptions\nHint: save it again")
    try:
        segment, found = _segment(reader, plain.segment), _decided(reader)
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
        raise SnapshotError(f"{folder}: the snapshot does not fit together ({error})") from error
    return CoveringMatcher(SubscriptionView(plain.schema, (LiveSegment(segment),)), found)


def _segment(reader: SnapshotReader, segment: Segment) -> Segment:
    arrays: dict[str, Any] = {name.removeprefix("levels."): reader.array(name) for name in reader.names("levels.")}
    if not arrays:
        return segment
    arrays |= {f"flat.{name}": array for name, array in segment.index.arrays().items()}
    levels = LevelIndex.restore(segment.table, len(segment.codebook.ranks), arrays)
    if not np.array_equal(
        np.sort(np.concatenate((levels.plan.first, levels.plan.covered))), np.arange(segment.conjunctions)
    ):
        raise SnapshotError(f"{reader.folder}: the levels are not those of the conjunctions\nHint: save it again")
    return replace(segment, index=levels)


def _decided(reader: SnapshotReader) -> CoverDecisions:
    rows = reader.arrow("answers").to_pylist()
    if len(rows) != reader.facts["covered"] or reader.facts["method"] not in get_args(Method):
        raise SnapshotError(f"{reader.folder}: who covers whom is not what the manifest says")
    answers = {
        row["subscription"]: CoverAnswer(
            row["subscription"], True, tuple(row["by"]), row["method"], row["certain"], row["error"]
        )
        for row in rows
    }
    return CoverDecisions(answers, cast("Method", reader.facts["method"]), reader.facts["budget"])
