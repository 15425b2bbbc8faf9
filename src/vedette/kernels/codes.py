"""Codes of a dictionary: which are used, and the same rows in fewer of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel


@kernel
def renumbered(codes: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The codes (none of them negative) in numbers from 0 on, in the order of first rows, and which code each is.

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
    """Whether every code below `size` is some row's; -1 is no code."""
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
    """out[row] = by_code[codes[row]], and its last entry where the code is -1."""
    last = by_code[by_code.size - 1]
    for row in range(codes.size):
        code = codes[row]
        out[row] = by_code[code] if code >= 0 else last
