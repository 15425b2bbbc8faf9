"""Judge whether other subscriptions cover one, box by box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, get_args
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from vedette.covering.box_decision import decide
from vedette.covering.boxes import Box, BoxSpace, DimensionSpan
from vedette.covering.candidates import BoxTable, CandidateTable, Owner
from vedette.covering.order_labels import FIRST
from vedette.errors import InputError

Method: TypeAlias = OneOf["auto", "pairwise", "sampling", "exact"]
SpacePoint: TypeAlias = Mapping[int, int]  # coordinates by dimension; in all others the value is missing

BUDGET = 20_000  # nodes of an exact search
_ORDER = ("pairwise", "exact", "sampling")  # of what a covered subscription owes its answer to


@dataclass(frozen=True, slots=True)
class CoverSettings:
    """Settings of the decision: see `vedette.covering.box_decision`."""

    method: Method = "auto"
    error: float = 1e-6
    budget: int = BUDGET

    def __post_init__(self) -> None:
        methods = get_args(Method)
        if self.method not in methods:
            raise InputError(f"there is no method {self.method!r}\nHint: the methods are {', '.join(methods)}")
        if not 0 < self.error < 1:
            raise InputError(f"error is {self.error}\nHint: it lies between 0 and 1, and is neither of them")
        if self.budget < 1:
            raise InputError(f"budget is {self.budget}\nHint: a search has at least one step")


@dataclass(frozen=True, slots=True)
class CoverVerdict(Generic[Owner]):
    """The verdict on a subscription. `error` bounds the probability of a wrong "covered"; it is 0 without sampling."""

    covered: bool
    method: str
    certain: bool
    by: tuple[Owner, ...] = ()
    error: float = 0.0
    witness: SpacePoint | None = None  # in the subscription, and in none of the others
    work: int = 0  # nodes searched, or points sampled


@dataclass(slots=True)
class CoverJudge(Generic[Owner]):
    """Judges subscriptions against a table of boxes."""

    space: BoxSpace
    table: BoxTable[Owner]
    settings: CoverSettings = field(default_factory=CoverSettings)

    def judge(self, boxes: Sequence[Box], seed: int = 0) -> CoverVerdict[Owner]:
        """Covered if each of its boxes is; one box that certainly is not decides it."""
        found: list[CoverVerdict[Owner]] = []
        for box in boxes:
            verdict = self._of_box(box, seed)
            if verdict.certain and not verdict.covered:
                return verdict
            found.append(verdict)
        work = sum(verdict.work for verdict in found)
        open_ = next((verdict for verdict in found if not verdict.covered), None)
        if open_ is not None:
            return open_
        return CoverVerdict(
            covered=True,
            method=max((verdict.method for verdict in found), key=_ORDER.index, default="never"),
            certain=all(verdict.certain for verdict in found),
            by=tuple(dict.fromkeys(owner for verdict in found for owner in verdict.by)),
            error=min(1.0, sum(verdict.error for verdict in found)),
            work=work,
        )

    def _of_box(self, given: Box, seed: int) -> CoverVerdict[Owner]:
        box = self.tied(given)
        rows, container = self.table.meeting(box)
        if container is not None:
            return CoverVerdict(covered=True, method="pairwise", certain=True, by=(container,))
        if not len(rows):
            return self._uncovered(given, "empty", {})
        whole = self.table.table(box, rows)
        kept, ends = needed_rows(whole)
        rows, rest = rows[kept], whole.select(kept)
        if not len(rows):
            return self._uncovered(given, "witness", ends)
        settings = self.settings
        made = decide(
            rest.own_low,
            rest.own_high,
            rest.low,
            rest.high,
            method=settings.method,
            error=settings.error,
            budget=settings.budget,
            seed=seed,
        )
        if made.covered:
            by = tuple(dict.fromkeys(self.table.owner(int(rows[row])) for row in made.by))
            return CoverVerdict(
                covered=True, method=made.method, certain=made.certain, by=by, error=made.error, work=made.work
            )
        if made.witness is None:
            return CoverVerdict(covered=False, method=made.method, certain=made.certain, work=made.work)
        point = dict(zip(rest.dimensions.tolist(), made.witness, strict=True)) | ends
        return self._uncovered(given, made.method, point, work=made.work)

    def tied(self, box: Box) -> Box:
        """The box in the form that is compared with others."""
        return box.with_spans(dict(self._tied(box)))

    def _tied(self, box: Box) -> Iterable[tuple[int, DimensionSpan]]:
        """If a column is present, each of its tests is true or false: constrain those that boxes need both ways."""
        for dimension, low in zip(box.dimensions, box.low, strict=True):
            meant = self.space.dimensions[dimension]
            if low >= FIRST and meant.test is None:
                for test in self.table.spanning_tests(meant.column):
                    if test not in box.dimensions:
                        yield test, self.space.dimensions[test].whole

    def _uncovered(self, box: Box, method: str, found: SpacePoint, work: int = 0) -> CoverVerdict[Owner]:
        """Certain if an event can lie there: values derived from others must not be able to exclude it."""
        point = self.table.free_ends() | dict(zip(box.dimensions, box.low, strict=True)) | dict(found)
        derived = self.space.derived
        certain = not any(derived[number] for number in box.dimensions) and not (
            1 in derived and self.table.may_hold(point)
        )
        return CoverVerdict(covered=False, method=method, certain=certain, witness=point, work=work)


def needed_rows(table: CandidateTable) -> tuple[NDArray[np.bool_], dict[int, int]]:
    """The rows that may be needed, and where a point has to lie that is in none of the others.

    If no row that leaves part of a dimension reaches the box's low end there, only rows that span it can cover
    that end, and if they do they cover the box everywhere: the others are not needed. The same holds at the high end.
    """
    low: NDArray[np.bool_] = table.low <= table.own_low
    high: NDArray[np.bool_] = table.high >= table.own_high
    spanning = low & high
    kept = np.ones(len(table.low), np.bool_)
    ends: dict[int, int] = {}
    while True:
        partial: NDArray[np.bool_] = ~spanning & kept[:, None]
        needed: NDArray[np.bool_] = np.any(partial, axis=0)
        reached_low: NDArray[np.bool_] = np.any(partial & low, axis=0)
        reached_high: NDArray[np.bool_] = np.any(partial & high, axis=0)
        without_low = needed & ~reached_low
        without_high = needed & ~reached_high & ~without_low
        columns = np.flatnonzero(without_low | without_high)
        if not len(columns):
            return kept, ends
        kept &= ~partial[:, columns].any(axis=1)
        for column in columns.tolist():
            at = table.own_low[column] if without_low[column] else table.own_high[column] - 1
            ends[int(table.dimensions[column])] = int(at)
