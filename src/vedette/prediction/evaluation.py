"""Forecasts of a whole history and what came of them, row by row: for experiments, and to compare with others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations
from vedette.prediction.context import Table
from vedette.prediction.counts import Counts
from vedette.prediction.model import Model
from vedette.prediction.parts import Parts, Said, rows_of_parts
from vedette.prediction.score import Score
from vedette.prediction.tracks import Tracks
from vedette.prediction.watched import Records, Watched, watched


def probabilities(
    model: Model, records: Records, seen: Observations, *, within: int | None = None
) -> NDArray[np.float64]:
    """What a model that learns no more says at every row; `within` other than that of the subscriptions, if given."""
    said = np.zeros(seen.pattern.size)
    for number, asked in watched(records).items():
        one = asked if within is None else replace(asked, within=within)
        rows = np.flatnonzero(seen.pattern == number)
        counts = model.counts(one.name).with_parts(one.parts)
        together = _by_parts(one, counts, model, seen, number) if counts.by_parts else None
        table = Table(counts.moves(), counts.names, one.within, model.settings, aged=one.aged)
        moves = Tracks(context=model.settings.context, aged=one.aged).advance(seen, rows, counts.names)
        said[moves.row] = table.probability(moves.target) if together is None else together.probability
    return said


def _by_parts(one: Watched, counts: Counts, model: Model, seen: Observations, number: int) -> Said | None:
    """What the parts say together, in the order in which the whole moves."""
    parts = Parts(one, model.settings)
    parts.use([part.moves() for part in counts.parts], counts)
    return parts.see(seen, rows_of_parts(seen, number, one.parts), counts)[1]


def outcomes(seen: Observations, within: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each row: whether the pattern completed within the next events of its partition, and whether that is known.

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
    """The score of any forecasts of these rows (or some of them), whoever made them."""
    came_true, known = outcomes(seen, within)
    judged = known if rows is None else known & rows
    score = Score()
    score.add(probability[judged], came_true[judged], threshold)
    return score
