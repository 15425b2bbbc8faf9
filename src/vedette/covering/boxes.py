"""Subscriptions as boxes in one space that all of them share, and that grows with what they speak of.

A box has a half-open interval [low, high) of int64 in every dimension. A column of events is a dimension: its keys,
or labels of its keys where these are texts, with LOWEST for a missing value, so that nulls need no special case. A
test without an order (contains, geometry, lists) is a dimension of its own with the points FALSE, TRUE and UNKNOWN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vedette.covering.labels import FIRST, HIGHEST, LOWEST, Labels, Move
from vedette.covering.real_keys import real_key
from vedette.errors import NotSupported
from vedette.language.normalform import Conjunction, Elementary, NormalForm, Probe
from vedette.language.valuesets import AnyKey, AnySet
from vedette.schema.columns import Column

MOST_BOXES = 256  # of one subscription; one with vetoes would be more
FALSE, TRUE, UNKNOWN = 0, 1, 2  # of a test; UNKNOWN, of lists only, is in no box

Span: TypeAlias = tuple[int, int]
EVERYTHING: Span = (LOWEST, HIGHEST)
_MISSING: Span = (LOWEST, FIRST)
_PRESENT: Span = (FIRST, HIGHEST)


class NoBoxes(NotSupported):
    """A filter that is not brought into boxes: it covers nothing, and nothing covers it."""


@dataclass(frozen=True, slots=True)
class Box:
    """Intervals in some dimensions; in all others everything, null included."""

    dimensions: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    def with_spans(self, spans: dict[int, Span]) -> Box:
        """Constrained in more dimensions."""
        if not spans:
            return self
        lows, highs = zip(*spans.values(), strict=True)
        return Box(self.dimensions + tuple(spans), self.low + lows, self.high + highs)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A column's values, or (`test`) what one test says of them."""

    column: Column
    test: Elementary | None = None

    @property
    def whole(self) -> Span:
        """All points that an event can have here; of a test, where its column is present."""
        if self.test is None:
            return EVERYTHING
        return (FALSE, UNKNOWN + 1) if self.column.type.is_list else (FALSE, TRUE + 1)


class Space:
    """The dimensions that any subscription has spoken of, numbered as they came."""

    def __init__(self) -> None:
        self.dimensions: list[Dimension] = []
        self.derived = bytearray()  # 1: depends on other dimensions, so that not every point is an event's
        self._numbers: dict[Dimension, int] = {}
        self._labels: dict[int, Labels] = {}
        self._moves: list[tuple[int, Move]] = []

    # ------------------------------------------------------------ filters to boxes

    def boxes(self, form: NormalForm) -> list[Box]:
        """The boxes whose union the filter is; none if it is never true. NoBoxes if they would be too many."""
        self.label(form)
        return self.labelled_boxes(form)

    def labelled_boxes(self, form: NormalForm) -> list[Box]:
        """The same of a filter whose texts have their numbers."""
        return [box for conjunction in form.conjunctions for box in self._boxes(conjunction)]

    def take_moves(self) -> list[tuple[int, Move]]:
        """What became of the labels of dimensions since this was last asked: boxes that are kept have to follow."""
        moves, self._moves = self._moves, []
        return moves

    def label(self, form: NormalForm) -> None:
        """Give a number to every text first, as this may move others. NoBoxes if the boxes would be too many."""
        if form.vetoes or sum(_size(one) for one in form.conjunctions) > MOST_BOXES:
            raise NoBoxes(f"the filter is a union of more than {MOST_BOXES} boxes\nHint: split it into several")
        for conjunction in form.conjunctions:
            for column, values in conjunction.values:
                if not _textual(column):
                    continue
                dimension = self.number(Dimension(column))
                ends = (end for one in values.intervals for end in (one.low, one.high))
                real = (real_key(column.type.kind, end) for end in ends if isinstance(end, bytes))
                self.take_up(dimension, [end for end in real if end])

    def take_up(self, dimension: int, keys: Sequence[bytes]) -> None:
        """Give numbers to the keys of a dimension of texts that have none."""
        move = self._labels[dimension].add(keys)
        if move is not None:
            self._moves.append((dimension, move))

    def _boxes(self, conjunction: Conjunction) -> Iterator[Box]:
        spans: dict[int, list[Span]] = {}
        for column, values in conjunction.values:
            dimension = self.number(Dimension(column))
            spans[dimension] = list(_merged(self._spans(dimension, column, values)))
        choices: list[list[tuple[int, Span]]] = []
        for column, probe in conjunction.probes:
            dimension = self.number(Dimension(column))
            present = [(max(low, FIRST), high) for low, high in spans.get(dimension, [_PRESENT]) if high > FIRST]
            spans[dimension] = present
            choices += self._asked(column, probe)
        choices += [[(dimension, span) for span in several] for dimension, several in spans.items()]
        for chosen in itertools.product(*choices):
            box = _met(chosen)
            if box is not None:
                yield box

    def _asked(self, column: Column, probe: Probe) -> list[list[tuple[int, Span]]]:
        """Some test holds: a choice. None does: that of each of them is false."""
        numbers = sorted(self.number(Dimension(column, test)) for test in probe.tests)
        if probe.positive:
            return [[(number, (TRUE, TRUE + 1)) for number in numbers]]
        return [[(number, (FALSE, FALSE + 1))] for number in numbers]

    def _spans(self, dimension: int, column: Column, values: AnySet) -> Iterator[Span]:
        if values.null:
            yield _MISSING
        for one in values.intervals:
            low = FIRST if one.low is None else self._end(dimension, column, one.low, FIRST)
            high = HIGHEST if one.high is None else self._end(dimension, column, one.high, HIGHEST)
            if low < high:
                yield low, high

    def _end(self, dimension: int, column: Column, key: AnyKey, unbounded: int) -> int:
        if isinstance(key, bytes):
            real = real_key(column.type.kind, key)
            return unbounded if real is None else self._labels[dimension][real] if real else FIRST
        if key == LOWEST:
            return FIRST
        # With null there is one value too many for 64 bits at either end: these two are taken as their neighbours.
        if key in (FIRST, HIGHEST):
            raise NoBoxes(f"{column.name} is compared with the lowest or highest integer of all")
        return key

    # ------------------------------------------------------------ dimensions

    def number(self, dimension: Dimension) -> int:
        """The number of a dimension, a new one where it has none."""
        found = self._numbers.get(dimension)
        if found is not None:
            return found
        if dimension.test is None and _textual(dimension.column):
            self._labels[len(self.dimensions)] = Labels()
        column = dimension.column
        derived = dimension.test is not None or column.other is not None or column.reading is not None
        related = [] if derived else list(self._related(column.path))
        for other in related:
            self.derived[other] = 1
        self.derived.append(derived or bool(related))
        self._numbers[dimension] = len(self.dimensions)
        self.dimensions.append(dimension)
        return len(self.dimensions) - 1

    def _related(self, path: str) -> Iterable[int]:
        """Columns of the same attribute in another reading, or of a part of it."""
        for number, other in enumerate(self.dimensions):
            if other.test is None and other.column.other is None and other.column.reading is None:
                theirs = other.column.path
                if theirs == path or theirs.startswith(f"{path}.") or path.startswith(f"{theirs}."):
                    yield number

    # ------------------------------------------------------------ points

    def coordinate(self, dimension: int, key: AnyKey | None) -> int:
        """Where the value with this key (None: missing) is in the dimension of a column."""
        if key is None:
            return LOWEST
        if isinstance(key, bytes):
            return self._labels[dimension].at(key)
        return min(max(key, FIRST), HIGHEST - 1)

    def number_of(self, dimension: int, key: bytes) -> int:
        """Which number a key was given that was taken up."""
        return self._labels[dimension][key]

    def textual(self, dimension: int) -> bool:
        """Whether coordinates are numbers of texts."""
        return dimension in self._labels

    def text_at(self, dimension: int, coordinate: int) -> bytes | None:
        """A key that is there, in a dimension of texts; None: the lowest of all."""
        return self._labels[dimension].key_at(coordinate)


def _textual(column: Column) -> bool:
    return column.type.kind.textual and not column.type.is_list


def _size(conjunction: Conjunction) -> int:
    """How many boxes a conjunction becomes, at most."""
    sets = math.prod(len(values.intervals) + values.null for _, values in conjunction.values)
    return sets * math.prod(len(probe.tests) for _, probe in conjunction.probes if probe.positive)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Ascending spans with those that touch made one."""
    before: Span | None = None
    for span in spans:
        if before is None or before[1] < span[0]:
            if before is not None:
                yield before
            before = span
        else:
            before = before[0], max(before[1], span[1])
    if before is not None:
        yield before


def _met(chosen: Iterable[tuple[int, Span]]) -> Box | None:
    """The intersection, without what is unbounded; None if it is empty."""
    spans: dict[int, Span] = {}
    for dimension, (low, high) in chosen:
        least, most = spans.get(dimension, EVERYTHING)
        low, high = max(low, least), min(high, most)
        if low >= high:
            return None
        spans[dimension] = low, high
    return Box((), (), ()).with_spans({number: span for number, span in spans.items() if span != EVERYTHING})
