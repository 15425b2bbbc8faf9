"""Buffers into which indexes write their pairs; each thread keeps its own.

Touching fresh memory for the first time costs more than finding the pair that is written to it, so the buffers of the
last batch are used again. The pairs of a batch are therefore valid until the same thread matches the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import ConjunctionPairs
from vedette.kernels.lanes import LANES

# Larger buffers are given back at once: 256 MiB a thread is enough to keep.
MOST_KEPT = 1 << 25


class PairBuffer(threading.local):
    """A buffer per thread, as large as the largest batch so far has needed."""

    def __init__(self) -> None:
        self._event = np.empty(0, np.int32)
        self._conjunction = np.empty(0, np.int32)

    def collect(self, fill: Callable[[NDArray[np.int32], NDArray[np.int32]], int], expected: int) -> ConjunctionPairs:
        """Run a kernel that counts its pairs and writes those that fit; if they do not all fit, grow and run it again.

        A kernel may write whole vectors: the last elements of the buffers are not counted as capacity.
        """
        event, conjunction = self._event, self._conjunction
        if len(event) < expected + LANES:
            event, conjunction = np.empty(expected + LANES, np.int32), np.empty(expected + LANES, np.int32)
        count = fill(event, conjunction)
        if count > len(event) - LANES:
            room = count + count // 4 + LANES
            event, conjunction = np.empty(room, np.int32), np.empty(room, np.int32)
            fill(event, conjunction)
        if len(event) <= MOST_KEPT:
            self._event, self._conjunction = event, conjunction
        return ConjunctionPairs(event[:count], conjunction[:count])
