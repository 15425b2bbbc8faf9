"""The reasons of a forecast: at one event, and state by state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.forecasts.follower import ForecastFollower
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.part_forecasts import rows_of_parts
from vedette.patterns.forecasts.pattern_nodes import node_of
from vedette.patterns.forecasts.probability_table import ForecastReason
from vedette.patterns.outputs import Observations


@dataclass(frozen=True, slots=True)
class Forecast:
    """The probability that a pattern completes within so many events of its partition, and its reasons."""

    probability: float
    within: int
    threshold: float
    reasons: tuple[ForecastReason, ...]  # the shortest past first
    by_depth: dict[int, float]  # steps taken -> probability
    bounds: tuple[float, float] | None = None  # where parts are taken to be independent

    def __str__(self) -> str:
        if not self.by_depth:
            return "Forecast: nothing has been learnt of this pattern so far\nHint: vedette train learns from history"
        told = "which is told" if self.probability >= self.threshold else f"told from {self.threshold:.0%} on"
        lines = [f"Forecast: {self.probability:.0%} that it completes within {self.within} events ({told})"]
        if self.bounds is not None:
            low, high = self.bounds
            lines.append(f"- the parts are taken to be independent; between {low:.2f} and {high:.2f} if they are not")
            return "\n".join(lines)
        for reason in self.reasons:
            seen = "" if np.isnan(reason.weight) else f", seen {reason.weight:,.0f} times"
            seen_as = "steps taken" if reason.seen_as == "depth" else reason.seen_as
            lines.append(f"- by {seen_as}{seen}: {reason.probability:.0%}")
        return "\n".join(lines)


def forecast_at(record: PatternRecord, model: Model | None, observations: Observations, event: int) -> Forecast | None:
    """The forecast at an event, as made when events come one after the other; None if the pattern did not see it.

    `observations` are those of this pattern alone.
    """
    if record.predict is None:
        raise InputError(f"subscription {record.id!r} asks for no forecasts\nHint: give it `predict`")
    if not observations.pattern.size:
        return None
    number = int(observations.pattern.min())  # its parts have greater ones
    rows = np.flatnonzero(observations.pattern == number)
    places = np.flatnonzero(observations.event[rows] == event)
    if not len(places):
        return None
    before = int(places[0])
    follower = Forecaster([record], model).follower(0)
    parts = rows_of_parts(observations, number, follower.watched.parts)
    follower.see(observations, rows[:before], [part[:before] for part in parts])
    node, probability, bounds = follower.at(observations, int(rows[before]), [int(part[before]) for part in parts])
    return Forecast(
        probability,
        record.predict.within,
        record.predict.threshold,
        tuple(follower.table.reasons(node)),
        probability_by_depth(follower),
        bounds,
    )


def probability_by_depth(follower: ForecastFollower) -> dict[int, float]:
    """Steps taken by the most advanced partial match -> probability of completion, over all states seen."""
    names = follower.counts.names
    numbers = np.arange(len(names.states))
    nothing = np.zeros(len(numbers), np.int64)
    weights, values = follower.table.by_state(node_of(numbers, np.zeros(len(numbers), np.bool_), nothing, nothing))
    seen = weights > 0
    depths = names.depth(numbers)[seen]
    totals = np.bincount(depths, weights=weights[seen])
    sums = np.bincount(depths, weights=weights[seen] * values[seen])
    return {int(depth): float(sums[depth] / totals[depth]) for depth in np.flatnonzero(totals)}
