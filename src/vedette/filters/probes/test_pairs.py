"""Pairs of distinct values and the tests that hold for them; also packs strings into plain arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = dict[str, NDArray[Any]]


class PairsOfTests(NamedTuple):
    """(value, test) pairs, each once, in any order."""

    value: NDArray[np.int32]
    test: NDArray[np.int32]


def no_holds() -> PairsOfTests:
    """No pairs."""
    return PairsOfTests(np.zeros(0, np.int32), np.zeros(0, np.int32))


def joined(parts: Iterable[PairsOfTests]) -> PairsOfTests:
    """All pairs of several parts, which must be disjoint."""
    filled = [part for part in parts if len(part.value)]
    if len(filled) == 1:
        return filled[0]
    if not filled:
        return no_holds()
    return PairsOfTests(np.concatenate([part.value for part in filled]), np.concatenate([part.test for part in filled]))


def crossed(values: NDArray[Any], tests: NDArray[Any]) -> PairsOfTests:
    """Every value paired with every test."""
    return PairsOfTests(
        np.repeat(values.astype(np.int32), len(tests)),
        np.tile(tests.astype(np.int32), len(values)),
    )


def spread(first: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers first .. end of every range, and for each the number of its range."""
    lengths = np.maximum(end - first, 0)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    skipped = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - np.repeat(skipped - first, lengths), owner


def pack(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate byte strings; returns the bytes and where each string starts."""
    start = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=start[1:])
    return np.frombuffer(b"".join(texts), np.uint8), start


def unpack(text: NDArray[np.uint8], start: NDArray[np.int64]) -> list[bytes]:
    """The inverse of `pack`."""
    whole, bounds = text.tobytes(), start.tolist()
    return [whole[low:high] for low, high in itertools.pairwise(bounds)]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array as kernels are compiled for it: read-only and aligned, whether built or mapped from a file."""
    plain = np.asarray(array)
    if not (plain.flags.c_contiguous and plain.flags.aligned):
        plain = plain.copy()
    view = plain.view()
    view.setflags(write=False)
    return view


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with the prefix, which is removed from their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def named(prefix: str, arrays: Arrays) -> Arrays:
    """The inverse of `part_of`."""
    return {prefix + name: array for name, array in arrays.items()}
