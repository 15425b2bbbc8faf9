"""Tests of list elements that are sets of ordered values: which of many sets each distinct element is in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.language.valuesets import Interval, ValueSet
from vedette.matching.once import once
from vedette.matching.probes.holds import Arrays, Holds, frozen, joined, no_holds, pack, spread, unpack

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class KeySets:
    """Sets of int64 keys. Single keys are looked up; for each longer interval the keys inside are sliced out."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, sets: Sequence[ValueSet[Any]]) -> KeySets:
        """Number the sets in their order."""
        points, ranges = _split(sets)
        points.sort()
        ranges = [(interval, number) for interval, number in ranges if _reaches_keys(interval)]
        keys = np.array([key for key, _ in points], np.int64)
        # A bound beyond all keys is none: `above` makes an interval that ends behind the highest key.
        low = [_LOWEST if interval.low is None else max(interval.low, _LOWEST) for interval, _ in ranges]
        open_above = [interval.high is None or interval.high > _HIGHEST for interval, _ in ranges]
        high = [0 if is_open else interval.high for (interval, _), is_open in zip(ranges, open_above, strict=True)]
        return cls(
            {
                "point_key": keys,
                "point_set": np.array([number for _, number in points], np.int32),
                "low": np.array(low, np.int64),
                "high": np.array(high, np.int64),
                "open_above": np.array(open_above, np.bool_),
                "range_set": np.array([number for _, number in ranges], np.int32),
            }
        )

    def arrays(self) -> Arrays:
        """Plain arrays from which the sets can be made again."""
        return dict(self._arrays)

    def holds(self, keys: NDArray[np.int64]) -> Holds:
        """The sets that each of the distinct keys, in ascending order, is in."""
        own = self._arrays
        first, end = (np.searchsorted(own["point_key"], keys, side=side) for side in ("left", "right"))
        place, key = spread(first, end)
        points = Holds(key.astype(np.int32), own["point_set"][place])
        begin = np.searchsorted(keys, own["low"])
        stop = np.where(own["open_above"], len(keys), np.searchsorted(keys, own["high"]))
        inside, number = spread(begin, stop)
        return joined([points, Holds(inside.astype(np.int32), own["range_set"][number])])


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
        # Below every key there is the empty one.
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

    def holds(self, keys: Sequence[bytes]) -> Holds:
        """The sets that each of the distinct keys is in."""
        if not len(keys):
            return no_holds()
        key_of: list[int] = []
        found: list[int] = []
        points = self._points
        if points:
            for number, key in enumerate(keys):
                sets = points.get(key)
                if sets is not None:
                    key_of += [number] * len(sets)
                    found += sets
        parts = [Holds(np.array(key_of, np.int32), np.array(found, np.int32))]
        if self._ranges:
            order = sorted(range(len(keys)), key=keys.__getitem__)
            ascending = [keys[number] for number in order]
            begin = [bisect_left(ascending, low) for low, _, _ in self._ranges]
            stop = [len(keys) if high is None else bisect_left(ascending, high) for _, high, _ in self._ranges]
            inside, number_of = spread(np.array(begin, np.int64), np.array(stop, np.int64))
            places = np.array(order, np.int32)
            parts.append(Holds(places[inside], self._arrays["range_set"][number_of]))
        return joined(parts)


def _reaches_keys(interval: Interval[int]) -> bool:
    """Some int64 is in it."""
    return (interval.low is None or interval.low <= _HIGHEST) and (interval.high is None or interval.high > _LOWEST)


def _split(sets: Sequence[ValueSet[Any]]) -> tuple[list[tuple[Any, int]], list[tuple[Interval[Any], int]]]:
    """Single keys and longer intervals, each with the number of its set."""
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
