"""A table of many boxes, and a search for those that meet a box and may cover it, alone or together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vedette.covering.bitmaps import Bitmaps, Words
from vedette.covering.boxes import EVERYTHING, Box, BoxSpace, DimensionSpan
from vedette.covering.kernels.cover_bitmaps import BoxEntries, BoxQuery, fill_table, meeting, number_dimensions
from vedette.covering.order_labels import FIRST, HIGHEST, LOWEST, Relabelling
from vedette.schema.columns import Column

Owner = TypeVar("Owner", bound=Hashable)
Number = TypeVar("Number", np.int32, np.int64)
Ints = NDArray[np.int64]

_ROOM = 256  # boxes, to begin with; so few are looked at one by one


class CandidateTable(NamedTuple):
    """A box, and rows of other boxes, in the dimensions in which any of the rows is constrained."""

    dimensions: NDArray[np.int32]
    own_low: Ints
    own_high: Ints
    low: Ints  # one row a box, one column a dimension
    high: Ints

    def select(self, rows: NDArray[np.bool_]) -> CandidateTable:
        """The table with some of the rows only."""
        return self._replace(low=self.low[rows], high=self.high[rows])


class BoxTable(Generic[Owner]):
    """A changing table of boxes with owners, which are identified by the keys with which they were added."""

    def __init__(self, space: BoxSpace) -> None:
        self._space = space
        self._size = 0  # boxes, those of owners who left among them
        self._left = 0
        self._owners: list[Owner] = []  # of boxes
        self._places: dict[Owner, tuple[int, int]] = {}  # first box, boxes
        self._entries = BoxEntries(
            np.zeros(_ROOM + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64)
        )
        self._alive = np.zeros(_ROOM // 64, np.uint64)
        self._found = np.zeros(_ROOM, np.int32)
        self._bitmaps: Bitmaps | None = None
        self._reaching = np.zeros((2, 0), np.int64)  # boxes that reach the low end of a dimension, and the high end
        self.turns = 0  # how often it changed which dimensions are spanned, and where points are free to lie
        self._spanning_tests: dict[Column, dict[int, None]] = {}
        self._wanted = BoxQuery(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
        self._column = np.zeros(0, np.int32)
        self._dimensions = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return self._size - self._left

    def __contains__(self, owner: object) -> bool:
        return owner in self._places

    @property
    def bitmap_bytes(self) -> int:
        """The bytes of all bitmaps."""
        return 0 if self._bitmaps is None else self._bitmaps.nbytes

    # ------------------------------------------------------------ changes

    def add(self, owner: Owner, boxes: Sequence[Box]) -> None:
        """Add the boxes of a new owner."""
        self._grow_dimensions()
        if self._size + len(boxes) > len(self._alive) * 64:
            self._rebuild(len(boxes))
        self._places[owner] = self._size, len(boxes)
        for box in boxes:
            self._append(box)
            self._owners.append(owner)

    def _append(self, box: Box) -> None:
        number, begin = self._size, int(self._entries.start[self._size])
        end = begin + len(box.dimensions)
        if end > len(self._entries.dimension):
            self._entries = self._entries._replace(
                dimension=_longer(self._entries.dimension, end),
                low=_longer(self._entries.low, end),
                high=_longer(self._entries.high, end),
            )
        entries = self._entries
        entries.dimension[begin:end] = box.dimensions
        entries.low[begin:end] = box.low
        entries.high[begin:end] = box.high
        entries.start[number + 1] = end
        self._alive[number // 64] |= np.uint64(1 << (number % 64))
        self._size += 1
        if self._bitmaps is not None:
            self._bitmaps.note(number, box)
        self._count_ends(number, 1)

    def add_many(self, owners: Sequence[Owner], entries: BoxEntries) -> None:
        """Add many boxes at once to an empty table; those of one owner are adjacent."""
        self._grow_dimensions()
        size = len(entries.start) - 1
        room = max(_ROOM, -(-size // 64) * 64)
        start = np.zeros(room + 1, np.int64)
        start[: size + 1] = entries.start
        self._entries = entries._replace(start=start)
        self._size, self._owners, self._places = size, list(owners), _places(owners)
        self._found = np.zeros(room, np.int32)
        alive = np.zeros(room, np.bool_)
        alive[:size] = True
        self._alive = np.packbits(alive, bitorder="little").view(np.uint64)
        self._bitmaps = Bitmaps(self._entries, size, room)
        for dimension in np.unique(entries.dimension).tolist():
            here = entries.dimension == dimension
            least, most = self._space.dimensions[dimension].whole
            low, high = entries.low[here] <= least, entries.high[here] >= most
            self._reach(dimension, int(np.count_nonzero(low)), int(np.count_nonzero(high)))

    @property
    def entries(self) -> BoxEntries:
        """A copy of all boxes; only if no owner was ever removed."""
        start, dimension, low, high = self._entries
        used = start[self._size]
        return BoxEntries(
            start[: self._size + 1].copy(), dimension[:used].copy(), low[:used].copy(), high[:used].copy()
        )

    def remove(self, owner: Owner) -> None:
        """Remove the boxes of an owner."""
        first, count = self._places.pop(owner)
        for number in range(first, first + count):
            self._alive[number // 64] &= ~np.uint64(1 << (number % 64))
            self._count_ends(number, -1)
        self._left += count

    def renumber(self, dimension: int, move: Relabelling) -> None:
        """Renumber the labels of a dimension."""
        here = np.flatnonzero(self._entries.dimension[: self._entries.start[self._size]] == dimension)
        for ends in (self._entries.low, self._entries.high):
            ends[here] = move.moved(ends[here])
        if self._bitmaps is not None:
            self._bitmaps.renumber(dimension, move)

    def _count_ends(self, number: int, by: int) -> None:
        """Count the boxes that reach the ends of a dimension: if none does, no union of them spans it."""
        begin, end = self._entries.start[number : number + 2]
        for dimension, low, high in zip(
            self._entries.dimension[begin:end].tolist(),
            self._entries.low[begin:end].tolist(),
            self._entries.high[begin:end].tolist(),
            strict=True,
        ):
            least, most = self._space.dimensions[dimension].whole
            self._reach(dimension, by * (low <= least), by * (high >= most))

    def _reach(self, dimension: int, low: int, high: int) -> None:
        """Add to the number of boxes that reach the ends of a dimension."""
        if not low and not high:
            return
        reaching = self._reaching[:, dimension]
        before = _state(*reaching.tolist())
        reaching += (low, high)
        after = _state(*reaching.tolist())
        if after == before:
            return
        self.turns += 1
        meant, (spanned, _) = self._space.dimensions[dimension], after
        if meant.test is None:
            self._wanted.useless[dimension] = not spanned
        elif spanned:
            self._spanning_tests.setdefault(meant.column, {})[dimension] = None
        else:
            self._spanning_tests.get(meant.column, {}).pop(dimension, None)

    def spanning_tests(self, column: Column) -> Iterable[int]:
        """The tests of a column that some boxes need true and others false: together these can cover everything."""
        return self._spanning_tests.get(column, ())

    def free_ends(self) -> dict[int, int]:
        """Where a point may lie that is in no box constrained in a dimension: where it need not be null."""
        low, high = self._reaching
        return dict.fromkeys(np.flatnonzero((low > 0) & (high == 0)).tolist(), HIGHEST - 1)

    def _grow_dimensions(self) -> None:
        """Make room for new dimensions, and for as many again."""
        more = len(self._space.dimensions) - len(self._column)
        if more <= 0:
            return
        more += len(self._column)
        self._reaching = np.pad(self._reaching, ((0, 0), (0, more)))
        low, high, useless = self._wanted
        self._wanted = BoxQuery(
            np.pad(low, (0, more), constant_values=LOWEST),
            np.pad(high, (0, more), constant_values=HIGHEST),
            np.pad(useless, (0, more), constant_values=True),
        )
        self._column = np.pad(self._column, (0, more), constant_values=-1)
        self._dimensions = np.pad(self._dimensions, (0, more))

    def _rebuild(self, more: int) -> None:
        """Drop the boxes of removed owners, make room for as many again, and choose cuts anew."""
        old, size = self._entries, self._size
        kept = np.flatnonzero(np.unpackbits(self._alive.view(np.uint8), bitorder="little")[:size])
        lengths = np.diff(old.start[: size + 1])
        entries = np.repeat(np.isin(np.arange(size), kept), lengths)
        used = old.start[size]
        self._size, self._left = len(kept), 0
        room = max(_ROOM, -(-2 * (self._size + more) // 64) * 64)
        start = np.zeros(room + 1, np.int64)
        np.cumsum(lengths[kept], out=start[1 : self._size + 1])
        self._entries = BoxEntries(
            start, old.dimension[:used][entries], old.low[:used][entries], old.high[:used][entries]
        )
        self._owners = [self._owners[number] for number in kept.tolist()]
        self._places = _places(self._owners)
        self._found = np.zeros(room, np.int32)
        alive = np.zeros(room, np.bool_)
        alive[: self._size] = True
        self._alive = np.packbits(alive, bitorder="little").view(np.uint64)
        self._bitmaps = Bitmaps(self._entries, self._size, room)

    # ------------------------------------------------------------ questions

    def meeting(self, box: Box) -> tuple[NDArray[np.int32], Owner | None]:
        """The boxes that meet this one and may help to cover it; and the owner of one that contains it, if any.

        Boxes are left out that are constrained in a dimension which the box spans and no union of boxes does.
        """
        self._grow_dimensions()
        asked = list(box.dimensions)
        wanted = self._wanted
        before = wanted.useless[asked]
        wanted.low[asked], wanted.high[asked], wanted.useless[asked] = box.low, box.high, False
        among = self._alive[: (self._size + 63) // 64].copy()
        if self._bitmaps is not None:
            self._bitmaps.leave_out(box, wanted.useless, among)
        count, container = meeting(self._entries, among, wanted, self._found)
        wanted.low[asked], wanted.high[asked], wanted.useless[asked] = *EVERYTHING, before
        return self._found[:count].copy(), None if container < 0 else self._owners[container]

    def may_hold(self, point: Mapping[int, int]) -> bool:
        """Whether some box may contain an event with these known values; derived values may be anything.

        In columns that are not given, the event has no value.
        """
        among = self._alive[: (self._size + 63) // 64].copy()
        count, container = self._holding(point, among)
        return bool(count) or container >= 0

    def _holding(self, point: Mapping[int, int], among: Words) -> tuple[int, int]:
        derived = np.frombuffer(bytes(self._space.derived), np.bool_)
        known = [number for number in point if not derived[number]]
        low = np.array([point[number] for number in known], np.int64)
        wanted = BoxQuery(
            np.full(len(derived), LOWEST), np.where(derived, HIGHEST, FIRST), np.zeros(len(derived), np.bool_)
        )
        wanted.low[known], wanted.high[known] = low, low + 1
        if self._bitmaps is not None:
            box = Box(tuple(known), tuple(low.tolist()), tuple((low + 1).tolist()))
            self._bitmaps.leave_out(box, wanted.useless, among)
        return meeting(self._entries, among, wanted, self._found)

    @property
    def useless(self) -> NDArray[np.bool_]:
        """The dimensions in which useful boxes must be unconstrained unless this one is, since no union spans them."""
        self._grow_dimensions()
        return self._wanted.useless

    def near(self, box: Box, useless: NDArray[np.bool_], before: int) -> tuple[set[Owner], Owner | None]:
        """The owners, of the first so many boxes, that meet this one and may help to cover it, up to one that contains
        it; and the owner of that."""
        asked = list(box.dimensions)
        wanted = BoxQuery(self._wanted.low, self._wanted.high, useless.copy())
        wanted.low[asked], wanted.high[asked], wanted.useless[asked] = box.low, box.high, False
        among = self._first(before)
        if self._bitmaps is not None:
            self._bitmaps.leave_out(box, wanted.useless, among)
        count, container = meeting(self._entries, among, wanted, self._found)
        wanted.low[asked], wanted.high[asked] = EVERYTHING
        return self._owned(count), None if container < 0 else self._owners[container]

    def holders(self, point: Mapping[int, int], before: int) -> tuple[set[Owner], Owner | None]:
        """The owners, of the first so many boxes, that may contain an event with these known values, up to one that
        does; and the owner of that."""
        count, container = self._holding(point, self._first(before))
        return self._owned(count), None if container < 0 else self._owners[container]

    def _owned(self, count: int) -> set[Owner]:
        return {self._owners[row] for row in self._found[:count].tolist()}

    def _first(self, count: int) -> Words:
        """A bitmap with a bit for each of the first so many boxes."""
        first = self._alive[: (count + 63) // 64].copy()
        if count % 64:
            first[-1] &= np.uint64((1 << count % 64) - 1)
        return first

    def table(self, box: Box, rows: NDArray[np.int32]) -> CandidateTable:
        """The box and the rows as one table."""
        count = number_dimensions(self._entries, rows, self._column, self._dimensions)
        dimensions = self._dimensions[:count].copy()
        low = np.full((len(rows), count), LOWEST, np.int64)
        high = np.full((len(rows), count), HIGHEST, np.int64)
        fill_table(self._entries, rows, self._column, low, high)
        own_low, own_high = np.full(count, LOWEST, np.int64), np.full(count, HIGHEST, np.int64)
        for dimension, least, most in zip(box.dimensions, box.low, box.high, strict=True):
            column = self._column[dimension]
            if column >= 0:
                own_low[column], own_high[column] = least, most
        self._column[dimensions] = -1
        return CandidateTable(dimensions, own_low, own_high, low, high)

    def cell(self, dimension: int, coordinate: int) -> DimensionSpan:
        """The interval in which no box begins or ends: all coordinates in it are equivalent."""
        entries = self._entries
        here = np.flatnonzero(entries.dimension[: entries.start[self._size]] == dimension)
        ends = np.concatenate((entries.low[here], entries.high[here]))
        below, above = ends[ends <= coordinate], ends[ends > coordinate]
        return int(below.max(initial=FIRST)), int(above.min(initial=HIGHEST))

    def owner(self, row: int) -> Owner:
        """The owner of a box."""
        return self._owners[row]


def _state(low: int, high: int) -> tuple[bool, bool]:
    """Whether boxes reach both ends of a dimension, and whether points may lie at the high one."""
    return low > 0 and high > 0, low > 0 and high == 0


def _longer(array: NDArray[Number], needed: int) -> NDArray[Number]:
    longer: NDArray[Number] = np.zeros(max(needed, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


def _places(owners: Sequence[Owner]) -> dict[Owner, tuple[int, int]]:
    """The first box of each owner, and the number of its boxes, which are adjacent."""
    places: dict[Owner, tuple[int, int]] = {}
    for number, owner in enumerate(owners):
        first, count = places.get(owner, (number, 0))
        places[owner] = first, count + 1
    return places
