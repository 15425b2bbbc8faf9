"""Arrays that grow while a kernel fills them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

# Element by element: assigning slices would make compilation take several times as long.


@kernel
def grown(array: NDArray, needed: int) -> NDArray:
    """The array itself, or a copy with room for `needed`."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty(max(needed, 2 * array.shape[0]), array.dtype)
    for i in range(array.shape[0]):
        longer[i] = array[i]
    return longer


@kernel
def grown_rows(array: NDArray, needed: int) -> NDArray:
    """The array itself, or a copy with room for `needed` rows."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty((max(needed, 2 * array.shape[0]), array.shape[1]), array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            longer[i, j] = array[i, j]
    return longer
