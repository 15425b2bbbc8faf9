"""Keys keep the order of values, and constants fall exactly among them."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from vedette.schema.keys import INT_MAX, INT_MIN, LOWEST, above, at_least, key, read
from vedette.schema.types import Kind

integers = st.one_of(
    st.integers(INT_MIN, INT_MAX), st.integers(-3, 3), st.sampled_from([INT_MIN, INT_MAX, 2**53, 2**53 + 1])
)
any_integer = st.one_of(integers, st.integers(-(2**70), 2**70), st.sampled_from([10**400, -(10**400)]))
floats = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.0**53]))
times = st.datetimes(timezones=st.just(dt.UTC))
dates = st.dates()
ips = st.one_of(
    st.ip_addresses(v=4), st.ip_addresses(v=6), st.sampled_from([ipaddress.ip_address("f" * 4 + ":ffff" * 7)])
)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def rank(value: Any) -> Any:
    """A Python object that compares as the values should: exactly, and NaN above everything."""
    if isinstance(value, float):
        if math.isnan(value):
            return (2, 0)
        return (1, Fraction(0)) if value == math.inf else (-1, 0) if value == -math.inf else (0, Fraction(value))
    if isinstance(value, int):
        return (0, Fraction(value))
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if isinstance(value, ipaddress.IPv4Address):
        return int(value) + (0xFFFF << 32)
    return int(value) if isinstance(value, ipaddress.IPv6Address) else value


PAIRS = [
    (Kind.INT, integers, any_integer),
    (Kind.INT, integers, floats),
    (Kind.FLOAT, floats, any_integer),
    (Kind.FLOAT, floats, floats),
    (Kind.BOOL, st.booleans(), st.booleans()),
    (Kind.TIMESTAMP, times, times),
    (Kind.TIMESTAMP, times, dates),
    (Kind.DATE, dates, times),
    (Kind.DATE, dates, dates),
    (Kind.STRING, texts, texts),
    (Kind.IP, ips, ips),
]


@pytest.mark.parametrize(("kind", "values", "constants"), PAIRS)
def test_constants_fall_exactly_among_the_keys(
    kind: Kind, values: st.SearchStrategy[Any], constants: st.SearchStrategy[Any]
) -> None:
    @given(values, constants)
    def agrees(value: Any, constant: Any) -> None:
        found: Any = key(kind, value)  # of the type that the keys of the kind have
        low, high = at_least(kind, constant), above(kind, constant)
        assert (low is not None and found >= low) == (rank(value) >= rank(constant))
        assert (high is not None and found >= high) == (rank(value) > rank(constant))
        assert found >= LOWEST[kind]

    agrees()


@pytest.mark.parametrize(("kind", "values"), [(kind, values) for kind, values, _ in PAIRS])
def test_bounds_are_the_smallest_keys(kind: Kind, values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def holds(value: Any) -> None:
        assert at_least(kind, value) == key(kind, value)
        following = above(kind, value)
        if kind is Kind.FLOAT and -(2**63) <= value < 2**64 and abs(value) >= 2**53:
            assert following == key(kind, int(value) + 1)  # which lies between this float and the next one
        elif kind is Kind.FLOAT and value < math.inf:
            assert following == key(kind, math.nextafter(value, math.inf))
        elif kind in (Kind.INT, Kind.TIMESTAMP, Kind.DATE) and following is not None:
            assert following - 1 == key(kind, value)

    holds()


def test_constants_outside_the_keys() -> None:
    assert at_least(Kind.INT, 2**63) is None
    assert above(Kind.INT, INT_MAX) is None
    assert at_least(Kind.INT, -(2**70)) == INT_MIN
    assert at_least(Kind.INT, 2.5) == above(Kind.INT, 2.5) == 3
    assert at_least(Kind.INT, math.nan) is None
    assert above(Kind.FLOAT, math.nan) is None
    assert above(Kind.FLOAT, math.inf) == key(Kind.FLOAT, math.nan)
    assert above(Kind.FLOAT, 2**53 + 1) == key(Kind.FLOAT, 2.0**53 + 2)
    assert above(Kind.FLOAT, 2**64 + 1) == at_least(Kind.FLOAT, 2**64 + 1) == key(Kind.FLOAT, 2.0**64 + 4096)
    assert above(Kind.BOOL, True) is None
    assert above(Kind.IP, ipaddress.ip_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")) is None
    assert at_least(Kind.DATE, dt.datetime(1970, 1, 2, 0, 0, 1, tzinfo=dt.UTC)) == 2


def test_zero_has_one_key() -> None:
    assert key(Kind.FLOAT, -0.0) == key(Kind.FLOAT, 0.0) == 0


UTC = dt.UTC
READ = [
    (Kind.INT, 5, 5),
    (Kind.INT, 5.0, 5),
    (Kind.INT, np.int32(7), 7),
    (Kind.FLOAT, 5, 5.0),
    (Kind.FLOAT, np.float32(0.5), 0.5),
    (Kind.STRING, "é", "é"),
    (Kind.BOOL, np.bool_(True), True),
    (Kind.TIMESTAMP, "2024-05-01T12:30:00Z", dt.datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
    (Kind.TIMESTAMP, "2024-05-01 12:30:00+02:00", dt.datetime(2024, 5, 1, 10, 30, tzinfo=UTC)),
    (Kind.TIMESTAMP, "2024-05-01", dt.datetime(2024, 5, 1, tzinfo=UTC)),
    (Kind.TIMESTAMP, 86400, dt.datetime(1970, 1, 2, tzinfo=UTC)),
    (Kind.TIMESTAMP, -0.5, dt.datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)),
    (Kind.TIMESTAMP, dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, tzinfo=UTC)),
    (Kind.TIMESTAMP, dt.date(2024, 5, 1), dt.datetime(2024, 5, 1, tzinfo=UTC)),
    (Kind.TIMESTAMP, np.datetime64("2024-05-01T00:00:01"), dt.datetime(2024, 5, 1, 0, 0, 1, tzinfo=UTC)),
    (Kind.DATE, "2024-05-01", dt.date(2024, 5, 1)),
    (Kind.DATE, dt.datetime(2024, 5, 1), dt.date(2024, 5, 1)),
    (Kind.IP, "10.0.0.1", ipaddress.ip_address("10.0.0.1")),
    (Kind.IP, "::1", ipaddress.ip_address("::1")),
    (Kind.POINT, {"lon": 1, "lat": 2}, (1.0, 2.0)),
    (Kind.POINT, {"latitude": 2, "longitude": 1}, (1.0, 2.0)),
    (Kind.POINT, {"x": 1, "y": 2}, (1.0, 2.0)),
    (Kind.POINT, [1, 2.5], (1.0, 2.5)),
    (Kind.POINT, {"type": "Point", "coordinates": [1, 2]}, (1.0, 2.0)),
    (Kind.POINT, "point (1 -2.5)", (1.0, -2.5)),
]


@pytest.mark.parametrize(("kind", "raw", "value"), READ)
def test_values_are_read(kind: Kind, raw: Any, value: Any) -> None:
    found = read(kind, raw)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    (Kind.INT, True, "not a whole number"),
    (Kind.INT, 2.5, "not a whole number"),
    (Kind.INT, math.nan, "not a whole number"),
    (Kind.INT, "5", "not a whole number"),
    (Kind.INT, 2**63, "64 bits"),
    (Kind.INT, 1e300, "64 bits"),
    (Kind.FLOAT, True, "not a number"),
    (Kind.FLOAT, "5", "not a number"),
    (Kind.FLOAT, 10**400, "too large"),
    (Kind.STRING, 5, "not text"),
    (Kind.STRING, "\ud800", "surrogate"),
    (Kind.BOOL, 1, "not true or false"),
    (Kind.TIMESTAMP, "yesterday", "not a time"),
    (Kind.TIMESTAMP, True, "not a time"),
    (Kind.TIMESTAMP, 1e30, "not a time"),
    (Kind.TIMESTAMP, math.nan, "not a time"),
    (Kind.DATE, dt.datetime(2024, 5, 1, 1), "not a date"),
    (Kind.DATE, "2024-05-01T01:00", "not a date"),
    (Kind.DATE, 5, "not a date"),
    (Kind.IP, "10.0.0.256", "not an ip address"),
    (Kind.IP, "fe80::1%eth0", "not an ip address"),
    (Kind.IP, 5, "not an ip address"),
    (Kind.POINT, [1], "not a point"),
    (Kind.POINT, [1, None], "not a point"),
    (Kind.POINT, [1, math.inf], "not a point"),
    (Kind.POINT, {"lon": 1}, "not a point"),
    (Kind.POINT, "POINT()", "not a point"),
    (Kind.POINT, "", "not a point"),
    (Kind.REGION, "POINT(1 2)", "not a polygon"),
    (Kind.REGION, "POLYGON((", "not a region"),
    (Kind.REGION, {"type": "Polygon"}, "not a region"),
    (Kind.REGION, 5, "not a polygon"),
    (Kind.REGION, "POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))", "not a proper polygon"),
]


@pytest.mark.parametrize(("kind", "raw", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused_with_a_reason(kind: Kind, raw: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(kind, raw)


def test_regions_are_read_from_both_forms() -> None:
    ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
    from_text = read(Kind.REGION, "POLYGON((0 0, 1 0, 1 1, 0 0))")
    assert from_text.equals(read(Kind.REGION, {"type": "Polygon", "coordinates": [ring]}))
    assert read(Kind.REGION, shapely.box(0, 0, 1, 1)).area == 1
