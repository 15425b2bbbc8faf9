from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.kernels.labels import JoinedTexts, Labels, joined, padded
from vedette.filters.kernels.match_rows import MatchRows


def _labels(texts: list[str]) -> Labels:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([3, *map(len, data)])  # they need not begin at the beginning
    labels = Labels(offsets, np.frombuffer(b"???" + b"".join(data), np.uint8))
    labels.offsets.flags.writeable = False
    return labels


def _rows(events: list[list[int]]) -> MatchRows:
    return MatchRows(np.cumsum([0, *map(len, events)]), np.array([n for row in events for n in row], np.int32))


def _told(parts: Iterable[JoinedTexts], most: int) -> list[str]:
    """The texts of all parts, none of which is too long."""
    found: list[str] = []
    for part in parts:
        pairs = zip(part.ends, part.ends[1:], strict=False)
        texts = [part.text[begin:end].tobytes().decode() for begin, end in pairs]
        assert len(texts) == 1 or len(part.text) <= most
        found += texts
    return found


some_labels = st.lists(st.text(max_size=5), min_size=1, max_size=6)
some_events = st.lists(st.lists(st.integers(0, 5), max_size=5), max_size=8)


@pytest.mark.interpreted
@given(labels=some_labels, events=some_events, most=st.integers(0, 40))
def test_the_texts_of_events(labels: list[str], events: list[list[int]], most: int) -> None:
    events = [[number % len(labels) for number in row] for row in events]
    found = _told(joined(_rows(events), _labels(labels), ord("|"), most), most)
    assert found == ["|".join(labels[number] for number in row) for row in events]


@pytest.mark.interpreted
@given(labels=some_labels, events=some_events, more=st.integers(0, 20), most=st.integers(0, 40))
def test_labels_of_one_width(labels: list[str], events: list[list[int]], more: int, most: int) -> None:
    events = [[number % len(labels) for number in row] for row in events]
    width = more + max(len(label.encode()) for label in labels)
    found = _told(padded(_rows(events), _labels(labels), width, most), most)
    filled = [label + " " * (width - len(label.encode())) for label in labels]
    assert found == ["".join(filled[number] for number in row) for row in events]
