"""The subscribers of the demo: synthetic, with a fixed seed, of a few kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED = 2013
_FIRST = (
    *("Ada", "Amir", "Ana", "Ben", "Carla", "Chen", "Dana", "Elif", "Emil", "Fatima", "Finn", "Grace", "Hugo", "Ines"),
    *("Ivan", "Jada", "Jonas", "Kaito", "Karim", "Lea", "Liam", "Lin", "Maya", "Mila", "Nia", "Noah", "Olga", "Omar"),
    *("Paul", "Priya", "Quinn", "Rosa", "Sami", "Sara", "Theo", "Uma", "Vera", "Wei", "Yara", "Zoe"),
)
_LAST = (
    *("Abbott", "Adeyemi", "Bauer", "Brooks", "Castillo", "Cohen", "Dubois", "Eriksen", "Fischer", "Garcia", "Haddad"),
    *("Hughes", "Ito", "Jensen", "Kaplan", "Kim", "Kowalski", "Lopez", "Mbeki", "Meyer", "Moreau", "Nguyen", "Novak"),
    *("Okafor", "Olsen", "Patel", "Petrov", "Quist", "Rossi", "Sato", "Silva", "Singh", "Tanaka", "Tremblay", "Vance"),
    *("Weber", "Yilmaz", "Zhang", "Zimmer", "Zola"),
)
_WORKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")


class WishDraft(NamedTuple):
    """The text of one subscriber, and the flight that it was made from, if it is about one."""

    subscriber: str
    when: str
    about: int | None = None


class DemoSubscription(NamedTuple):
    """One subscription of the demo."""

    id: str
    subscriber: str
    when: str
    about: int | None


class FlightColumns:
    """The columns of the flights to draw from, as plain arrays."""

    def __init__(self, flights: pa.Table) -> None:
        self.id, self.carrier, self.origin, self.dest = (
            np.array(flights[name].to_pylist(), object) for name in ("id", "carrier", "origin", "dest")
        )
        self.date = flights["date"].to_pylist()
        self.flight, self.hour = flights["flight"].to_numpy(), flights["hour"].to_numpy()
        self.tailnum = flights["tailnum"].to_pylist()
        self.model = pc.struct_field(flights["plane"], "model").to_pylist()
        self.place = pc.struct_field(flights["destination"], "place").to_pylist()
        self.known_tails = [row for row, tail in enumerate(self.tailnum) if tail is not None]
        self.known_models = [row for row, model in enumerate(self.model) if model is not None]
        self.known_places = [row for row, place in enumerate(self.place) if place is not None]

    def __len__(self) -> int:
        return len(self.id)


class RandomDraw:
    """Reproducible random choices."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = np.random.default_rng(seed)

    def row(self, rows: int | list[int]) -> int:
        """A flight, or one of these."""
        return int(self._random.integers(rows)) if isinstance(rows, int) else rows[self._random.integers(len(rows))]

    def one(self, *choices: Any) -> Any:
        """One of them."""
        return choices[self._random.integers(len(choices))]

    def some(self, choices: list[Any], count: int) -> list[Any]:
        """Several of them, in their order."""
        places = self._random.choice(len(choices), min(count, len(choices)), replace=False)
        return [choices[place] for place in sorted(places)]

    def number(self, low: int, high: int) -> int:
        """From low up to high, both included."""
        return int(self._random.integers(low, high + 1))

    def name(self) -> str:
        """A person."""
        return f"{self.one(*_FIRST)} {self.one(*_LAST)}"


@dataclass(frozen=True)
class SubscriberKind:
    """A kind of subscriber: its share in percent, its texts, and which of its matches is the most relevant."""

    name: str
    title: str
    share: float
    wants: str
    make: Callable[[RandomDraw, FlightColumns], WishDraft]
    telling: str  # an attribute: the match with its largest value is shown
    smallest: bool = False


def _passenger(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    row = draw.row(len(flights))
    late = draw.one(15, 20, 30, 30, 45, 60)
    when = (
        f"carrier = '{flights.carrier[row]}' and flight = {flights.flight[row]} and date = date '{flights.date[row]}' "
        f"and (cancelled or dep_delay >= {late})"
    )
    return WishDraft(draw.name(), when, row)


def _commuter(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    row = draw.row(len(flights))
    hour = int(flights.hour[row])
    days = "', '".join(draw.some(list(_WORKDAYS), draw.number(1, 3)))
    return WishDraft(
        draw.name(),
        f"origin = '{flights.origin[row]}' and dest = '{flights.dest[row]}' and weekday in ('{days}') "
        f"and hour between {max(5, hour - 1)} and {min(23, hour + 1)} and dep_delay > {draw.one(20, 30, 45)}",
    )


def _crew_planner(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    carrier = flights.carrier[draw.row(flights.known_tails)]
    tails: set[str] = set()
    while len(tails) < draw.number(2, 6):
        row = draw.row(flights.known_tails)
        if flights.carrier[row] == carrier:
            tails.add(flights.tailnum[row])
    listed = "', '".join(sorted(tails))
    return WishDraft(
        f"{carrier} crew planning, {draw.name()}",
        f"carrier = '{carrier}' and tailnum in ('{listed}') and (cancelled or arr_delay > {draw.number(30, 90)})",
    )


def _spotter(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    airport = draw.one("EWR", "JFK", "LGA")
    model = flights.model[draw.row(flights.known_models)]
    wish = draw.one(
        f"plane.year < {draw.number(1965, 1984)}",
        f"plane.model startswith '{draw.one('767-4', 'A330', 'A340', '777', '787', 'DC-7', 'MD-90', '747')}'",
        f"plane.manufacturer ilike '{draw.one('cessna', 'piper', 'gulf', 'sikor', 'beech', 'dehav')}%'",
        f"plane.model = '{model}' and weather.temp < {draw.number(15, 28)} and hour between 7 and 9",
        f"plane.seats > {draw.one(300, 330, 375)} and weekday in ('Sat', 'Sun') and hour between 11 and 14 "
        "and not (weather.visib < 5 or weather.precip > 0)",
    )
    return WishDraft(draw.name(), f"origin = '{airport}' and {wish}")


def _operations(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    airport = draw.one("EWR", "JFK", "LGA")
    wish = draw.one(
        f"weather.wind_gust >= {draw.number(42, 58)} or weather.visib < {draw.one(0.25, 0.5)}",
        f"weather.wind_gust >= {draw.number(40, 52)} and weather.temp < {draw.number(20, 40)}",
        f"weather.precip >= {draw.number(25, 60) / 100} and weather.visib <= {draw.one(1, 2)}",
        f"weather.temp > {draw.number(94, 98)} or weather.temp < {draw.number(13, 17)}",
    )
    # An `or` binds less than the `and` before it.
    return WishDraft(f"{airport} operations desk, {draw.name()}", f"origin = '{airport}' and ({wish})")


def _duty_manager(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    row = draw.row(len(flights))
    carrier, origin = flights.carrier[row], flights.origin[row]
    beyond = draw.one("", " and distance > 1000", " and not dest in ('ATL', 'BOS', 'DCA', 'ORD')")
    return WishDraft(
        f"{carrier} duty manager {origin}, {draw.name()}",
        f"carrier = '{carrier}' and origin = '{origin}' and dep_delay >= {draw.number(12, 40) * 10}{beyond}",
    )


def _car_hire(draw: RandomDraw, flights: FlightColumns) -> WishDraft:
    row = draw.row(flights.known_places)
    place = flights.place[row]
    return WishDraft(
        f"Car hire at {flights.dest[row]}, {draw.name()}",
        f"destination.place within {draw.one(20, 40, 60)} km of point({place['lon']:.3f}, {place['lat']:.3f}) "
        f"and arr_delay > {draw.number(9, 18) * 20}",
    )


KINDS: tuple[SubscriberKind, ...] = (
    SubscriberKind("passenger", "Passengers", 0.58, "my flight is late or cancelled", _passenger, "dep_delay"),
    SubscriberKind("commuter", "Commuters", 0.18, "my usual flight is late", _commuter, "dep_delay"),
    SubscriberKind("crew", "Crew planners", 0.10, "one of my aircraft comes in late", _crew_planner, "arr_delay"),
    SubscriberKind(
        "spotter", "Plane spotters", 0.05, "a rare or an old aircraft leaves", _spotter, "plane.year", smallest=True
    ),
    SubscriberKind(
        "operations", "Operations desks", 0.03, "gusts, fog, downpour, frost", _operations, "weather.wind_gust"
    ),
    SubscriberKind("duty", "Duty managers", 0.04, "one of our flights is very late", _duty_manager, "dep_delay"),
    SubscriberKind("carhire", "Car hire desks", 0.02, "customers land hours late", _car_hire, "arr_delay"),
)


def wishes(flights: pa.Table, count: int) -> Iterator[DemoSubscription]:
    """So many subscriptions, always the same, of all kinds in turn by their shares."""
    columns, draw = FlightColumns(flights), RandomDraw()
    made = dict.fromkeys(KINDS, 0)
    for number in range(1, count + 1):
        kind = max(KINDS, key=lambda each: each.share * number - made[each])
        made[kind] += 1
        yield DemoSubscription(f"{kind.name}-{made[kind]:05}", *kind.make(draw, columns))


def kind_of(id_: str) -> SubscriberKind:
    """The kind of the subscriber with an id."""
    name = id_.partition("-")[0]
    return next(kind for kind in KINDS if kind.name == name)
