"""Forecasts of a whole history with their outcomes, row by row: for experiments and comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecast_parts import ForecastPattern, PatternRecords, forecast_patterns
from vedette.patterns.forecasts.counts import MoveCounts
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.part_forecasts import CombinedProbabilities, PatternParts, rows_of_parts
from vedette.patterns.forecasts.partition_tracks import PartitionTracks
from vedette.patterns.forecasts.probability_table import ProbabilityTable
from vedette.patterns.forecasts.score import Score
from vedette.patterns.outputs import Observations


def probabilities(
    model: Model, records: PatternRecords, seen: Observations, *, within: int | None = None
) -> NDArray[np.float64]:
    """The probability at every row by a fixed model; for another `within` than the subscriptions', if given."""
    said = np.zeros(seen.pattern.size)
    for number, asked in forecast_patterns(records).items():
        one = asked if within is None else replace(asked, within=within)
        rows = np.flatnonzero(seen.pattern == number)
        counts = model.counts(one.name).with_parts(one.parts)
        together = _by_parts(one, counts, model, seen, number) if counts.by_parts else None
        table = ProbabilityTable(counts.moves(), counts.names, one.within, model.settings, aged=one.aged)
        moves = PartitionTracks(context=model.settings.context, aged=one.aged).advance(seen, rows, counts.names)
        said[rows] = table.probability(moves.target) if together is None else together.probability
    return said


def _by_parts(
    one: ForecastPattern, counts: MoveCounts, model: Model, seen: Observations, number: int
) -> CombinedProbabilities | None:
    """The forecasts made from parts, in the order of the whole's moves."""
    parts = PatternParts(one, model.settings)
    parts.use([part.moves() for part in counts.parts], counts)
    return parts.see(seen, rows_of_parts(seen, number, one.parts), counts)


def outcomes(seen: Observations, within: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each row: whether the pattern completed within the next events of its partition, and whether that is known.

    It is not known near the end, where fewer events follow.
    """
    order = np.lexsort((np.arange(seen.pattern.size), seen.key[:, 1], seen.key[:, 0], seen.pattern))
    partition = np.column_stack([seen.pattern, seen.key])[order]
    place = np.arange(order.size)
    ends = np.ones(order.size, np.bool_)
    ends[:-1] = (partition[1:] != partition[:-1]).any(axis=1)
    end = np.minimum.accumulate(np.where(ends, place, order.size)[::-1])[::-1]
    hits = np.flatnonzero(seen.hit[order])
    following = np.append(hits, 2 * order.size + within)[np.searchsorted(hits, place, side="right")]
    came_true, known = np.empty(order.size, np.bool_), np.empty(order.size, np.bool_)
    came_true[order] = (following <= end) & (following - place <= within)
    known[order] = came_true[order] | (end - place >= within)
    return came_true, known


def scored(
    probability: NDArray[np.float64],
    seen: Observations,
    within: int,
    threshold: float,
    rows: NDArray[np.bool_] | None = None,
) -> Score:
    """The score of any forecasts of these rows (or some of them)."""
    came_true, known = outcomes(seen, within)
    judged = known if rows is None else known & rows
    score = Score()
    score.add(probability[judged], came_true[judged], threshold)
    return score
