"""Values as pairs: equal and ordered as the values are."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.seeds import EXAMPLES
from vedette.errors import NotSupported
from vedette.language.three_valued import order
from vedette.patterns.values import coded, partition_keys
from vedette.schema.columns import Column, PointColumn
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, INT, STRING, Kind, Type


def pair(value: Any, kind: Kind) -> tuple[int, int]:
    """Through the columns that events become."""
    schema = Schema.of({"v": kind.value})
    column = Column("v", Type(kind))
    pairs, known = coded(encode([{"v": None}, {"v": value}], [column], schema).data[column], kind)
    assert known.tolist() == [False, True]
    assert pairs[0].tolist() == [0, 0]
    return int(pairs[1, 0]), int(pairs[1, 1])


def sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


EDGES = [0, 1, 2**53, 2**54, 2**62, 2**63 - 1]
NEAR = [sign * (edge + step) for edge in EDGES for step in range(-3, 4) for sign in (1, -1)]
INTS = st.one_of(
    st.sampled_from([each for each in [*NEAR, -(2**63)] if -(2**63) <= each < 2**63]), st.integers(-(2**63), 2**63 - 1)
)
FLOATS = st.one_of(
    st.floats(),
    INTS.map(float),
    INTS.map(lambda whole: math.nextafter(float(whole), math.inf)),
    INTS.map(lambda whole: math.nextafter(float(whole), -math.inf)),
    st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.0**63, -(2.0**63)]),
)
NUMBERS = st.one_of(INTS.map(lambda v: (v, Kind.INT)), FLOATS.map(lambda v: (v, Kind.FLOAT)))


@given(NUMBERS, NUMBERS)
@example((2**53 + 1, Kind.INT), (2.0**53, Kind.FLOAT))
@example((2**63 - 1, Kind.INT), (2.0**63, Kind.FLOAT))
@example((-(2**63), Kind.INT), (-(2.0**63), Kind.FLOAT))
@example((0, Kind.INT), (-0.0, Kind.FLOAT))
@example((math.nan, Kind.FLOAT), (math.nan, Kind.FLOAT))
@example((math.nan, Kind.FLOAT), (math.inf, Kind.FLOAT))
@settings(max_examples=5 * EXAMPLES)
def test_numbers(one: tuple[Any, Kind], other: tuple[Any, Kind]) -> None:
    assert sign(pair(*one), pair(*other)) == order(one[0], other[0])


@given(st.booleans(), st.booleans())
def test_truth_values(one: bool, other: bool) -> None:
    assert sign(pair(one, Kind.BOOL), pair(other, Kind.BOOL)) == sign(one, other)


MOMENTS = st.one_of(
    st.dates().map(lambda v: (v, Kind.DATE)),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda v: (v, Kind.TIMESTAMP)),
    st.dates().map(lambda v: (dt.datetime(v.year, v.month, v.day, tzinfo=dt.UTC), Kind.TIMESTAMP)),
)


@given(MOMENTS, MOMENTS)
@example((dt.date(2024, 5, 1), Kind.DATE), (dt.datetime(2024, 5, 1, tzinfo=dt.UTC), Kind.TIMESTAMP))
@settings(max_examples=3 * EXAMPLES)
def test_times(one: tuple[Any, Kind], other: tuple[Any, Kind]) -> None:
    assert sign(pair(*one), pair(*other)) == order(one[0], other[0])


ADDRESSES = st.one_of(
    st.ip_addresses(),
    st.ip_addresses(v=4).map(lambda v: ipaddress.IPv6Address(0xFFFF_0000_0000 + int(v))),
    st.integers(2**127 - 2, 2**127 + 2).map(ipaddress.IPv6Address),
    st.integers(2**63 - 2, 2**63 + 2).map(ipaddress.IPv6Address),
)


@given(ADDRESSES, ADDRESSES)
@example(ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::ffff:10.0.0.1"))
@settings(max_examples=3 * EXAMPLES)
def test_addresses(one: Any, other: Any) -> None:
    assert sign(pair(one, Kind.IP), pair(other, Kind.IP)) == order(one, other)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@given(TEXTS, TEXTS)
@example("a", "a\0")
@example("", "\0")
@example("é", "e\u0301")
def test_texts_are_equal_or_not(one: str, other: str) -> None:
    assert (pair(one, Kind.STRING) == pair(other, Kind.STRING)) == (one == other)


def test_a_text_has_the_same_pair_in_every_process() -> None:
    digest = hashlib.blake2b("größe".encode(), digest_size=16, person=b"vedette text").digest()
    assert pair("größe", Kind.STRING) == struct.unpack("<qq", digest)


def test_no_events_have_no_pairs() -> None:
    for kind in (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.IP, Kind.DATE):
        column = Column("v", Type(kind))
        pairs, known = coded(encode([], [column], Schema.of({"v": kind.value})).data[column], kind)
        assert pairs.shape == (0, 2)
        assert known.shape == (0,)
        assert partition_keys([(pairs, known)] * 2)[0].shape == (0, 2)


def test_places_have_none() -> None:
    with pytest.raises(NotSupported, match="by a point"):
        coded(PointColumn(np.zeros(1), np.zeros(1)), Kind.POINT)


# ---------------------------------------------------------------- partitions

SCHEMA = Schema.of({"a": "int", "b": "string", "c": "float"})
COLUMNS = [Column("a", INT), Column("b", STRING), Column("c", FLOAT)]
EVENTS = st.lists(
    st.fixed_dictionaries(
        {"a": st.sampled_from([None, 0, 1, 2]), "b": st.sampled_from([None, "", "0", "1"]), "c": st.sampled_from([1.0])}
    ),
    max_size=8,
)


@given(EVENTS, st.integers(1, 3))
def test_partitions(events: list[dict[str, Any]], count: int) -> None:
    used = COLUMNS[:count]
    data = encode(events, used, SCHEMA).data
    keys, known = partition_keys([coded(data[column], column.type.kind) for column in used])
    expected = [tuple(event[column.path] for column in used) for event in events]
    assert known.tolist() == [None not in values for values in expected]
    assert not keys[~known].any()
    for i, j in [(i, j) for i in range(len(events)) for j in range(len(events)) if known[i] and known[j]]:
        assert (keys[i].tolist() == keys[j].tolist()) == (expected[i] == expected[j])


def test_one_attribute_is_its_own_key() -> None:
    part = np.array([[1, 2], [0, 0]]), np.array([True, False])
    assert partition_keys([part]) is part
