"""Operations on dictionary codes: find the used ones, renumber them, gather by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel


@kernel
def renumbered(codes: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Renumber codes (none negative) from 0 in the order of first rows; returns them, and the old code of each number.

    `place` has room for every code and is -1 everywhere, before and after.
    """
    own = np.empty(codes.size, np.int32)
    used = np.empty(codes.size, np.int32)
    count = 0
    for row in range(codes.size):
        code = codes[row]
        if place[code] < 0:
            place[code] = count
            used[count] = code
            count += 1
        own[row] = place[code]
    for number in range(count):
        place[used[number]] = -1
    return own, used[:count].copy()


@kernel
def all_used(codes: NDArray[np.int32], size: Any) -> bool:
    """Whether every code below `size` is used by some row; -1 is not a code."""
    seen = np.zeros(size, np.bool_)
    left = np.int64(size)
    for row in range(codes.size):
        code = codes[row]
        if code >= 0 and not seen[code]:
            seen[code] = True
            left -= 1
            if left == 0:
                return True
    return left == 0


@kernel
def taken(by_code: NDArray[np.int32], codes: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Set out[row] = by_code[codes[row]]; code -1 takes the last entry."""
    last = by_code[by_code.size - 1]
    for row in range(codes.size):
        code = codes[row]
        out[row] = by_code[code] if code >= 0 else last
