"""Tests list elements against many sets of ordered values: which sets each distinct element is in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.test_pairs import Arrays, PairsOfTests, frozen, joined, no_holds, pack, spread, unpack
from vedette.language.valuesets import Interval, ValueSet
from vedette.lazy import once
from vedette.schema.exact_numbers import EXACT, widened
from vedette.schema.keys import split

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class KeySets:
    """Numbered sets of int64 keys: single keys are looked up, and each longer interval slices out the keys inside."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, sets: Sequence[ValueSet[Any]]) -> KeySets:
        """Number the sets in their order."""
        points, ranges = _split(sets)
        points.sort()
        ranges = [(interval, number) for interval, number in ranges if _reaches_keys(interval)]
        keys = np.array([key for key, _ in points], np.int64)
        # A bound beyond all keys means unbounded: `above` gives it to an interval that ends behind the highest key.
        low = [split(_LOWEST if interval.low is None else max(interval.low, _LOWEST)) for interval, _ in ranges]
        ends = [None if (high := interval.high) is None or high > _HIGHEST else high for interval, _ in ranges]
        open_above = [end is None for end in ends]
        high = [split(end or 0) for end in ends]
        arrays: Arrays = {
            "point_key": keys,
            "point_set": np.array([number for _, number in points], np.int32),
            "low": np.array([below for below, _ in low], np.int64),
            "high": np.array([below for below, _ in high], np.int64),
            "open_above": np.array(open_above, np.bool_),
            "range_set": np.array([number for _, number in ranges], np.int32),
        }
        if any(rest for _, rest in low + high):
            arrays["low_rest"] = np.array([rest for _, rest in low], np.int16)
            arrays["high_rest"] = np.array([rest for _, rest in high], np.int16)
        return cls(arrays)

    def arrays(self) -> Arrays:
        """Plain arrays from which the sets can be made again."""
        return dict(self._arrays)

    def holds(self, table: NDArray[Any]) -> PairsOfTests:
        """The sets that each key of a table, distinct and in ascending order, is in."""
        own = self._arrays
        keys = np.ascontiguousarray(table["below"]) if table.dtype == EXACT else table
        first, end = (np.searchsorted(own["point_key"], keys, side=side) for side in ("left", "right"))
        place, key = spread(first, end)
        points = PairsOfTests(key.astype(np.int32), own["point_set"][place])
        if "low_rest" in own:
            begin, end = (_places(table, own[side], own[f"{side}_rest"]) for side in ("low", "high"))
        else:
            begin, end = np.searchsorted(keys, own["low"]), np.searchsorted(keys, own["high"])
        stop = np.where(own["open_above"], len(keys), end)
        inside, number = spread(begin, stop)
        return joined([points, PairsOfTests(inside.astype(np.int32), own["range_set"][number])])


def _places(table: NDArray[Any], keys: NDArray[np.int64], rest: NDArray[np.int16]) -> NDArray[np.int64]:
    """The positions of keys with rests in a table."""
    ends = widened(keys)
    ends["rest"] = rest
    return np.searchsorted(widened(table), ends)


class ByteSets:
    """As `KeySets`, for byte keys."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, sets: Sequence[ValueSet[Any]]) -> ByteSets:
        """Number the sets in their order."""
        points, ranges = _split(sets)
        arrays: Arrays = {
            "point_set": np.array([number for _, number in points], np.int32),
            "range_set": np.array([number for _, number in ranges], np.int32),
            "open_above": np.array([interval.high is None for interval, _ in ranges], np.bool_),
        }
        arrays["point_text"], arrays["point_start"] = pack([key for key, _ in points])
        # The empty key is the lowest one.
        arrays["low_text"], arrays["low_start"] = pack([interval.low or b"" for interval, _ in ranges])
        arrays["high_text"], arrays["high_start"] = pack([interval.high or b"" for interval, _ in ranges])
        return cls(arrays)

    def arrays(self) -> Arrays:
        """Plain arrays from which the sets can be made again."""
        return dict(self._arrays)

    @once
    def _points(self) -> dict[bytes, list[int]]:
        points: dict[bytes, list[int]] = {}
        for key, number in zip(self._texts("point"), self._arrays["point_set"].tolist(), strict=True):
            points.setdefault(key, []).append(number)
        return points

    @once
    def _ranges(self) -> list[tuple[bytes, bytes | None, int]]:
        parts = zip(
            self._texts("low"),
            self._texts("high"),
            self._arrays["open_above"].tolist(),
            self._arrays["range_set"].tolist(),
            strict=True,
        )
        return [(low, None if is_open else high, number) for low, high, is_open, number in parts]

    def _texts(self, name: str) -> list[bytes]:
        return unpack(self._arrays[f"{name}_text"], self._arrays[f"{name}_start"])

    def holds(self, keys: Sequence[bytes]) -> PairsOfTests:
        """The sets that each of the distinct keys is in."""
        if not len(keys):
            return no_holds()
        key_of: list[int] = []
        found: list[int] = []
        points = self._points
        if points:
            for number, sets in enumerate(map(points.get, keys)):
                if sets is not None:
                    key_of += [number] * len(sets)
                    found += sets
        parts = [PairsOfTests(np.array(key_of, np.int32), np.array(found, np.int32))]
        if self._ranges:
            order = sorted(range(len(keys)), key=keys.__getitem__)
            ascending = [keys[number] for number in order]
            begin = [bisect_left(ascending, low) for low, _, _ in self._ranges]
            stop = [len(keys) if high is None else bisect_left(ascending, high) for _, high, _ in self._ranges]
            inside, number_of = spread(np.array(begin, np.int64), np.array(stop, np.int64))
            places = np.array(order, np.int32)
            parts.append(PairsOfTests(places[inside], self._arrays["range_set"][number_of]))
        return joined(parts)


def _reaches_keys(interval: Interval[Any]) -> bool:
    """Whether the interval contains an int64."""
    return (interval.low is None or interval.low <= _HIGHEST) and (interval.high is None or interval.high > _LOWEST)


def _split(sets: Sequence[ValueSet[Any]]) -> tuple[list[tuple[Any, int]], list[tuple[Interval[Any], int]]]:
    """Split sets into single keys and longer intervals, each with the number of its set."""
    points: list[tuple[Any, int]] = []
    ranges: list[tuple[Interval[Any], int]] = []
    for number, values in enumerate(sets):
        for interval in values.intervals:
            point = interval.point
            if point is None:
                ranges.append((interval, number))
            elif isinstance(point, bytes) or _LOWEST <= point <= _HIGHEST:
                points.append((point, number))
    return points, ranges
