"""Places against brute force: Shapely one by one, and haversine in plain Python."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st

from tests.filters.probes.oracle import holds, metres_between
from vedette.filters.probes import geometry
from vedette.filters.probes.geometry import NearTests, Points, RegionTests, great_circle, wrapped
from vedette.filters.probes.test_pairs import PairsOfTests
from vedette.language.ast import Point, Region
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe

RADIUS = 6_371_008.8
small = st.integers(-4, 4)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    """Rectangles, triangles, rings and pairs of them, on a small grid, so that borders are hit."""
    x, y = draw(small), draw(small)
    width, height = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shape = draw(st.sampled_from(["box", "triangle", "ring", "two"]))
    if shape == "triangle":
        made = shapely.Polygon([(x, y), (x + width, y), (x, y + height)])
    elif shape == "ring":
        made = shapely.box(x, y, x + 4, y + 4).difference(shapely.box(x + 1, y + 1, x + 3, y + 3))
    elif shape == "two":
        made = shapely.union(shapely.box(x, y, x + 1, y + 1), shapely.box(x + 2, y + 2, x + 3, y + 3))
    else:
        made = shapely.box(x, y, x + width, y + height)
    return Region(made.wkt)


halves = st.integers(-10, 10).map(lambda n: n / 2)


def pairs(found: PairsOfTests) -> list[tuple[int, int]]:
    return sorted(zip(found.value.tolist(), found.test.tolist(), strict=True))


def points_of(places: list[tuple[float, float]]) -> Points:
    array = np.array(places, np.float64).reshape(-1, 2)
    return Points(array[:, 0].copy(), array[:, 1].copy())


@given(st.lists(regions(), min_size=1, max_size=6), st.lists(st.tuples(halves, halves), max_size=12))
def test_points_in_regions(own: list[Region], places: list[tuple[float, float]]) -> None:
    tests = [RegionProbe(region) for region in own]
    expected = [(p, t) for p in range(len(places)) for t in range(len(tests)) if holds(tests[t], places[p])]
    assert pairs(RegionTests.build(tests).holds_for_points(points_of(places))) == expected


@given(st.lists(regions(), min_size=1, max_size=6), st.lists(regions(), max_size=6))
def test_regions_that_intersect(own: list[Region], others: list[Region]) -> None:
    tests = [RegionProbe(region) for region in own]
    shapes = np.array([shapely.from_wkt(region.wkt) for region in others], object)
    expected = [(s, t) for s in range(len(shapes)) for t in range(len(tests)) if holds(tests[t], shapes[s])]
    assert pairs(RegionTests.build(tests).holds_for_regions(shapes)) == expected


longitudes = st.sampled_from([-180.0, -179.9, -1.0, 0.0, 0.5, 90.0, 179.9, 180.0]) | st.floats(-180, 180)
latitudes = st.sampled_from([-90.0, -89.9, 0.0, 45.0, 89.5, 90.0]) | st.floats(-90, 90)
places = st.tuples(longitudes, latitudes)
reaches = st.sampled_from([0.0, 1.0, 12_000.0, 1e6, 9e6, 1.2e7, 2.0015e7, 3e7, -1.0]) | st.floats(0, 2.1e7)
odd_places = st.tuples(st.floats(-800, 800), st.floats(-200, 200))


@given(st.lists(st.tuples(places, reaches), min_size=1, max_size=6), st.lists(places | odd_places, max_size=12))
@example([((179.95, 0.0), 12_000.0), ((-179.95, 10.0), 1e5)], [(-179.99, 0.0), (180.0, 10.0), (179.99, 0.0)])
@example([((0.0, 89.99), 5_000.0), ((10.0, -90.0), 0.0)], [(180.0, 89.99), (0.0, 90.0), (55.0, -90.0)])
@example([((170.0, 0.0), 1_111_950.8)], [(180.0, 0.0), (-180.0, 0.0)])
def test_points_near_a_centre(
    centres: list[tuple[tuple[float, float], float]], found_at: list[tuple[float, float]]
) -> None:
    tests = [NearProbe(Point(*centre), reach) for centre, reach in centres]
    expected = [(p, t) for p in range(len(found_at)) for t in range(len(tests)) if holds(tests[t], found_at[p])]
    assert pairs(NearTests.build(tests).holds_for_points(points_of(found_at))) == expected


@given(places, places)
def test_distance_is_closed(centre: tuple[float, float], place: tuple[float, float]) -> None:
    reach = metres_between(place, centre)
    found = NearTests.build([NearProbe(Point(*centre), reach)]).holds_for_points(points_of([place]))
    assert pairs(found) == [(0, 0)]


def test_great_circle_is_known() -> None:
    quarter = great_circle(np.array([0.0]), np.array([0.0]), np.array([90.0]), np.array([0.0]))
    assert quarter[0] == pytest.approx(np.pi / 2 * RADIUS)
    new_york, london = (-74.0060, 40.7128), (-0.1278, 51.5074)
    assert great_circle(*(np.array([c]) for c in (*new_york, *london)))[0] == pytest.approx(5_570_229, rel=1e-4)


@given(st.floats(-1000, 1000))
def test_wrapped(x: float) -> None:
    turned = float(wrapped(np.array([x]))[0])
    assert -180 <= turned <= 180
    assert abs((x - turned) / 360 - round((x - turned) / 360)) < 1e-9


def test_many_candidates_are_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "CANDIDATES", 50)
    monkeypatch.setattr(geometry, "FIRST_PIECE", 3)
    random = np.random.default_rng(1)
    tests = [RegionProbe(Region(shapely.box(-n, -n, n, n).wkt)) for n in range(1, 20)]
    points = Points(random.uniform(-20, 20, 200), random.uniform(-20, 20, 200))
    expected = [
        (p, t) for p in range(200) for t in range(len(tests)) if max(abs(points.x[p]), abs(points.y[p])) <= t + 1
    ]
    assert pairs(RegionTests.build(tests).holds_for_points(points)) == expected


def test_threads_agree() -> None:
    random = np.random.default_rng(2)
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    rings = [
        shapely.Polygon(np.column_stack((x + np.cos(angles), y + np.sin(angles))))
        for x, y in random.uniform(-5, 5, (40, 2))
    ]
    tests = [RegionProbe(Region(ring.wkt)) for ring in rings]
    points = Points(random.uniform(-6, 6, 2000), random.uniform(-6, 6, 2000))
    alone = pairs(RegionTests.build(tests).holds_for_points(points))
    for _ in range(3):
        shared = RegionTests.build(tests)
        with ThreadPoolExecutor(4) as pool:
            results = list(map(pairs, pool.map(shared.holds_for_points, [points] * 8)))
        assert all(result == alone for result in results)
    assert len(alone) > 1000
