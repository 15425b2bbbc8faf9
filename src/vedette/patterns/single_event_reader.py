"""Read a single event for patterns without arrays and without Arrow, with the same result as a batch of one.

Only common forms are read here. For others - a value of an unusual type, one that breaks the schema - it raises
`NeedsBatchReader`, and `vedette.patterns.pattern_reader` handles them and reports errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from vedette.errors import InputError
from vedette.filters.matcher import Matcher
from vedette.patterns.event_times import TIME, YEAR_10000
from vedette.patterns.values import Int64Pair, pair_of, partition_pair
from vedette.schema.columns import Column
from vedette.schema.event_values import prepare_one
from vedette.schema.keys import INT_MAX, INT_MIN, NumberKey, float_key
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.types import TIMESTAMP, Kind

_Event: TypeAlias = Mapping[str, Any]
_KeyFinder: TypeAlias = Callable[[_Event], NumberKey | bytes | None]
_PairFinder: TypeAlias = Callable[[_Event], Int64Pair | None]
_TimeFinder: TypeAlias = Callable[[_Event], int | None]
_DAY: Final = 86_400_000_000  # in microseconds


class NeedsBatchReader(Exception):
    """The event has to be read by the batch reader."""


class SingleEvent(NamedTuple):
    """One event: its time (None: it has none), the filters it satisfies, keys, and values."""

    time: int | None
    primitives: list[int]
    keys: list[Int64Pair | None]
    values: list[Int64Pair | None]


class SingleEventReader:
    """Reads single events for some patterns, whose filters a `matcher` has."""

    def __init__(self, matcher: Matcher, schema: Schema, columns: Sequence[str], keys: Sequence[Sequence[str]]) -> None:
        self._numbers = matcher.match_numbers
        self._time = _time_finder(schema)
        self._columns = [_pair_finder(path, schema) for path in columns]
        self._keys = [[_pair_finder(path, schema) for path in paths] for paths in keys]

    def read(self, event: _Event) -> SingleEvent:
        """Read an event; raises NeedsBatchReader."""
        try:
            return SingleEvent(
                self._time(event),
                self._numbers(event),
                [_key(event, finders) for finders in self._keys],
                [find(event) for find in self._columns],
            )
        except (AttributeError, InputError, TypeError, UnicodeEncodeError):  # the batch reader reports what is wrong
            raise NeedsBatchReader from None


def _key(event: _Event, finders: Sequence[_PairFinder]) -> Int64Pair | None:
    parts = []
    for find in finders:
        pair = find(event)
        if pair is None:
            return None
        parts.append(pair)
    return partition_pair(parts)


def _pair_finder(path: str, schema: Schema) -> _PairFinder:
    declared = schema.type_of(path)
    if declared is None:
        return _looked_at(path)
    if declared.is_list or not declared.kind.ordered:
        return _refused
    kind, key_in = declared.kind, _key_finder(Column(path, declared), schema)

    def find(event: _Event) -> Int64Pair | None:
        key = key_in(event)
        return None if key is None else pair_of(kind, key)

    return find


def _looked_at(path: str) -> _PairFinder:
    """A reader by the value's own type, as the schema does not know the attribute's type."""
    find_value = finder(path)

    def find(event: _Event) -> Int64Pair | None:
        value = find_value(event)
        if value is None:
            return None
        kind = type(value)
        if kind is str:
            return pair_of(Kind.STRING, value.encode())
        if kind is float:
            return float_key(value), 0
        if kind is bool or (kind is int and INT_MIN <= value <= INT_MAX):
            return pair_of(Kind.INT, int(value))
        raise NeedsBatchReader

    return find


def _refused(_event: _Event) -> Any:
    raise NeedsBatchReader


def _time_finder(schema: Schema) -> _TimeFinder:
    """A reader of microseconds since 1970, as in `times_of`."""
    declared = schema.type_of(TIME)
    if declared is None:
        return _looked_at_time(_key_finder(Column(TIME, TIMESTAMP), schema))
    if declared.is_list or declared.kind not in (Kind.TIMESTAMP, Kind.DATE):
        return _refused
    unit, key_in = _DAY if declared.kind is Kind.DATE else 1, _key_finder(Column(TIME, declared), schema)

    def find(event: _Event) -> int | None:
        key = key_in(event)
        return None if key is None else int(key) * unit

    return find


def _looked_at_time(moment_in: _KeyFinder) -> _TimeFinder:
    """A reader of times: a number is seconds, a text is a moment; anything else needs the batch reader."""

    def find(event: _Event) -> int | None:
        value = event.get(TIME)
        if value is None:
            return None
        kind = type(value)
        if kind is int and -YEAR_10000 < value < YEAR_10000:
            return int(value * 1_000_000)
        if kind is float and -YEAR_10000 < value < YEAR_10000:
            microseconds: int = round(value * 1e6)
            return microseconds
        moment = moment_in(event) if kind is str else None
        if moment is None:
            raise NeedsBatchReader
        return int(moment)

    return find


def _key_finder(column: Column, schema: Schema) -> _KeyFinder:
    """A reader of the key of a single value that has an order."""
    encode = prepare_one([column], schema)
    return lambda event: cast("NumberKey | bytes | None", encode(event)[0])
