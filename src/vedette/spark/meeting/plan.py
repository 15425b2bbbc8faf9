"""Chooses the designs to join by, from their estimated cost on a sample of both sides.

The asking side is the one whose attributes all have to be on the other side (both, where only shared ones count, if all
disjuncts share one). Each of its disjuncts is joined by the first design whose attributes it has. Designs of several
axes come first, for frequent combinations of attributes; then one for every attribute, the most selective first.
Disjuncts of the other side are in the cells of all designs whose attributes they have.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import LimitError
from vedette.meeting.direction import Direction
from vedette.spark.meeting.axes import BinAxis, BinReach, axes_of, with_bits
from vedette.spark.meeting.cells import PATHS, CellDesign, allowed_masks, sizes, wide_masks
from vedette.spark.meeting.terms import CommonAttribute, TermColumns

Signature: TypeAlias = frozenset[int]
Masks: TypeAlias = NDArray[np.int64]
SIGNATURES = 50_000  # distinct ones of which the driver keeps count
_COMBINED = 6  # designs of several axes, at most
_SHARE = 0.02  # of the disjuncts of the side that asks a design should be for more than that
_TRIED = 256  # disjuncts of a side that a design is judged by
_ROW, _CANDIDATE = 60.0, 1.0  # what a row in a cell costs, and two rows in the same one
_BETTER = 0.9  # another axis has to save a tenth


@dataclass(frozen=True)
class MeetingPlan:
    """All that is needed to turn disjuncts into keys: the same for both sides."""

    direction: Direction
    attributes: tuple[CommonAttribute, ...]  # that both sides speak of
    designs: tuple[CellDesign, ...]
    apart: Mapping[Signature, int] = field(default_factory=dict)  # open: subscribed signatures, numbered
    shared: bool = False  # open: designs are for the first attribute in common

    @property
    def asking(self) -> int | None:
        """The side whose attributes all have to be on the other side; None: neither."""
        return {"publication": 0, "subscription": 1}.get(self.direction)

    @functools.cached_property
    def numbers(self) -> dict[str, int]:
        """Numbers of the attributes, by path."""
        return {attribute.path: number for number, attribute in enumerate(self.attributes)}

    @property
    def apart_path(self) -> int:
        """The path of pairs that share no attribute."""
        return self.designs[-1].path + self.designs[-1].paths if self.designs else 0

    def first(self, signature: Signature) -> CellDesign | None:
        """The design by which a disjunct of the asking side is joined."""
        return next((design for design in self.designs if design.attributes <= signature), None)


@dataclass(frozen=True, slots=True)
class SideSample:
    """A sample of a side, and its total figures."""

    columns: Sequence[TermColumns]  # of a sample of its disjuncts
    disjuncts: int  # of the sample
    total: int  # of the whole side
    signatures: Mapping[Signature, int]  # and how many disjuncts have them
    complete: bool  # all signatures are there


def planned(
    direction: Direction, attributes: Sequence[CommonAttribute], sides: tuple[SideSample, SideSample]
) -> MeetingPlan:
    """Choose the designs."""
    plan = MeetingPlan(direction, tuple(attributes), ())
    search = _DesignSearch(attributes, sides, plan.asking or 0)
    singles = search.singles()
    if plan.asking is None:
        core = frozenset.intersection(*(signature for side in sides for signature in side.signatures))
        if core and all(side.complete for side in sides):
            return replace(plan, designs=_placed([search.combined(core)]))
        numbered = {signature: number for number, signature in enumerate(sides[1].signatures)}
        if not all(side.complete for side in sides):
            raise LimitError(
                f"more than {SIGNATURES:,} combinations of attributes cannot be met with direction 'open' on Spark",
                hint="use the direction publication or subscription, or vedette.meet",
            )
        return replace(plan, designs=_placed(singles), apart=numbered, shared=True)
    asking = sides[plan.asking]
    combined = list(search.combinations())
    nothing = CellDesign((), frozenset())
    wanted = replace(plan, designs=(*combined, *singles, nothing))
    used = [wanted.first(signature) for signature in asking.signatures] if asking.complete else list(wanted.designs)
    return replace(plan, designs=_placed(design for design in wanted.designs if any(design is one for one in used)))


def _placed(designs: Iterable[CellDesign]) -> tuple[CellDesign, ...]:
    made: list[CellDesign] = []
    path = 0
    for design in designs:
        made.append(replace(design, path=path))
        path += design.paths
    if path >= PATHS:
        raise LimitError(
            f"constraints with {len(made):,} attributes cannot be met on Spark", hint="use vedette.meet, or fewer"
        )
    return tuple(made)


class _DesignSearch:
    """Estimates the cost of designs by a sample."""

    def __init__(
        self, attributes: Sequence[CommonAttribute], sides: tuple[SideSample, SideSample], asking: int
    ) -> None:
        self._sides, self._asking = sides, asking
        self._axes = {
            number: axes_of(number, [side.columns[number] for side in sides]) for number in range(len(attributes))
        }
        self._rows = [
            [set(columns.row) for columns in side.columns] for side in sides
        ]  # which sampled disjuncts speak of an attribute
        self._best = {number: self._single(number) for number in self._axes}

    def _single(self, attribute: int) -> tuple[float, tuple[BinAxis, ...]]:
        tried = [(self.cost((axis,)), (axis,)) for levels in self._axes[attribute] for axis in levels]
        plain = (self.cost((BinAxis(attribute, ()),)), ())
        return min([plain, *tried], key=lambda one: one[0])

    def singles(self) -> list[CellDesign]:
        """A design for every attribute, ordered by cost per disjunct that has it."""
        order = sorted(self._best, key=lambda number: (self._best[number][0] / self._share(number), number))
        return [self._design(self._best[number][1], frozenset((number,))) for number in order]

    def _share(self, attribute: int) -> float:
        side = self._sides[self._asking]
        having = sum(count for signature, count in side.signatures.items() if attribute in signature)
        return max(having, 1)

    def combinations(self) -> Iterator[CellDesign]:
        """Designs of several axes, for the most frequent signatures of the asking side."""
        left = dict(self._sides[self._asking].signatures)
        total = sum(left.values())
        for _ in range(_COMBINED):
            signature = max(left, key=lambda one: left[one], default=frozenset())
            if not signature or left[signature] < _SHARE * total:
                return
            design = self.combined(signature)
            yield design
            left = {one: count for one, count in left.items() if not design.attributes <= one}

    def combined(self, signature: Signature) -> CellDesign:
        """The best axes for some attributes together: the best one, and others as long as they pay."""
        ladders = [levels for number in sorted(signature) for levels in self._axes[number] if levels]
        usable = [(self._best[number][0], number) for number in signature]
        cost, start = min(usable, default=(0.0, -1))
        chosen: tuple[BinAxis, ...] = self._best[start][1]
        if not chosen:
            return self._design((), frozenset((start,)))
        while len(chosen) < 3:
            taken = {(axis.attribute, axis.north) for axis in chosen}
            tried = [
                (*kept, axis)
                for levels in ladders
                if (levels[0].attribute, levels[0].north) not in taken
                for axis in levels
                for kept in self._coarser(chosen)
            ]
            best = min(((self.cost(axes), number) for number, axes in enumerate(tried)), default=(cost, 0))
            if best[0] >= _BETTER * cost:
                break
            cost, chosen = best[0], tried[best[1]]
        return self._design(chosen, frozenset(axis.attribute for axis in chosen))

    def _coarser(self, chosen: tuple[BinAxis, ...]) -> Iterator[tuple[BinAxis, ...]]:
        """The axes as they are, and with fewer bins: products need fewer of them."""
        for steps in range(4):
            made = []
            for axis in chosen:
                levels = self._axes[axis.attribute][int(axis.north)]
                place = levels.index(axis)
                made.append(levels[max(0, place - steps)])
            yield tuple(made)

    def _design(self, axes: Sequence[BinAxis], attributes: Signature) -> CellDesign:
        axes = with_bits(axes)
        masks = []
        for side in (0, 1):
            rows = self._having(side, attributes, None)
            found = CellDesign(axes, attributes).reaches(self._sides[side].columns, rows)
            masks.append(tuple(sorted({0, *wide_masks(found).tolist()})))
        return CellDesign(axes, attributes, (masks[0], masks[1]))

    def _having(self, side: int, attributes: Signature, most: int | None) -> NDArray[np.int64]:
        several = [self._rows[side][number] for number in attributes]
        rows = sorted(set.intersection(*several) if several else range(self._sides[side].disjuncts))
        return np.array(rows[:most], np.int64)

    def cost(self, axes: tuple[BinAxis, ...]) -> float:
        """Estimated cost of rows in cells, and of pairs in the same cell, for all disjuncts with these attributes."""
        axes = with_bits(axes)
        attributes = frozenset(axis.attribute for axis in axes)
        found, masks, known, count = [], [], [], []
        for side in (0, 1):
            rows = self._having(side, attributes, None)
            few = rows[:_TRIED]
            if not len(few):
                return 0.0
            found.append(CellDesign(axes, attributes).reaches(self._sides[side].columns, few))
            natural = wide_masks(found[side])
            known.append(sorted({0, *natural.tolist()}))
            masks.append(allowed_masks(natural, known[side]))
            count.append(self._sides[side].total * len(rows) / max(1, self._sides[side].disjuncts))
        rows_cost = 0.0
        for side in (0, 1):
            rows_cost += count[side] * float(np.mean(_cells(found[side], masks[side], known[1 - side])))
        shared = _shared_cells(found[0], found[1], masks[0][:, None] | masks[1][None, :])
        return _ROW * rows_cost + _CANDIDATE * count[0] * count[1] * float(np.mean(shared))


def _cells(found: Sequence[BinReach], masks: Masks, others: Sequence[int]) -> NDArray[np.float64]:
    """Number of cells of each disjunct."""
    total = np.zeros(len(masks), np.float64)
    for own in np.unique(masks).tolist():
        some = masks == own
        for other in others:
            total[some] += sizes(found, own | other)[some]
    return total


def _shared_cells(mine: Sequence[BinReach], theirs: Sequence[BinReach], masks: Masks) -> NDArray[np.float64]:
    """Number of cells that two disjuncts share, for every pair."""
    total = np.ones(masks.shape, np.float64)
    for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        common = (
            np.minimum(one.high[:, None], other.high[None, :]) - np.maximum(one.low[:, None], other.low[None, :]) + 1
        )
        common = np.maximum(common, 0).astype(np.float64)
        for position, bins in one.lists.items():
            listed = np.array(bins)
            inside = (listed[None, :] >= other.low[:, None]) & (listed[None, :] <= other.high[:, None])
            common[position] = inside.sum(axis=1)
        for position, bins in other.lists.items():
            listed = np.array(bins)
            inside = (listed[None, :] >= one.low[:, None]) & (listed[None, :] <= one.high[:, None])
            common[:, position] = np.minimum(common[:, position], inside.sum(axis=1))
        total *= np.where(masks >> number & 1, 1.0, common)
    return total
