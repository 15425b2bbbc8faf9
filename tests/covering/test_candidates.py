"""Which boxes meet a box, and what may help to cover it: held against a scan of them all."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from vedette.covering.bitmaps import MOST_CUTS
from vedette.covering.boxes import EVERYTHING, Box, BoxSpace, Dimension, DimensionSpan
from vedette.covering.candidates import BoxTable
from vedette.covering.cover_judge import needed_rows
from vedette.covering.order_labels import FIRST, HIGHEST, LOWEST, Relabelling
from vedette.schema.columns import Column
from vedette.schema.types import INT

Boxes = dict[str, list[Box]]


def space_of(count: int) -> BoxSpace:
    space = BoxSpace()
    for number in range(count):
        space.number(Dimension(Column(f"x{number}", INT)))
    return space


def random_box(random: Random, dimensions: int, chance: float, nulls: bool) -> Box:
    spans: dict[int, DimensionSpan] = {}
    for dimension in range(dimensions):
        # Later dimensions are rare ones.
        if random.random() < chance / (1 + dimension):
            low, length = random.randrange(100), random.randrange(1, 40)
            low_end = LOWEST if nulls and random.random() < 0.3 else FIRST if random.random() < 0.2 else low
            spans[dimension] = low_end, HIGHEST if random.random() < 0.3 else low + length
    return Box((), (), ()).with_spans(spans)


def span(box: Box, dimension: int) -> DimensionSpan:
    found = dict(zip(box.dimensions, zip(box.low, box.high, strict=True), strict=True))
    return found.get(dimension, EVERYTHING)


def meets(one: Box, other: Box, dimensions: int) -> bool:
    spans = ((span(one, d), span(other, d)) for d in range(dimensions))
    return all(low < most and high > least for (low, high), (least, most) in spans)


def contains(outer: Box, inner: Box, dimensions: int) -> bool:
    spans = ((span(outer, d), span(inner, d)) for d in range(dimensions))
    return all(low <= least and high >= most for (low, high), (least, most) in spans)


def useless_in(asked: Box, others: list[Box], dimensions: int) -> set[int]:
    """Where the box is not constrained, and the boxes that are cannot span everything."""
    found = set()
    for d in set(range(dimensions)) - set(asked.dimensions):
        theirs = [span(other, d) for other in others if d in other.dimensions]
        if not (any(low == LOWEST for low, _ in theirs) and any(high == HIGHEST for _, high in theirs)):
            found.add(d)
    return found


def check_table(table: BoxTable[str], kept: Boxes, asked: Box, dimensions: int) -> None:
    useless = useless_in(asked, [box for several in kept.values() for box in several], dimensions)
    wanted = sorted(
        (owner, str(box))
        for owner, several in kept.items()
        for box in several
        if useless.isdisjoint(box.dimensions) and meets(box, asked, dimensions)
    )
    rows, container = table.meeting(asked)
    containing = {owner for owner, several in kept.items() if any(contains(b, asked, dimensions) for b in several)}
    if containing:
        assert container in containing
        return
    assert container is None
    found = table.table(asked, rows)
    shown = []
    for number, row in enumerate(rows.tolist()):
        spans = {
            int(d): (int(low), int(high))
            for d, low, high in zip(found.dimensions, found.low[number], found.high[number], strict=True)
            if (low, high) != EVERYTHING
        }
        box = Box((), (), ()).with_spans(dict(sorted(spans.items())))
        shown.append((table.owner(row), str(box)))
    assert sorted(shown) == wanted
    for d, low, high in zip(found.dimensions.tolist(), found.own_low, found.own_high, strict=True):
        assert (low, high) == span(asked, d)


@pytest.mark.interpreted
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("dimensions", [3, 12])
def test_the_same_as_a_scan_while_boxes_come_and_go(dimensions: int, nulls: bool) -> None:
    random = Random(dimensions + nulls)
    table: BoxTable[str] = BoxTable(space_of(dimensions))
    kept: Boxes = {}
    for step in range(1200):
        owner = f"s{step}"
        kept[owner] = [random_box(random, dimensions, 0.9, nulls) for _ in range(random.choice([1, 1, 1, 3]))]
        table.add(owner, kept[owner])
        if random.random() < 0.45:
            gone = random.choice(list(kept))
            table.remove(gone)
            del kept[gone]
        assert len(table) == sum(map(len, kept.values()))
        if step % 60 == 59:
            for _ in range(4):
                check_table(table, kept, random_box(random, dimensions, 1.0, nulls), dimensions)
    assert table.bitmap_bytes


@pytest.mark.interpreted
def test_labels_that_move_change_nothing() -> None:
    random = Random(1)
    table: BoxTable[str] = BoxTable(space_of(2))
    kept: Boxes = {}
    for number in range(700):
        kept[f"s{number}"] = [random_box(random, 2, 0.9, True)]
        table.add(f"s{number}", kept[f"s{number}"])
    old = np.arange(-1, 200, dtype=np.int64)
    move = Relabelling(old, old * 1000)

    def moved(box: Box) -> Box:
        spans = {
            d: (low, high) if d else tuple(move.moved(np.array([low, high])).tolist())
            for d, low, high in zip(box.dimensions, box.low, box.high, strict=True)
        }
        return Box((), (), ()).with_spans(spans)

    table.renumber(0, move)
    kept = {owner: [moved(box) for box in several] for owner, several in kept.items()}
    for _ in range(40):
        check_table(table, kept, moved(random_box(random, 2, 1.0, True)), 2)


@pytest.mark.interpreted
def test_rare_dimensions_cost_no_bitmaps() -> None:
    """A thousand dimensions that one box each is constrained in beside one that all are."""
    space = space_of(1001)
    table: BoxTable[int] = BoxTable(space)
    for number in range(1000):
        table.add(number, [Box((0, 1 + number), (number, 5), (number + 10, 9))])
    words = 1024 // 64 * 2  # room for as many again
    assert 0 < table.bitmap_bytes <= (2 * MOST_CUTS + 1) * 8 * words
    rows, container = table.meeting(Box((0, 7), (0, 5), (100, 6)))
    assert container is None
    assert rows.tolist() == [6]


@pytest.mark.interpreted
def test_what_cannot_be_needed_is_left_out() -> None:
    """A box of two dimensions, and rows of which some leave an end of it to others."""
    table: BoxTable[str] = BoxTable(space_of(2))
    table.add("low half", [Box((0, 1), (0, 0), (5, 10))])
    table.add("high half", [Box((0, 1), (5, 0), (10, 10))])
    table.add("middle", [Box((0, 1), (3, 2), (7, 8))])
    asked = Box((0, 1), (0, 0), (10, 10))
    rows, _ = table.meeting(asked)
    kept, ends = needed_rows(table.table(asked, rows))
    assert [table.owner(row) for row in rows[kept].tolist()] == ["low half", "high half"]
    assert ends == {1: 0}  # where nothing of the middle is
    table.remove("high half")
    rows, _ = table.meeting(asked)
    kept, ends = needed_rows(table.table(asked, rows))
    assert not kept.any()
    assert ends == {0: 9, 1: 0}


@pytest.mark.interpreted
def test_points_that_some_box_may_hold() -> None:
    space = space_of(2)
    pair = space.number(Dimension(Column("x0", INT, "x1")))
    table: BoxTable[str] = BoxTable(space)
    table.add("less", [Box((pair,), (FIRST,), (1,))])
    assert table.may_hold({0: 1, 1: 2})  # what a comparison of two attributes says is not known
    table.remove("less")
    table.add("box", [Box((0, pair), (5, FIRST), (9, 1))])
    assert table.may_hold({0: 5})
    assert not table.may_hold({0: 4})
    assert not table.may_hold({1: 5})
