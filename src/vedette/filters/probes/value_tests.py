"""All tests of the values of one column, or of the elements of its lists, grouped by kind; the distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import NotSupported
from vedette.filters.probes.geometry import NearTests, Points, RegionTests
from vedette.filters.probes.intervals import ByteSets, KeySets
from vedette.filters.probes.test_pairs import (
    Arrays,
    PairsOfTests,
    crossed,
    frozen,
    joined,
    named,
    no_holds,
    pack,
    part_of,
    unpack,
)
from vedette.filters.probes.text_tests import TextTests
from vedette.kernels.codes import all_used
from vedette.language.normalform import TextProbe, ValueProbe
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.language.valuesets import ValueSet
from vedette.lazy import once
from vedette.schema.columns import KeyColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.exact_numbers import exact_keys
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.documents import EventPatternMatcher


ScalarColumn: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """Ascending keys: a table of int64 or EXACT."""

    keys: NDArray[Any]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """Byte keys in any order."""

    texts: list[bytes]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class DistinctPoints:
    """Points in any order."""

    points: Points

    def __len__(self) -> int:
        return len(self.points.x)


@dataclass(frozen=True, slots=True)
class DistinctAreas:
    """Shapely geometries in any order."""

    geometries: NDArray[Any]

    def __len__(self) -> int:
        return len(self.geometries)


Distinct: TypeAlias = DistinctKeys | DistinctTexts | DistinctPoints | DistinctAreas


def distinct(data: ScalarColumn) -> tuple[NDArray[np.int32], Distinct]:
    """The number of each row's value (-1: missing), and the values."""
    if isinstance(data, TextColumn):
        codes, used = _used(data.codes, len(data.values))
        return codes, DistinctTexts(data.values if used is None else [data.values[code] for code in used.tolist()])
    if isinstance(data, RegionColumn):
        codes, used = _used(data.codes, len(data.geometries))
        return codes, DistinctAreas(data.geometries if used is None else data.geometries[used])
    if isinstance(data, KeyColumn):
        codes = np.full(len(data.keys), -1, np.int32)
        keys, codes[data.present] = np.unique(exact_keys(data)[data.present], return_inverse=True)
        return codes, DistinctKeys(keys)
    present = ~(np.isnan(data.x) | np.isnan(data.y))
    codes = np.full(len(data.x), -1, np.int32)
    pairs = np.empty(int(present.sum()), np.complex128)
    pairs.real, pairs.imag = data.x[present], data.y[present]
    pairs, codes[present] = np.unique(pairs, return_inverse=True)
    return codes, DistinctPoints(Points(pairs.real.copy(), pairs.imag.copy()))


def _used(codes: NDArray[np.int32], size: int) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """The codes of the values that some row has, renumbered, and which these are (None: all)."""
    if all_used(codes, size):
        return codes, None
    used = np.zeros(size + 1, np.bool_)
    used[codes] = True  # -1 indexes the element behind the last value
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    number[size] = -1
    return number[codes], np.flatnonzero(used[:size])


class DocumentTests:
    """Numbered patterns of `fits`, stored in `arrays` alone."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, tests: Sequence[TextProbe]) -> DocumentTests:
        """Store the patterns; they are indexed when first needed."""
        text, start = pack([test.pattern.encode() for test in tests])
        return cls({"text": text, "start": start})

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _prepared(self) -> EventPatternMatcher:
        from vedette.language.documents import EventPatternMatcher

        return EventPatternMatcher([text.decode() for text in unpack(self._arrays["text"], self._arrays["start"])])

    def holds(self, values: Sequence[bytes]) -> PairsOfTests:
        """The patterns that each distinct value fits."""
        found = [self._prepared.fitting_text(value.decode()) for value in values]
        value = np.repeat(np.arange(len(found), dtype=np.int32), [len(numbers) for numbers in found])
        return PairsOfTests(value, np.array([number for numbers in found for number in numbers], np.int32))


Simple: TypeAlias = ValueProbe | ValueSet[Any]


class _TestGroup(Protocol):
    """Tests of one kind, numbered from 0."""

    def arrays(self) -> Arrays: ...


_GROUPS: dict[str, Any] = {
    "text": TextTests,
    "documents": DocumentTests,
    "keys": KeySets,
    "bytes": ByteSets,
    "regions": RegionTests,
    "near": NearTests,
}
# The tests by their names in snapshots.
PROBES: dict[str, type[ValueProbe]] = {
    name: probe for probe in (TextProbe, RegionProbe, NearProbe) for name in probe.NAMES
}
_EVERY = "every"  # numbers of sets that contain all values


class SimpleTests:
    """Numbered tests that a single value satisfies or does not."""

    def __init__(self, arrays: Arrays) -> None:
        self._every: NDArray[np.int32] = frozen(arrays[f"{_EVERY}.number"])
        self._groups: dict[str, tuple[_TestGroup, NDArray[np.int32]]] = {}
        for name, group in _GROUPS.items():
            own = part_of(arrays, f"{name}.")
            if own:
                self._groups[name] = group(part_of(own, "own.")), frozen(own["number"])

    @classmethod
    def build(cls, kind: Kind, tests: Sequence[Simple]) -> SimpleTests:
        """Group the tests by kind; NotSupported if values of this kind cannot be tested so."""
        numbers: dict[str, list[int]] = {}
        for number, test in enumerate(tests):
            name = _group_of(kind, test)
            if name is not None:
                numbers.setdefault(name, []).append(number)
        arrays: Arrays = {f"{_EVERY}.number": np.array(numbers.pop(_EVERY, []), np.int32)}
        for name, own in numbers.items():
            group = _GROUPS[name].build([tests[number] for number in own])
            arrays[f"{name}.number"] = np.array(own, np.int32)
            arrays |= named(f"{name}.own.", group.arrays())
        return cls(arrays)

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        arrays: Arrays = {f"{_EVERY}.number": self._every}
        for name, (group, number) in self._groups.items():
            arrays[f"{name}.number"] = number
            arrays |= named(f"{name}.own.", group.arrays())
        return arrays

    def holds(self, values: Distinct) -> PairsOfTests:
        """The tests that hold for each of the values."""
        if not len(values):
            return no_holds()
        parts = [crossed(np.arange(len(values)), self._every)] if self._every.size else []
        for group, number in self._groups.values():
            found = _ask(group, values)
            parts.append(PairsOfTests(found.value, number[found.test]))
        return joined(parts)

    def hold_for_text(self, text: bytes) -> NDArray[np.int32]:
        """The tests that hold for one string, ascending."""
        own = self._groups.get("text")
        if own is not None and len(self._groups) == 1 and not self._every.size and isinstance(own[0], TextTests):
            return own[0].hold_for(text)  # if there is only one group, its numbers are those of the tests
        return np.sort(self.holds(DistinctTexts([text])).test)


def _ask(group: _TestGroup, values: Distinct) -> PairsOfTests:
    match group, values:
        case TextTests() | DocumentTests() | ByteSets(), DistinctTexts(texts):
            return group.holds(texts)
        case KeySets(), DistinctKeys(keys):
            return group.holds(keys)
        case RegionTests() | NearTests(), DistinctPoints(points):
            return group.holds_for_points(points)
        case RegionTests(), DistinctAreas(geometries):
            return group.holds_for_regions(geometries)
    raise TypeError(f"{type(values).__name__} cannot be put to {type(group).__name__}")


def _group_of(kind: Kind, test: Simple) -> str | None:
    """The group that a test belongs to; None if no value satisfies it."""
    if isinstance(test, ValueSet):
        if test.is_all_values:
            return _EVERY
        if not test.intervals:
            return None
        if kind.ordered:
            return "bytes" if kind.textual else "keys"
    elif isinstance(test, TextProbe) and kind is Kind.STRING:
        return "documents" if test.kind == "fits" else "text"
    elif isinstance(test, RegionProbe) and kind in (Kind.POINT, Kind.REGION):
        return "regions"
    elif isinstance(test, NearProbe) and kind is Kind.POINT:
        return "near"
    raise NotSupported(f"a {kind.value} cannot be put to this test: {test}")
