"""Maps values to order-preserving keys.

    int        the value, in 64 bits            timestamp  microseconds since 1970-01-01 UTC
    bool       0, 1                             date       days since 1970-01-01
    float      its bits, mended so that they    string     its UTF-8 bytes
               sort: NaN = NaN, above all       ip         16 bytes, IPv4 as ::ffff:a.b.c.d

A float may hold a 64-bit integer that no float64 equals. Its key is a fraction, between the keys of its neighbours:
that of the float64 below it, and how far it is above that one in 2048ths.

`read` converts an event's raw value to a value of a kind, `key` converts that to its key, and `at_least` and
`above` find where a constant of a filter falls among the keys of a kind. With half-open intervals `< v` is
`[None, at_least(v))`, `<= v` is `[None, above(v))` and `= v` is `[at_least(v), above(v))`, which is empty
where no value equals the constant (`2.5` among integers). All of it is exact: no constant is rounded.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import reprlib
import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from vedette.schema.types import Kind

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
NumberKey: TypeAlias = int | Fraction

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX: Final = 2**64 - 1
DENSE: Final = 2**53  # from here on every float64 is an integer; up to here every integer is a float64
PARTS: Final = 2048  # more than there are integers between two neighbouring floats below 2**64
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY = 86_400_000_000  # in microseconds
_MAPPED = b"\0" * 10 + b"\xff\xff"
_LAST_ADDRESS = b"\xff" * 16
_SIGNLESS = 0x7FFF_FFFF_FFFF_FFFF
_NAN_KEY = 0x7FF8_0000_0000_0000
_pack_float, _unpack_int = struct.Struct("<d").pack, struct.Struct("<q").unpack
_pack_int, _unpack_float = struct.Struct("<q").pack, struct.Struct("<d").unpack

# ---------------------------------------------------------------- values to keys


def int_key(value: int) -> int:
    """The key of an int: the integer itself."""
    return value


def bool_key(value: bool) -> int:
    """The key of a bool: 0 for false, 1 for true."""
    return int(value)


def float_key(value: float) -> int:
    """The key of a float: its bits, with those of negative numbers inverted."""
    if value != value:  # noqa: PLR0124 - the quickest test for NaN
        return _NAN_KEY
    bits: int = _unpack_int(_pack_float(value + 0.0))[0]  # -0.0 + 0.0 is 0.0
    return bits if bits >= 0 else bits ^ _SIGNLESS


def number_key(value: float) -> NumberKey:
    """The exact key of a float64, or an integer of 64 bits; an integer beyond those counts as the nearest float64."""
    if not isinstance(value, int) or not INT_MIN <= value <= UINT_MAX:
        return float_key(float(value))
    below = float(value)
    if below > value:
        below = math.nextafter(below, -math.inf)
    return joined_key(float_key(below), value - int(below))


def split(key: NumberKey) -> tuple[int, int]:
    """The key of the float64 at or below a number, and how many integers the number is above that."""
    return divmod(key.numerator * (PARTS // key.denominator), PARTS)


def joined_key(below: int, rest: int) -> NumberKey:
    """The inverse of `split`."""
    return Fraction(below * PARTS + rest, PARTS) if rest else below


def number_of(key: NumberKey) -> float:
    """The number with this float key: an integer for fractions, and NaN if no number has the key."""
    below, rest = split(key)
    bits = below if below >= 0 else (0 if below == -1 else below ^ _SIGNLESS)  # -1 would be -0.0
    number: float = _unpack_float(_pack_int(bits))[0]
    return int(number) + rest if rest else number


def among_integers(key: NumberKey) -> bool:
    """Whether integers that no float64 equals may lie next to this key of a number."""
    return not -_DENSE_KEY < key < _DENSE_KEY


def is_one_number(low: NumberKey | None, high: NumberKey | None) -> bool:
    """Whether exactly one number has a key from `low` up to, not including, `high`."""
    if low is None or high is None or low >= high:
        return False
    number = number_of(low)
    return number == number and _float_bound(number, True) == high  # noqa: PLR0124 - there are many NaNs


def timestamp_key(value: dt.datetime) -> int:
    """The key of a timestamp: microseconds since the epoch; a time without a zone is in UTC."""
    since = (value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)) - _EPOCH
    return since.days * _DAY + since.seconds * 1_000_000 + since.microseconds


def date_key(value: dt.date) -> int:
    """The key of a date: days since the epoch."""
    return value.toordinal() - _EPOCH_DAY


def string_key(value: str) -> bytes:
    """The key of a string: its UTF-8, whose binary order is the order of code points."""
    return value.encode()


def ip_key(value: Address) -> bytes:
    """The key of an address: 16 bytes; an IPv4 address is the IPv6 address it is mapped to."""
    return _MAPPED + value.packed if value.version == 4 else value.packed


_KEYS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INT: int_key,
    Kind.FLOAT: number_key,
    Kind.BOOL: bool_key,
    Kind.TIMESTAMP: timestamp_key,
    Kind.DATE: date_key,
    Kind.STRING: string_key,
    Kind.IP: ip_key,
}

_DENSE_KEY: Final = float_key(float(DENSE))

# The lowest key.
LOWEST: dict[Kind, int | bytes] = {
    Kind.INT: INT_MIN,
    Kind.FLOAT: float_key(-math.inf),
    Kind.BOOL: 0,
    Kind.TIMESTAMP: INT_MIN,
    Kind.DATE: INT_MIN,
    Kind.STRING: b"",
    Kind.IP: b"\0" * 16,
}


def key(kind: Kind, value: Any) -> NumberKey | bytes:
    """The key of a value of this kind (as `read` returns it)."""
    found: NumberKey | bytes = _KEYS[kind](value)
    return found


# ---------------------------------------------------------------- constants among the keys


def _in_range(found: int) -> int | None:
    return None if found > INT_MAX else max(found, INT_MIN)


def _int_bound(constant: float, strictly: bool) -> int | None:
    if isinstance(constant, float):
        if not math.isfinite(constant):
            return INT_MIN if constant == -math.inf else None
        return _in_range(math.floor(constant) + 1 if strictly else math.ceil(constant))
    return _in_range(constant + 1 if strictly else constant)


def _float_bound(constant: float, strictly: bool) -> NumberKey | None:
    if INT_MIN <= constant <= UINT_MAX and not -DENSE < constant < DENSE:  # values are the integers
        return number_key(int(constant) + strictly)
    try:
        nearest = float(constant)
    except OverflowError:  # an integer beyond every finite float
        return float_key(math.inf) if constant > 0 else float_key(-1.7976931348623157e308)
    found = float_key(nearest)
    if found == _NAN_KEY:
        return None if strictly else found
    # An integer may have been rounded; Python compares it with the float exactly.
    if nearest > constant or (nearest == constant and not strictly):
        return found
    if nearest == math.inf:
        return _NAN_KEY
    return found + 1 if found != -2 else 0  # -1 would be -0.0


def _bool_bound(constant: bool, strictly: bool) -> int | None:
    if strictly:
        return None if constant else 1
    return int(constant)


def _timestamp_bound(constant: dt.date, strictly: bool) -> int | None:
    found = timestamp_key(constant) if isinstance(constant, dt.datetime) else date_key(constant) * _DAY
    return found + 1 if strictly else found


def _date_bound(constant: dt.date, strictly: bool) -> int | None:
    if not isinstance(constant, dt.datetime):
        found = date_key(constant)
        return found + 1 if strictly else found
    day, rest = divmod(timestamp_key(constant), _DAY)
    return day + 1 if strictly or rest else day


def _string_bound(constant: str, strictly: bool) -> bytes | None:
    return constant.encode() + b"\0" if strictly else constant.encode()


def _ip_bound(constant: Address, strictly: bool) -> bytes | None:
    found = ip_key(constant)
    if not strictly:
        return found
    return None if found == _LAST_ADDRESS else found + b"\0"


_BOUNDS: dict[Kind, Callable[[Any, bool], Any]] = {
    Kind.INT: _int_bound,
    Kind.FLOAT: _float_bound,
    Kind.BOOL: _bool_bound,
    Kind.TIMESTAMP: _timestamp_bound,
    Kind.DATE: _date_bound,
    Kind.STRING: _string_bound,
    Kind.IP: _ip_bound,
}


def at_least(kind: Kind, constant: Any) -> Any:
    """The smallest key of the kind whose value is >= the constant; None if there is none."""
    return _BOUNDS[kind](constant, False)


def above(kind: Kind, constant: Any) -> Any:
    """The smallest key of the kind whose value is > the constant; None if there is none."""
    return _BOUNDS[kind](constant, True)


# ---------------------------------------------------------------- what an event holds to values


def _shown(raw: object) -> str:
    return reprlib.repr(raw.item() if isinstance(raw, np.generic) else raw)


def read_int(raw: Any) -> int:
    """Read a 64-bit integer; floats that are whole numbers are accepted."""
    if type(raw) is not int:
        if isinstance(raw, np.generic):
            return read_int(raw.item())
        if not isinstance(raw, float) or not raw.is_integer():
            raise ValueError(f"{_shown(raw)} is not a whole number")
        raw = int(raw)
    if not INT_MIN <= raw <= INT_MAX:
        raise ValueError(f"{_shown(raw)} does not fit into 64 bits")
    return int(raw)


def read_float(raw: Any) -> float:
    """Read a float64, or a 64-bit integer that is not one; larger integers are rounded to the nearest float64."""
    if type(raw) is float:
        return raw
    if type(raw) is int and -DENSE <= raw <= DENSE:
        return float(raw)
    if isinstance(raw, np.generic):
        return read_float(raw.item())
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError(f"{_shown(raw)} is not a number")
    try:
        nearest = float(raw)
    except OverflowError:
        raise ValueError(f"{_shown(raw)} is too large for a float") from None
    return int(raw) if nearest != raw and INT_MIN <= raw <= UINT_MAX else nearest


def read_string(raw: Any) -> str:
    """Read a text that has a UTF-8 form."""
    if not isinstance(raw, str):
        raise ValueError(f"{_shown(raw)} is not text")
    if not raw.isascii():
        try:
            raw.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{_shown(raw)} has half of a surrogate pair, which is no text") from None
    return raw


def read_bool(raw: Any) -> bool:
    """Read true or false; numbers are refused."""
    if isinstance(raw, bool | np.bool_):
        return bool(raw)
    raise ValueError(f"{_shown(raw)} is not true or false")


def read_timestamp(raw: Any) -> dt.datetime:
    """Read ISO 8601 text, a datetime or a date (without a zone: UTC), or a number: seconds since 1970-01-01 UTC."""
    if isinstance(raw, np.datetime64):
        raw = raw.astype("datetime64[us]").item()
    elif isinstance(raw, np.generic):
        raw = raw.item()
    try:
        if isinstance(raw, str):
            raw = dt.datetime.fromisoformat(raw.strip())
        elif isinstance(raw, int | float) and not isinstance(raw, bool):
            return _EPOCH + dt.timedelta(seconds=raw)
        elif isinstance(raw, dt.date) and not isinstance(raw, dt.datetime):
            raw = dt.datetime(raw.year, raw.month, raw.day)
        if isinstance(raw, dt.datetime):
            return raw.replace(tzinfo=dt.UTC) if raw.tzinfo is None else raw.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{_shown(raw)} is not a time such as '2024-05-01T12:30:00Z'")


def read_date(raw: Any) -> dt.date:
    """Read an ISO 8601 date, a date, or a datetime at midnight."""
    if isinstance(raw, np.datetime64):
        raw = raw.astype("datetime64[us]").item()
    if isinstance(raw, dt.datetime):
        if raw.time() == dt.time():
            return raw.date()
    elif isinstance(raw, dt.date):
        return raw
    elif isinstance(raw, str):
        try:
            return dt.date.fromisoformat(raw.strip())
        except ValueError:
            pass
    raise ValueError(f"{_shown(raw)} is not a date such as '2024-05-01'")


def read_ip(raw: Any) -> Address:
    """Read an IPv4 or IPv6 address, without a zone."""
    if isinstance(raw, str):
        try:
            raw = ipaddress.ip_address(raw.strip())
        except ValueError:
            raise ValueError(f"{_shown(raw)} is not an ip address") from None
    if isinstance(raw, ipaddress.IPv4Address) or (isinstance(raw, ipaddress.IPv6Address) and raw.scope_id is None):
        return raw
    raise ValueError(f"{_shown(raw)} is not an ip address")


_POINT_NAMES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))


def read_point(raw: Any) -> tuple[float, float]:
    """Read `{"lon": …, "lat": …}`, `[lon, lat]`, a GeoJSON Point or `POINT(lon lat)` as (longitude, latitude)."""
    pair: Any = None
    if isinstance(raw, Mapping):
        if raw.get("type") == "Point":
            pair = raw.get("coordinates")
        else:
            pair = next(([raw[x], raw[y]] for x, y in _POINT_NAMES if x in raw and y in raw), None)
    elif isinstance(raw, str):
        text = raw.strip()
        if text[:5].upper() == "POINT" and text[5:].lstrip()[:1] == "(" and text[-1] == ")":
            pair = text[text.index("(") + 1 : -1].split()
    elif hasattr(raw, "x") and hasattr(raw, "y"):
        pair = [raw.x, raw.y]
    else:
        pair = raw
    if isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2:
        try:
            x, y = (float(one if isinstance(raw, str) else read_float(one)) for one in pair)
        except ValueError:
            pass
        else:
            if math.isfinite(x) and math.isfinite(y):
                return x, y
    raise ValueError(f"{_shown(raw)} is not a point such as [-73.9, 40.7] (longitude first)")


def read_region(raw: Any) -> Any:
    """Read WKT text or a GeoJSON Polygon or MultiPolygon as a Shapely geometry."""
    import shapely
    import shapely.geometry

    shape: Any = raw
    try:
        if isinstance(raw, str):
            shape = shapely.from_wkt(raw)
        elif isinstance(raw, Mapping):
            shape = shapely.geometry.shape(raw)
    except (shapely.errors.ShapelyError, ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise ValueError(f"{_shown(raw)} is not a region such as 'POLYGON((0 0, 1 0, 1 1, 0 0))'") from None
    if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon) or shape.is_empty:
        raise ValueError(f"{_shown(raw)} is not a polygon or multipolygon")
    if not shape.is_valid:
        raise ValueError(f"{_shown(raw)} is not a proper polygon: {shapely.is_valid_reason(shape)}")
    return shape


READERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INT: read_int,
    Kind.FLOAT: read_float,
    Kind.STRING: read_string,
    Kind.BOOL: read_bool,
    Kind.TIMESTAMP: read_timestamp,
    Kind.DATE: read_date,
    Kind.IP: read_ip,
    Kind.POINT: read_point,
    Kind.REGION: read_region,
}


def read(kind: Kind, raw: Any) -> Any:
    """Read a raw value (JSON, Python, NumPy; not null) as a value of the kind; ValueError says why it is not one."""
    return READERS[kind](raw)
