"""Tests whether an event's set contains a token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel


@kernel
def contains_token(set_start: NDArray[np.int64], set_tokens: NDArray[np.int32], number: Any, token: Any) -> bool:
    """Whether set `number` (-1: the empty set) holds the token; sets are ascending."""
    if number < 0:
        return False
    low = set_start[number]
    high = set_start[number + 1]
    while low < high:
        middle = (low + high) // 2
        if set_tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    return bool(low < set_start[number + 1] and set_tokens[low] == token)
