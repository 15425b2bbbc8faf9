"""Subscriptions as boxes in one common space, to which dimensions are added as they are needed.

A box has a half-open interval [low, high) of int64 in every dimension. A column of events is a dimension: its keys,
or labels of its keys where these are texts, with LOWEST for a missing value, so that nulls need no special case. A
test without an order (contains, geometry, lists) is a dimension of its own with the points FALSE, TRUE and UNKNOWN.

If numbers are compared with an integer that no float64 represents, their distance above the float64 below is another
dimension. It is constrained only where that float64 is known, so every point corresponds to an event's values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from vedette.covering.key_bounds import real_key
from vedette.covering.order_labels import FIRST, HIGHEST, LOWEST, OrderLabels, Relabelling
from vedette.errors import NotSupported
from vedette.language.normalform import Conjunction, Elementary, NormalForm, Probe
from vedette.language.valuesets import AnyKey, AnySet, ValueSet, has_fractions
from vedette.schema.columns import Column
from vedette.schema.keys import split
from vedette.schema.types import Kind

MOST_BOXES = 256  # of one subscription; one with vetoes would be more
FALSE, TRUE, UNKNOWN = 0, 1, 2  # of a test; UNKNOWN, of lists only, is in no box

DimensionSpan: TypeAlias = tuple[int, int]
SpanChoice: TypeAlias = tuple[tuple[int, DimensionSpan], ...]  # spans in dimensions, which hold together
EVERYTHING: DimensionSpan = (LOWEST, HIGHEST)
_MISSING: DimensionSpan = (LOWEST, FIRST)
_PRESENT: DimensionSpan = (FIRST, HIGHEST)
_MOST_PIECES = 3  # of an interval of numbers


class NoBoxes(NotSupported):
    """A filter that cannot be turned into boxes: it covers nothing, and nothing covers it."""


@dataclass(frozen=True, slots=True)
class Box:
    """Intervals in some dimensions; in all others everything, null included."""

    dimensions: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    def with_spans(self, spans: dict[int, DimensionSpan]) -> Box:
        """The box with constraints in further dimensions."""
        if not spans:
            return self
        lows, highs = zip(*spans.values(), strict=True)
        return Box(self.dimensions + tuple(spans), self.low + lows, self.high + highs)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A column's values, or (`test`) the result of one test of them, or (`rest`) a second coordinate of them."""

    column: Column
    test: Elementary | None = None
    rest: bool = False  # how many integers a number is above the float64 that is its coordinate in the column's own

    @property
    def whole(self) -> DimensionSpan:
        """All points that an event can have here; for a test, if its column is present."""
        if self.test is None:
            return EVERYTHING
        return (FALSE, UNKNOWN + 1) if self.column.type.is_list else (FALSE, TRUE + 1)


class BoxSpace:
    """The dimensions used by any subscription, numbered as they came."""

    def __init__(self) -> None:
        self.dimensions: list[Dimension] = []
        self.derived = bytearray()  # 1: depends on other dimensions, so that not every point is an event's
        self._numbers: dict[Dimension, int] = {}
        self._labels: dict[int, OrderLabels] = {}
        self._moves: list[tuple[int, Relabelling]] = []

    # ------------------------------------------------------------ filters to boxes

    def boxes(self, form: NormalForm) -> list[Box]:
        """The boxes whose union is the filter; none if it is never true. NoBoxes if there would be too many."""
        self.label(form)
        return self.labelled_boxes(form)

    def labelled_boxes(self, form: NormalForm) -> list[Box]:
        """The boxes of a filter whose texts have numbers already."""
        return [box for conjunction in form.conjunctions for box in self._boxes(conjunction)]

    def take_moves(self) -> list[tuple[int, Relabelling]]:
        """The changes of labels since the last call: stored boxes have to follow them."""
        moves, self._moves = self._moves, []
        return moves

    def label(self, form: NormalForm) -> None:
        """Number every text of a filter, which may move other labels. NoBoxes if there would be too many boxes."""
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
        """Number the keys of a dimension of texts that have no numbers yet."""
        move = self._labels[dimension].add(keys)
        if move is not None:
            self._moves.append((dimension, move))

    def _boxes(self, conjunction: Conjunction) -> Iterator[Box]:
        spans: dict[int, list[DimensionSpan]] = {}
        choices: list[list[SpanChoice]] = []
        for column, values in conjunction.values:
            dimension = self.number(Dimension(column))
            if has_fractions(values):
                choices.append(list(self._pieces(dimension, column, values)))
                continue
            spans[dimension] = list(_merged(self._spans(dimension, column, values)))
        for column, probe in conjunction.probes:
            dimension = self.number(Dimension(column))
            present = [(max(low, FIRST), high) for low, high in spans.get(dimension, [_PRESENT]) if high > FIRST]
            spans[dimension] = present
            choices += self._asked(column, probe)
        choices += [[((dimension, span),) for span in several] for dimension, several in spans.items()]
        for chosen in itertools.product(*choices):
            box = _met(itertools.chain.from_iterable(chosen))
            if box is not None:
                yield box

    def _asked(self, column: Column, probe: Probe) -> list[list[SpanChoice]]:
        """Some test holds: alternatives. None holds: every one of them is false."""
        numbers = sorted(self.number(Dimension(column, test)) for test in probe.tests)
        if probe.positive:
            return [[((number, (TRUE, TRUE + 1)),) for number in numbers]]
        return [[((number, (FALSE, FALSE + 1)),)] for number in numbers]

    def _spans(self, dimension: int, column: Column, values: AnySet) -> Iterator[DimensionSpan]:
        if values.null:
            yield _MISSING
        for one in values.intervals:
            low = FIRST if one.low is None else self._end(dimension, column, one.low, FIRST)
            high = HIGHEST if one.high is None else self._end(dimension, column, one.high, HIGHEST)
            if low < high:
                yield low, high

    def _pieces(self, dimension: int, column: Column, values: ValueSet[Any]) -> Iterator[SpanChoice]:
        """The pieces of a set of numbers that begins or ends between two floats."""
        number = self.number(Dimension(column, rest=True))
        if values.null and (not values.intervals or values.intervals[0].low is not None):
            yield ((dimension, _MISSING),)
        for one in values.intervals:
            unbounded = LOWEST if values.null else FIRST
            low, above = (unbounded, 0) if one.low is None else split(one.low)
            high, below = (HIGHEST, 0) if one.high is None else split(one.high)
            if above and low == high:
                yield ((dimension, (low, low + 1)), (number, (above, below)))
                continue
            if above:
                yield ((dimension, (low, low + 1)), (number, (above, HIGHEST)))
                low += 1
            if low < high:
                yield ((dimension, (low, high)),)
            if below:
                yield ((dimension, (high, high + 1)), (number, (LOWEST, below)))

    def _end(self, dimension: int, column: Column, key: AnyKey, unbounded: int) -> int:
        if isinstance(key, Fraction):
            raise TypeError(f"{column.name} is bounded between two floats: its pieces are laid out by themselves")
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
        """The number of a dimension, which is added if it is new."""
        found = self._numbers.get(dimension)
        if found is not None:
            return found
        if dimension.test is None and _textual(dimension.column):
            self._labels[len(self.dimensions)] = OrderLabels()
        column = dimension.column
        derived = dimension.test is not None or column.other is not None or column.reading is not None
        related = [] if derived or dimension.rest else list(self._related(column.path))
        for other in related:
            self.derived[other] = 1
        self.derived.append(derived or bool(related))
        self._numbers[dimension] = len(self.dimensions)
        self.dimensions.append(dimension)
        return len(self.dimensions) - 1

    def _related(self, path: str) -> Iterable[int]:
        """Columns of the same attribute as another type, or of a part of it."""
        for number, other in enumerate(self.dimensions):
            if other.test is None and not other.rest and other.column.other is None and other.column.reading is None:
                theirs = other.column.path
                if theirs == path or theirs.startswith(f"{path}.") or path.startswith(f"{theirs}."):
                    yield number

    # ------------------------------------------------------------ points

    def coordinate(self, dimension: int, key: AnyKey | None) -> int:
        """The coordinate of a value's key (None: missing) in the dimension of a column."""
        if key is None:
            return LOWEST
        if isinstance(key, bytes):
            return self._labels[dimension].at(key)
        return min(max(math.floor(key), FIRST), HIGHEST - 1)

    def rest_of(self, dimension: int) -> int | None:
        """The dimension for distances above the floats of this one, if some filter uses it."""
        column = self.dimensions[dimension].column
        return self._numbers.get(Dimension(column, rest=True)) if column.type.kind is Kind.FLOAT else None

    def number_of(self, dimension: int, key: bytes) -> int:
        """The number of a key that was numbered before."""
        return self._labels[dimension][key]

    def textual(self, dimension: int) -> bool:
        """Whether coordinates are numbers of texts."""
        return dimension in self._labels

    def text_at(self, dimension: int, coordinate: int) -> bytes | None:
        """The key with a coordinate, in a dimension of texts; None: the lowest of all."""
        return self._labels[dimension].key_at(coordinate)


def _textual(column: Column) -> bool:
    return column.type.kind.textual and not column.type.is_list


def _size(conjunction: Conjunction) -> int:
    """The number of boxes of a conjunction, at most."""
    sets: int = math.prod(
        len(values.intervals) * (_MOST_PIECES if has_fractions(values) else 1) + values.null
        for _, values in conjunction.values
    )
    return sets * math.prod(len(probe.tests) for _, probe in conjunction.probes if probe.positive)


def _merged(spans: Iterable[DimensionSpan]) -> Iterator[DimensionSpan]:
    """Merge ascending spans that touch."""
    before: DimensionSpan | None = None
    for span in spans:
        if before is None or before[1] < span[0]:
            if before is not None:
                yield before
            before = span
        else:
            before = before[0], max(before[1], span[1])
    if before is not None:
        yield before


def _met(chosen: Iterable[tuple[int, DimensionSpan]]) -> Box | None:
    """The intersection, without unbounded dimensions; None if it is empty."""
    spans: dict[int, DimensionSpan] = {}
    for dimension, (low, high) in chosen:
        least, most = spans.get(dimension, EVERYTHING)
        low, high = max(low, least), min(high, most)
        if low >= high:
            return None
        spans[dimension] = low, high
    return Box((), (), ()).with_spans({number: span for number, span in spans.items() if span != EVERYTHING})
