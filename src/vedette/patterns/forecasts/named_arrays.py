"""Named arrays of several owners in one mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def under(owner: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of an owner, with its name as a prefix."""
    return {f"{owner}/{name}": array for name, array in arrays.items()}


def of(owner: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of this owner, without the prefix."""
    prefix = f"{owner}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
