"""The operators `locIn`, `locWithin` and `distanceFrom`: where an event is, relative to named places.

    locIn('Bronx')                          inside, or on the border
    locWithin('Times Square', 5000)         at most so many metres away
    distanceFrom('Times Square', ?metres)   how far away; 0 inside

    [geo]
    places = "boroughs.geojson"     # or a list of files: points, lines, polygons, and several of them
    name = "name"                   # the property that names a feature
    the attribute with an event's location; or ["lon", "lat"], two of them

Borders are straight in longitude and latitude, as filters and GeoJSON have them; distances are along the surface of a
sphere (`spheres`). As GeoJSON demands, a shape that crosses the meridian of 180 degrees is cut there, and one around a
pole is closed along it; an event at 180 degrees is inside of what is drawn to that side. An event without a location,
or with one that is not on the Earth, is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.operators.operator import Operator, operator
from vedette.operators.shipped.named_places import NamedPlace, NamedPlaces
from vedette.operators.shipped.table_settings import OperatorSettings
from vedette.schema.arrays import plain
from vedette.schema.columns import PointColumn
from vedette.schema.table_paths import TableEvents
from vedette.schema.types import POINT

Floats = NDArray[np.float64]
_UNWATCHED = None  # time limit of what only computes: no other thread has to watch it


def operators(settings: Mapping[str, Any]) -> Iterable[Operator]:
    """`locIn`, `locWithin` and `distanceFrom` over the places of the settings."""
    table = OperatorSettings(settings, "geo")
    files = [table.path(file) for file in table.texts("places")]
    name = table.text("name", "name")
    location = table.texts("location", ("location",))
    if not 1 <= len(location) <= 2:
        raise table.wrong("location", "one attribute that holds a point, or two: longitude, latitude")
    table.end()
    return declared(NamedPlaces.read(files, name), location)


def declared(places: NamedPlaces, location: tuple[str, ...]) -> list[Operator]:
    """The operators, for events whose location is in `location`."""

    def measured(
        events: pa.Table, place: Any, measure: Callable[[NamedPlace, Floats, Floats], NDArray[Any]]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """A measure of each event's point and its place; null where one of them is not known."""
        x, y = _points(events, location)
        known = (np.abs(x) <= 180) & (np.abs(y) <= 90)  # nothing is where there is no number
        found, there = np.zeros(len(x)), np.zeros(len(x), np.bool_)
        for named, rows in _by_place(place, places, np.flatnonzero(known)):
            found[rows], there[rows] = measure(named, x[rows], y[rows]), True
        return found, there

    @operator(
        "locIn",
        batch=True,
        reads=location,
        time_limit=_UNWATCHED,
        check=lambda given: places.check(given[0], "locIn"),
    )
    def inside(events: pa.Table, place: Any) -> Any:
        found, there = measured(events, place, NamedPlace.holds)
        return pa.array(found != 0, mask=~there)

    @operator(
        "locWithin",
        batch=True,
        reads=location,
        time_limit=_UNWATCHED,
        check=lambda given: _check_within(places, *given),
    )
    def within(events: pa.Table, place: Any, metres: Any) -> Any:
        found, there = measured(events, place, NamedPlace.metres)
        reach = _numbers(metres) if isinstance(metres, pa.Array | pa.ChunkedArray) else float(metres)
        return pa.array(found <= reach, mask=~there | np.isnan(reach))

    @operator(
        "distanceFrom",
        outputs=1,
        batch=True,
        reads=location,
        time_limit=_UNWATCHED,
        check=lambda given: places.check(given[0], "distanceFrom"),
    )
    def distance(events: pa.Table, place: Any) -> Any:
        found, there = measured(events, place, NamedPlace.metres)
        return pa.array(found, mask=~there)

    return [inside, within, distance]


def _check_within(places: NamedPlaces, place: object, metres: object) -> None:
    places.check(place, "locWithin")
    if metres is None:
        return
    if not isinstance(metres, int | float) or isinstance(metres, bool) or not 0 <= metres < math.inf:
        raise ValueError("the second argument of locWithin is a number of metres, 0 or more")


def _points(events: pa.Table, location: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Longitudes and latitudes; NaN where there are none."""
    if len(location) == 2:
        longitude, latitude = (_numbers(events.column(path)) for path in location)
        return longitude, latitude
    column = TableEvents(events).column(location[0], POINT, None)
    assert isinstance(column, PointColumn)
    return column.x, column.y


def _numbers(array: pa.Array | pa.ChunkedArray) -> Floats:
    array = plain(array)
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
        if array.null_count < len(array):
            raise TypeError(f"a number is needed, and the attribute is of type {array.type}")
        return np.full(len(array), np.nan)
    numbers: Floats = array.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False)
    return numbers


def _by_place(
    place: Any, places: NamedPlaces, rows: NDArray[np.int64]
) -> Iterator[tuple[NamedPlace, NDArray[np.int64]]]:
    """Each place with the rows that name it."""
    if isinstance(place, str):
        yield places[place], rows
    elif place is not None:
        encoded = plain(place.cast(pa.string())).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)[rows]
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            if name in places:
                yield places[name], rows[codes == code]
