"""Random batches, and batches as lists of what they say of each event."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from vedette.patterns.event_batch import PatternBatch


def events_of(batch: PatternBatch) -> list[Any]:
    """What a batch says of each event, as plain values."""
    return [
        (
            int(batch.number[row]),
            int(batch.time[row]),
            batch.primitive[batch.start[row] : batch.start[row + 1]].tolist(),
            batch.key[:, row].tolist(),
            batch.keyed[:, row].tolist(),
            batch.value[:, row].tolist(),
            batch.known[:, row].tolist(),
        )
        for row in range(batch.size)
    ]


def batch_of(times: list[int], first: int = 0, groups: int = 2, columns: int = 1) -> PatternBatch:
    """Events at these times, numbered from `first`; all else depends on the number, so that no two are alike."""
    number = np.arange(first, first + len(times), dtype=np.int64)
    lengths = number % 4
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    primitive = (np.repeat(number, lengths) * 10 + np.arange(start[-1]) - np.repeat(start[:-1], lengths)).astype(
        np.int32
    )
    rows = number[None, :]
    key = np.stack([rows + 100 * np.arange(groups)[:, None], -rows - np.arange(groups)[:, None]], axis=2)
    value = np.stack([7 * rows + np.arange(columns)[:, None], rows + np.arange(columns)[:, None]], axis=2)
    return PatternBatch(
        number,
        np.array(times, np.int64),
        start,
        primitive,
        key.astype(np.int64),
        (rows + np.arange(groups)[:, None]) % 3 > 0,
        value.astype(np.int64),
        (rows + np.arange(columns)[:, None]) % 2 > 0,
    )


TIMES = st.lists(st.one_of(st.integers(0, 12), st.integers(-(2**63), 2**63 - 1)), max_size=12)
BATCHES = st.builds(batch_of, TIMES, st.integers(0, 50), st.integers(0, 2), st.integers(0, 2))
