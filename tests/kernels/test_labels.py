from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.kernels.labels import Labels, joined
from vedette.kernels.rows import Rows


def _labels(texts: list[str]) -> Labels:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([3, *map(len, data)])  # they need not begin at the beginning
    labels = Labels(offsets, np.frombuffer(b"???" + b"".join(data), np.uint8))
    labels.offsets.flags.writeable = False
    return labels


@pytest.mark.interpreted
@given(
    labels=st.lists(st.text(max_size=5), min_size=1, max_size=6),
    events=st.lists(st.lists(st.integers(0, 5), max_size=5), max_size=8),
    most=st.integers(0, 40),
)
def test_the_texts_of_events(labels: list[str], events: list[list[int]], most: int) -> None:
    events = [[number % len(labels) for number in row] for row in events]
    rows = Rows(np.cumsum([0, *map(len, events)]), np.array([n for row in events for n in row], np.int32))
    found, sizes = [], []
    for part in joined(rows, _labels(labels), ord("|"), most):
        pairs = zip(part.ends, part.ends[1:], strict=False)
        texts = [part.text[begin:end].tobytes().decode() for begin, end in pairs]
        sizes.append((len(texts), len(part.text)))
        found += texts
    assert found == ["|".join(labels[number] for number in row) for row in events]
    assert all(count == 1 or size <= most for count, size in sizes)
