"""The heat map: every cell drawn once, in the colour of its count."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from vedette.cli.demo.page import Heatmap, _limits, _round


def _drawn(svg: str, shape: tuple[int, int]) -> np.ndarray:
    """The level of every cell, from the picture."""
    levels = np.full(shape, -1)
    for path in ET.fromstring(svg).iter("path"):
        for x, y, size in re.findall(r"M(\d+) (\d+)h(\d+)v", path.attrib["d"]):
            cells = levels[int(y), int(x) : int(x) + int(size)]
            assert (cells == -1).all()
            cells[:] = int(path.attrib["class"][1:])
    return levels


def test_every_cell_has_the_colour_of_its_count() -> None:
    per_hour = np.random.default_rng(1).poisson(3, (365, 24)) ** 3
    per_hour[:, :5] = 0
    heatmap = Heatmap.of(per_hour)
    assert heatmap.first_hour == 5
    assert heatmap.counts.shape == (19, 365)
    levels = _drawn(heatmap.svg(), (19, 365))
    assert (levels == np.digitize(heatmap.counts, _limits(heatmap.counts))).all()
    assert (levels[heatmap.counts == 0] == 0).all()
    assert levels.max() == 6


def test_a_year_in_which_nothing_happens() -> None:
    heatmap = Heatmap.of(np.zeros((365, 24), np.int64))
    assert (_drawn(heatmap.svg(), (24, 365)) == 0).all()


def test_marks_that_would_cover_each_other_are_left_out() -> None:
    svg = Heatmap.of(np.ones((365, 24), np.int64)).svg([(100, "11 April"), (101, "12 April"), (300, "28 October")])
    assert "11 April" in svg
    assert "12 April" not in svg
    assert "28 October" in svg


@pytest.mark.parametrize(("value", "rounded"), [(0.2, 1), (1.2, 1), (4.2, 5), (13, 15), (29, 30), (88, 100)])
def test_limits_are_round_numbers(value: float, rounded: int) -> None:
    assert _round(value) == rounded
