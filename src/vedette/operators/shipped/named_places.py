"""Places by name, from features of GeoJSON files; features of one name are one place."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.errors import FileError
from vedette.language.type_families import similar
from vedette.lazy import once
from vedette.operators.shipped.spheres import Outline

# Prepared shapes are completed lazily: GEOS crashes when two threads do that at once.
_ALONE = threading.Lock()


class NamedPlace:
    """A shape with a name."""

    def __init__(self, name: str, shape: Any) -> None:
        import shapely

        self.name, self._shape = name, shape
        shapely.prepare(shape)

    def holds(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points are inside or on the border."""
        import shapely

        with _ALONE:
            inside: NDArray[np.bool_] = shapely.intersects_xy(self._shape, longitude, latitude)
        return inside

    def metres(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distance of each point in metres; 0 inside."""
        found = np.zeros(len(longitude))
        outside = ~self.holds(longitude, latitude)
        if outside.any():
            found[outside] = self._outline.metres(longitude[outside], latitude[outside])
        return found

    @once
    def _outline(self) -> Outline:
        return Outline(self._shape)


class NamedPlaces(Mapping[str, NamedPlace]):
    """Places by name, case-insensitively."""

    def __init__(self, places: Iterable[NamedPlace]) -> None:
        self._places = {_key(place.name): place for place in places}

    @classmethod
    def read(cls, files: Iterable[Path], name: str) -> NamedPlaces:
        """Read the features of some files; each is named by its property `name`."""
        shapes: dict[str, list[Any]] = defaultdict(list)
        names: dict[str, str] = {}
        for path in files:
            for called, shape in _features(path, name):
                shapes[_key(called)].append(shape)
                names.setdefault(_key(called), called)
        return cls(NamedPlace(names[key], _united(parts)) for key, parts in shapes.items())

    def __getitem__(self, name: str) -> NamedPlace:
        return self._places[_key(name)]

    def __iter__(self) -> Iterator[str]:
        return (place.name for place in self._places.values())

    def __len__(self) -> int:
        return len(self._places)

    def check(self, name: object, call: str) -> None:
        """Refuse a constant that is not a place, suggesting similar names; None: the place is given by an attribute."""
        if not self:
            raise ValueError("no places are known: `places` of [geo] in the settings of operators names files of them")
        if name is not None and not isinstance(name, str):
            raise ValueError(f"the first argument of {call} is the name of a place, in quotes")
        if name is not None and name not in self:
            raise ValueError(f"there is no place {name!r}: {similar(name, self)}")


def _key(name: str) -> str:
    return name.strip().casefold()


def _united(shapes: list[Any]) -> Any:
    import shapely

    return shapes[0] if len(shapes) == 1 else shapely.union_all(shapes)


def _features(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}\nHint: `places` of [geo] names it") from None
    except orjson.JSONDecodeError as error:
        raise FileError(f"{path} is not GeoJSON: {error}") from None
    kind = content.get("type") if isinstance(content, dict) else None
    features = [content] if kind == "Feature" else content.get("features") if kind == "FeatureCollection" else None
    if not isinstance(features, list):
        raise FileError(f'{path} is not GeoJSON with features\nHint: it begins with "type": "FeatureCollection"')
    for number, feature in enumerate(features, 1):
        where = f"{path}: feature {number}"
        try:
            called = _name(feature, name, where)
            yield called, _shape(feature["geometry"], f"{where} ({called})")
        except (AttributeError, KeyError, TypeError):
            raise FileError(f"{where} is no feature of GeoJSON\nHint: it has properties and a geometry") from None


def _name(feature: Mapping[str, Any], name: str, where: str) -> str:
    properties = feature["properties"] or {}
    called = properties.get(name)
    if not isinstance(called, str) or not called.strip():
        there = ", ".join(properties) or "none at all"
        raise FileError(f"{where} has no name in its property {name!r}\nHint: `name` of [geo] is one of {there}")
    return called.strip()


def _shape(geometry: Any, where: str) -> Any:
    import shapely
    import shapely.geometry

    try:
        shape = shapely.force_2d(shapely.geometry.shape(geometry))
    except (shapely.errors.ShapelyError, ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise FileError(f"{where} has no geometry that can be read\nHint: e.g. a Polygon, a Point, …") from None
    if shape.is_empty:
        raise FileError(f"{where} is empty\nHint: leave it out")
    if not shape.is_valid:
        raise FileError(f"{where} is not a proper shape: {shapely.is_valid_reason(shape)}\nHint: mend it with a GIS")
    west, south, east, north = shape.bounds
    if west < -180 or south < -90 or east > 180 or north > 90:
        raise FileError(
            f"{where} has places that are not on the Earth: from {west:g}, {south:g} to {east:g}, {north:g}\n"
            "Hint: longitudes (first) are from -180 to 180, latitudes from -90 to 90"
        )
    return shape
