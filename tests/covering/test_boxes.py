"""Filters as boxes: an event's point is in one of them exactly if the filter is true of the event."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.brute_force import elementary
from tests.language.random_filters import FILTERS, SCHEMA, random_events
from tests.seeds import EXAMPLES
from vedette.covering.boxes import FALSE, MOST_BOXES, TRUE, UNKNOWN, Box, BoxSpace, NoBoxes
from vedette.covering.key_bounds import real_key
from vedette.covering.order_labels import FIRST, HIGHEST, LOWEST, OrderLabels
from vedette.language.ast import Comparator, Filter
from vedette.language.check import check
from vedette.language.evaluate import evaluate, value_of
from vedette.language.normalform import NormalForm
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.language.three_valued import compared
from vedette.schema.keys import ip_key, key, read_ip, split
from vedette.schema.schema import Schema
from vedette.schema.types import Kind

EVENTS = random_events(240)


def coordinate(space: BoxSpace, number: int, event: Mapping[str, Any], schema: Schema) -> int:
    """Where an event lies in one dimension, by what the dimension is said to be."""
    dimension = space.dimensions[number]
    column = dimension.column
    if column.other is not None:
        left, right = value_of(column.path, None, event, schema), value_of(column.other, None, event, schema)
        if left is None or right is None:
            return space.coordinate(number, None)
        sign = 0 if compared(left, Comparator.LT, right) else 1 if compared(left, Comparator.EQ, right) else 2
        return space.coordinate(number, sign)
    value = value_of(column.path, column.type, event, schema)
    if value is None:
        return LOWEST
    if dimension.test is not None:
        truth = elementary(dimension.test, value, column.type.kind)
        return UNKNOWN if truth is None else TRUE if truth else FALSE
    if column.type.is_list or not column.type.kind.ordered:
        return 0
    if dimension.rest:  # how many integers it is above the float that is its coordinate in the column's own dimension
        number_key = key(column.type.kind, value)
        assert not isinstance(number_key, bytes)
        return split(number_key)[1]
    return space.coordinate(number, key(column.type.kind, value))


def holds(space: BoxSpace, boxes: list[Box], event: Mapping[str, Any], schema: Schema = SCHEMA) -> bool:
    point = [coordinate(space, number, event, schema) for number in range(len(space.dimensions))]
    return any(
        all(low <= point[d] < high for d, low, high in zip(box.dimensions, box.low, box.high, strict=True))
        for box in boxes
    )


def form(text: str, schema: Schema = SCHEMA) -> NormalForm:
    return normalise(check(parse(text), schema, text))


def boxes(text: str) -> list[Box]:
    return BoxSpace().boxes(form(text))


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(FILTERS, st.lists(FILTERS, max_size=3), st.integers(0, 219))
def test_an_event_is_in_the_boxes_if_the_filter_is_true(filter_: Filter, others: list[Filter], first: int) -> None:
    space = BoxSpace()
    checked = check(filter_, SCHEMA)
    try:
        space.boxes(normalise(checked))
    except NoBoxes:
        return
    for other in others:  # whose dimensions and labels come in between
        try:
            space.boxes(normalise(check(other, SCHEMA)))
        except NoBoxes:
            continue
    found = space.boxes(normalise(checked))
    for event in EVENTS[first : first + 20]:
        assert holds(space, found, event) == (evaluate(checked, event) is True)


def test_most_filters_have_boxes() -> None:
    """What the property above leaves out is little."""
    texts = ["i = 5", "i != 5 or s > 'a'", "not (a in cidr '10.0.0.0/8')", "any(li) = 3", "i < f and s contains 'x'"]
    assert all(boxes(text) for text in texts)


def test_bounds_open_and_closed() -> None:
    assert boxes("i > 5 and i <= 9") == [Box((0,), (6,), (10,))]
    assert boxes("i in (5, 6, 7)") == [Box((0,), (5,), (8,))]
    assert boxes("i in (5, 7)") == [Box((0,), (5,), (6,)), Box((0,), (7,), (8,))]
    assert boxes("i is null") == [Box((0,), (LOWEST,), (FIRST,))]
    assert boxes("i is not null") == [Box((0,), (FIRST,), (HIGHEST,))]
    assert boxes("i < 5 or i is null") == [Box((0,), (LOWEST,), (5,))]
    assert boxes("b or b is null") == [Box((0,), (LOWEST,), (FIRST,)), Box((0,), (1,), (HIGHEST,))]
    assert boxes("true") == [Box((), (), ())]
    assert boxes("i > 5 and i < 3") == []


def test_two_attributes_are_an_ordinary_dimension() -> None:
    assert boxes("i < j") == [Box((0,), (FIRST,), (1,))]
    assert boxes("i >= j") == [Box((0,), (1,), (HIGHEST,))]


def test_tests_without_an_order() -> None:
    space = BoxSpace()
    assert space.boxes(form("s contains 'a'")) == [Box((1, 0), (TRUE, FIRST), (TRUE + 1, HIGHEST))]
    either = space.boxes(form("s contains 'a' or s contains 'b'"))
    assert {box.dimensions[0] for box in either} == {1, 2}
    (neither,) = space.boxes(form("not (s contains 'a' or s contains 'b')"))
    assert neither == Box((1, 2, 0), (FALSE, FALSE, FIRST), (FALSE + 1, FALSE + 1, HIGHEST))
    assert list(space.derived) == [0, 1, 1]


def test_readings_of_one_attribute_depend_on_each_other() -> None:
    space = BoxSpace()
    space.boxes(form("s = 'a' and i = 1"))
    assert list(space.derived) == [0, 0]
    space.boxes(form("s in cidr '10.0.0.0/8'"))
    assert sorted(space.derived) == [0, 1, 1]


def test_too_many_boxes_are_refused() -> None:
    odd = ", ".join(str(2 * number + 1) for number in range(17))
    assert len(boxes(f"i in ({odd})")) == 17
    with pytest.raises(NoBoxes, match=str(MOST_BOXES)):
        boxes(f"i in ({odd}) and j in ({odd})")


@pytest.mark.parametrize("end", [-(2**63), 2**63 - 1])
def test_the_ends_of_all_integers(end: int) -> None:
    """Null takes the place of one integer, so that these two cannot be told from their neighbours."""
    with pytest.raises(NoBoxes):
        boxes(f"i = {end}")
    space = BoxSpace()
    found = space.boxes(form("i > 5 or i < -5"))
    assert holds(space, found, {"i": end})


def test_texts_keep_their_order_however_they_come() -> None:
    random = Random(3)
    for order in ("up", "down", "between", "random"):
        labels = OrderLabels()
        keys = [b"%08d" % number for number in range(3000)]
        if order == "down":
            keys.reverse()
        elif order == "between":
            keys = [key for pair in zip(keys[:1500], reversed(keys[1500:]), strict=True) for key in pair]
        elif order == "random":
            random.shuffle(keys)
        kept: dict[bytes, int] = {}
        for text in keys:
            move = labels.add([text])
            if move is not None:
                moved = move.moved(np.array(list(kept.values()), np.int64)).tolist()
                kept = dict(zip(kept, moved, strict=True))
            kept[text] = labels[text]
        assert kept == {text: labels[text] for text in keys}
        numbers = [labels[text] for text in sorted(keys)]
        assert numbers == sorted(set(numbers))
        assert numbers[0] > FIRST
        assert numbers[-1] < HIGHEST
        assert labels.at(b"00000007x") == labels[b"00000007"]
        assert labels.key_at(labels[b"00000007"] + 1) in (b"00000007", b"00000008")
        assert labels.at(b"") == FIRST
        assert labels.key_at(FIRST) is None


@given(st.text(max_size=3), st.binary(max_size=3))
def test_bounds_are_texts_that_there_can_be(text: str, behind: bytes) -> None:
    bound = text.encode() + behind
    real = real_key(Kind.STRING, bound)
    assert real is not None or bound >= "\U0010ffff".encode()
    if real is not None:
        assert real >= bound
        assert real.decode().encode() == real
        # No text is in between: neither the last one before it, nor the same with the last character before.
        whole = real.decode()
        if whole and real > bound:
            shorter = whole[:-1]
            assert shorter.encode() < bound
            before = ord(whole[-1]) - 1
            if before >= 0 and not 0xD800 <= before < 0xE000:
                assert (shorter + chr(before) + "\U0010ffff").encode() < bound


def test_bounds_are_addresses_that_there_can_be() -> None:
    one, two = ip_key(read_ip("10.0.0.1")), ip_key(read_ip("10.0.0.2"))
    assert real_key(Kind.IP, one) == one
    assert real_key(Kind.IP, one + b"\0") == two
    assert real_key(Kind.IP, b"\xff" * 16 + b"\0") is None
    assert real_key(Kind.IP, b"\0" * 16) == b""
    space = BoxSpace()
    assert space.boxes(form("a > ip '10.0.0.1'")) == space.boxes(form("a >= ip '10.0.0.2'"))
