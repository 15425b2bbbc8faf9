"""Boxes of the next subscriptions, with the numbers that dimensions and texts will have when their turn comes.

What workers have read is translated into a space that runs ahead of the one of the subscriptions already decided, and
does the same in the same order, so that both have the same numbers. A block of subscriptions ends where numbers move,
or where a subscription changes which dimensions depend on others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.covering.boxes import MOST_BOXES, Box, BoxSpace, Dimension, NoBoxes
from vedette.covering.kernels.cover_bitmaps import BoxEntries
from vedette.errors import InputError, NotSupported
from vedette.filters.templates import Templates
from vedette.schema.schema import Schema
from vedette.spark.covering.box_reading import several_tests
from vedette.spark.covering.box_translation import Ints, Moves, WorkerBoxes

SpaceStep: TypeAlias = Dimension | tuple[int, Sequence[bytes]]  # a dimension is numbered; texts of one are


def follow(space: BoxSpace, steps: Sequence[SpaceStep]) -> None:
    """Repeat in a space the steps that were done ahead of it."""
    for step in steps:
        if isinstance(step, Dimension):
            space.number(step)
        else:
            space.take_up(*step)


@dataclass(frozen=True, slots=True)
class BoxBlock:
    """Consecutive subscriptions as boxes in one space."""

    first: int  # their numbers begin here
    known: NDArray[np.bool_]  # which have boxes, perhaps none at all
    starts: Ints  # the boxes of each, from where to where
    entries: BoxEntries
    steps: Mapping[int, Sequence[SpaceStep]]  # by place in the block
    moves: Moves  # what the first of them does to the numbers of those before
    dimensions: tuple[Dimension, ...]
    derived: bytes

    def __len__(self) -> int:
        return len(self.known)

    def boxes(self, place: int) -> list[Box]:
        """The boxes of one subscription."""
        return list(boxes_of(self.entries, *self.starts[place : place + 2].tolist()))

    def rest(self, place: int) -> BoxBlock:
        """The block from a later place on."""
        box = self.starts[place]
        start, dimension, low, high = self.entries
        at = start[box]
        return replace(
            self,
            first=self.first + place,
            known=self.known[place:],
            starts=self.starts[place:] - box,
            entries=BoxEntries(start[box:] - at, dimension[at:], low[at:], high[at:]),
            steps={each - place: steps for each, steps in self.steps.items() if each >= place},
            moves=(),
        )


def boxes_of(entries: BoxEntries, begin: int, end: int) -> Iterator[Box]:
    """Boxes from one number up to another."""
    start = entries.start[begin : end + 1].tolist()
    for at, until in pairwise(start):
        dimension, low, high = (tuple(column[at:until].tolist()) for column in entries[1:])
        yield Box(dimension, low, high)


@dataclass(frozen=True, slots=True)
class _SpaceChange:
    """What one subscription did to the space, and its boxes if those of the worker do not count."""

    steps: Sequence[SpaceStep] = ()
    replaced: bool = False
    boxes: Sequence[Box] | None = None
    moves: Moves = ()
    turned: bool = False


class ReadAhead:
    """Takes the boxes of workers in the order of arrival, and gives them out in blocks. A text of None has no boxes."""

    def __init__(self, read: WorkerBoxes, texts: Sequence[str | None], schema: Schema) -> None:
        self._read = read
        self._texts = texts
        self._templates = Templates(schema, MOST_BOXES)
        self._space = _ChangeLogSpace()
        self._eventful = read.eventful()
        self._at = 0
        self._held: _SpaceChange | None = None  # the changes of the next subscription, which is read already

    def block(self, most: int) -> BoxBlock | None:
        """The next subscriptions, at most so many; None if there are none."""
        begin, end = self._at, min(self._at + most, len(self._read))
        if begin == end:
            return None
        came: dict[int, _SpaceChange] = {}
        undone: Moves = ()
        size, derived = len(self._space.dimensions), bytes(self._space.derived)
        places = np.searchsorted(self._eventful, [begin, end])
        for number in self._eventful[places[0] : places[1]].tolist():
            now = self._come(number) if self._held is None else self._held
            self._held = None
            if number > begin and (now.moves or now.turned):
                self._held, undone, end = now, now.moves, number
                break
            came[number] = now
            size, derived = len(self._space.dimensions), bytes(self._space.derived)
        self._at = end
        starts, entries = self._read.translated(begin, end, self._space, undone)
        replaced = {number - begin: now.boxes for number, now in came.items() if now.replaced}
        known = np.ones(end - begin, np.bool_)
        known[[place for place, boxes in replaced.items() if boxes is None]] = False
        if replaced:
            starts, entries = _with_boxes(starts, entries, {at: boxes or () for at, boxes in replaced.items()})
        return BoxBlock(
            begin,
            known,
            starts,
            entries,
            {number - begin: now.steps for number, now in came.items() if now.steps},
            came[begin].moves if begin in came else (),
            tuple(self._space.dimensions[:size]),
            derived,
        )

    def _come(self, number: int) -> _SpaceChange:
        size, derived = len(self._space.dimensions), bytes(self._space.derived)
        texts = None if self._read.own[number] else self._read.new_texts(number)
        replaced, boxes = False, None
        if texts is not None:
            follow(self._space, texts)
        else:
            replaced, boxes = self._made(number)
        now = bytes(self._space.derived)
        turned = now[:size] != derived or (1 in now) != (1 in derived)
        return _SpaceChange(self._space.taken(), replaced, boxes, tuple(self._space.take_moves()), turned)

    def _made(self, number: int) -> tuple[bool, list[Box] | None]:
        """Boxes of a subscription that is read here, and whether they replace those of the worker."""
        text = self._texts[number]
        try:
            if text is None:
                return True, None
            form = self._templates.normal_form(text)
            boxes = self._space.boxes(form)
        except NoBoxes:
            self._read.learn_texts(number)
            return True, None
        except (InputError, NotSupported):
            return True, None
        if several_tests(form):
            self._read.learn_texts(number)
            return True, boxes
        self._read.learn(number, boxes)
        return False, boxes


class _ChangeLogSpace(BoxSpace):
    """A space that records its changes."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: list[SpaceStep] = []

    def number(self, dimension: Dimension) -> int:
        before = len(self.dimensions)
        found = super().number(dimension)
        if len(self.dimensions) > before:
            self._taken.append(dimension)
        return found

    def take_up(self, dimension: int, keys: Sequence[bytes]) -> None:
        if keys:
            self._taken.append((dimension, keys))
            super().take_up(dimension, keys)

    def taken(self) -> list[SpaceStep]:
        """The changes since the last call."""
        taken, self._taken = self._taken, []
        return taken


def _with_boxes(starts: Ints, entries: BoxEntries, replaced: Mapping[int, Sequence[Box]]) -> tuple[Ints, BoxEntries]:
    """The entries with the boxes of some subscriptions replaced."""
    lengths = np.diff(entries.start)
    counts = np.diff(starts)
    pieces: list[tuple[NDArray[Any], ...]] = []

    def keep(begin: int, end: int) -> None:
        first, last = starts[[begin, end]]
        inside = slice(entries.start[first], entries.start[last])
        pieces.append((lengths[first:last], entries.dimension[inside], entries.low[inside], entries.high[inside]))

    at = 0
    for place, boxes in sorted(replaced.items()):
        keep(at, place)
        dimensions, low, high = (
            np.array([each for box in boxes for each in getattr(box, name)], np.int64)
            for name in ("dimensions", "low", "high")
        )
        pieces.append((np.array([len(box.dimensions) for box in boxes], np.int64), dimensions, low, high))
        counts[place], at = len(boxes), place + 1
    keep(at, len(counts))
    length, dimension, low, high = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    start = np.concatenate(([0], np.cumsum(length)))
    return np.concatenate(([0], np.cumsum(counts))), BoxEntries(start, dimension.astype(np.int32), low, high)
