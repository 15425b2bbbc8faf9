"""The findings of the demo: the number of notifications by kind and time, and a few interesting cases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vedette.cli.demo.flights import hour_of_year
from vedette.cli.demo.subscribers import KINDS, DemoSubscription, SubscriberKind, kind_of
from vedette.filters.explain import FilterExplanation, explain
from vedette.filters.explanation import PartExplanation
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.schema.arrow_types import infer_arrow

_CANDIDATES = 6000  # subscriptions among which the nearest miss is looked for


class DemoCase(NamedTuple):
    """One event, one subscription, and why they match or do not."""

    kind: SubscriberKind
    wish: DemoSubscription
    flight: dict[str, Any]
    explanation: FilterExplanation

    @property
    def headline(self) -> str:
        """The flight in a line."""
        flight, day = self.flight, self.flight["date"]
        return f"{flight['carrier']}{flight['flight']} {flight['origin']} → {flight['dest']}, {day.day} {day:%B}"

    @property
    def because(self) -> str:
        """The tests that held, with the values seen."""
        return "; ".join(leaf.why for leaf in held_tests(self.explanation.root) if leaf.why)


class KindCount(NamedTuple):
    """A kind of subscriber and the number of its notifications."""

    kind: SubscriberKind
    subscriptions: int
    told: int  # of them, at least once
    notifications: int


class DayCount(NamedTuple):
    """One day of the year."""

    number: int  # from 0
    date: dt.date
    notifications: int
    flights: int
    cancelled: int
    temperature: tuple[float, float] | None  # lowest and highest, in °F
    gust: float | None  # the strongest, in mph
    visibility: float | None  # the lowest, in miles


@dataclass(frozen=True)
class DemoFindings:
    """All findings for the page and the terminal."""

    per_hour: NDArray[np.int64]  # day x hour
    kinds: tuple[KindCount, ...]
    busiest: tuple[tuple[DemoSubscription, int], ...]
    days: tuple[DayCount, ...]  # the loudest first
    told: int
    cases: tuple[DemoCase, ...]  # the most telling match of each kind
    miss: DemoCase | None


def demo_findings(flights: pa.Table, wishes: Sequence[DemoSubscription], matches: Path) -> DemoFindings:
    """Read the matches, count them, and choose cases."""
    table = pq.read_table(matches, columns=["event", "subscription"])
    events = pc.index_in(table["event"], flights["id"]).to_numpy()
    ordinals = pc.index_in(table["subscription"], pa.array([wish.id for wish in wishes])).to_numpy()
    heard = np.bincount(ordinals, minlength=len(wishes))
    kinds = np.array([KINDS.index(kind_of(wish.id)) for wish in wishes])
    explainer = _Explainer(flights, wishes)
    return DemoFindings(
        np.bincount(hour_of_year(flights)[events], minlength=365 * 24).reshape(365, 24),
        tuple(_counted(kind, heard[kinds == number]) for number, kind in enumerate(KINDS)),
        _busiest(wishes, heard),
        _days(flights, events),
        int(np.count_nonzero(heard)),
        tuple(_cases(flights, events, ordinals, kinds, explainer)),
        _near_miss(heard, wishes, explainer),
    )


class _Explainer:
    def __init__(self, flights: pa.Table, wishes: Sequence[DemoSubscription]) -> None:
        self._flights = flights
        self._wishes = wishes
        self._schema = infer_arrow(flights.schema)

    def case(self, event: int, ordinal: int) -> DemoCase:
        wish = self._wishes[ordinal]
        flight: dict[str, Any] = self._flights.slice(event, 1).to_pylist()[0]
        checked = check(parse(wish.when), self._schema, wish.when)
        return DemoCase(kind_of(wish.id), wish, flight, explain(checked, flight))


def _counted(kind: SubscriberKind, heard: NDArray[np.int64]) -> KindCount:
    return KindCount(kind, len(heard), int(np.count_nonzero(heard)), int(heard.sum()))


def _busiest(
    wishes: Sequence[DemoSubscription], heard: NDArray[np.int64], count: int = 5
) -> tuple[tuple[DemoSubscription, int], ...]:
    """The subscriptions with the most matches; of those with the same text, one."""
    found: dict[str, tuple[DemoSubscription, int]] = {}
    for place in np.argsort(-heard, kind="stable"):
        if len(found) == count or not heard[place]:
            break
        found.setdefault(wishes[place].when, (wishes[place], int(heard[place])))
    return tuple(found.values())


def _cases(
    flights: pa.Table,
    events: NDArray[np.int64],
    ordinals: NDArray[np.int64],
    kinds: NDArray[np.int64],
    explainer: _Explainer,
) -> list[DemoCase]:
    """For each kind the match whose most relevant attribute is the most extreme."""
    found = []
    shown: set[int] = set()
    for number, kind in enumerate(KINDS):
        places = np.flatnonzero(kinds[ordinals] == number)
        if not len(places):
            continue
        values = _column(flights, kind.telling)[events[places]]
        values = np.where(np.isnan(values), -np.inf, -values if kind.smallest else values)
        values[np.isin(events[places], list(shown))] = -np.inf  # another flight for each, if there is one
        best = places[int(np.argmax(values))]
        shown.add(int(events[best]))
        found.append(explainer.case(int(events[best]), int(ordinals[best])))
    return found


def _column(flights: pa.Table, path: str) -> NDArray[np.float64]:
    name, _, part = path.partition(".")
    column = flights[name].combine_chunks()
    if part:
        column = pc.struct_field(column, part)
    values: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _near_miss(heard: NDArray[np.int64], wishes: Sequence[DemoSubscription], explainer: _Explainer) -> DemoCase | None:
    """The subscriber who missed a notification of their own flight by the narrowest margin."""
    nearest: tuple[float, DemoCase] | None = None
    unheard = [place for place, wish in enumerate(wishes) if wish.about is not None and not heard[place]]
    for place in unheard[:_CANDIDATES]:
        case = explainer.case(wishes[place].about or 0, place)
        first = next(iter(case.explanation.nearest), None)
        if first is None or first.missed is None:
            continue
        if nearest is None or first.missed.share < nearest[0]:
            nearest = first.missed.share, case
    return None if nearest is None else nearest[1]


def _days(flights: pa.Table, events: NDArray[np.int64], count: int = 5) -> tuple[DayCount, ...]:
    days = hour_of_year(flights) // 24
    notifications = np.bincount(days[events], minlength=365)
    temperatures, gusts = _column(flights, "weather.temp"), _column(flights, "weather.wind_gust")
    visibility = _column(flights, "weather.visib")
    cancelled = flights["cancelled"].to_numpy()
    found = []
    for number in np.argsort(-notifications, kind="stable")[:count]:
        rows = days == number
        found.append(
            DayCount(
                int(number),
                dt.date(2013, 1, 1) + dt.timedelta(int(number)),
                int(notifications[number]),
                int(rows.sum()),
                int(cancelled[rows].sum()),
                _range(temperatures[rows]),
                (_range(gusts[rows]) or (None, None))[1],
                (_range(visibility[rows]) or (None, None))[0],
            )
        )
    return tuple(found)


def _range(values: NDArray[np.float64]) -> tuple[float, float] | None:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else None


def held_tests(one: PartExplanation) -> list[PartExplanation]:
    """The single tests that held, below parts that held."""
    if one.truth is not one.wanted:
        return []
    if not one.parts:
        return [one]
    return [leaf for part in one.parts for leaf in held_tests(part)]
