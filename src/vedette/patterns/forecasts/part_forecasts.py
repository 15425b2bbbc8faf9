"""Forecast a pattern by its parts: each has a chain of its own, and they are assumed independent.

A pattern with too many states to learn from is forecast by its parts (`vedette.patterns.forecast_parts`). All of
them see the same events in the same order, and so have the same partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecast_parts import ForecastPattern, part_number
from vedette.patterns.forecasts.counts import MoveCounts, WeightedMoves
from vedette.patterns.forecasts.part_completion import NEVER, Curve, PartCompletion, PartObservation
from vedette.patterns.forecasts.partition_tracks import NodeMoves, PartitionTracks
from vedette.patterns.forecasts.pattern_nodes import START, STATE_MASK
from vedette.patterns.forecasts.probability_table import ForecastSettings, ProbabilityTable
from vedette.patterns.outputs import Observations
from vedette.patterns.packing import arrays_of, arrays_under


class CombinedProbabilities(NamedTuple):
    """Probabilities for independent parts, and the bounds of the true ones."""

    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class PatternParts:
    """The parts of one pattern, followed separately, partition by partition."""

    def __init__(self, one: ForecastPattern, settings: ForecastSettings) -> None:
        assert one.tree is not None  # only patterns that have parts are followed so
        self._watched, self._settings = one, settings
        self._standing = PartCompletion(one.tree, one.window)
        self._tracks = [PartitionTracks(context=settings.context, aged=one.aged) for _ in range(one.parts)]
        self._rows: dict[int, list[int]] = {}  # by slot
        self._tables: list[ProbabilityTable] = []
        self._curves: list[dict[int, Curve]] = []

    def use(self, moves: Sequence[WeightedMoves], counts: MoveCounts) -> None:
        """Make forecasts from these moves of the parts from now on."""
        one = self._watched
        self._tables = [
            ProbabilityTable(each, part.names, one.within, self._settings, aged=one.aged)
            for each, part in zip(moves, counts.parts, strict=True)
        ]
        self._curves = [{} for _ in self._tables]

    def see(
        self, seen: Observations, rows: Sequence[NDArray[np.int64]], counts: MoveCounts
    ) -> CombinedProbabilities | None:
        """Process observations of the parts; return their combined forecasts, once there are tables."""
        return self.say(seen, rows, self.advance(seen, rows, counts), slice(0, rows[0].size))

    def advance(self, seen: Observations, rows: Sequence[NDArray[np.int64]], counts: MoveCounts) -> list[NodeMoves]:
        """The moves of each part with these observations; their forecasts have to be requested next."""
        names = [part.names for part in counts.parts]
        return [tracks.advance(seen, mine, each) for tracks, mine, each in zip(self._tracks, rows, names, strict=True)]

    def say(
        self, seen: Observations, rows: Sequence[NDArray[np.int64]], moves: Sequence[NodeMoves], here: slice
    ) -> CombinedProbabilities | None:
        """The combined forecasts at the next observations; None before there are tables."""
        rows = [each[here] for each in rows]
        hits = np.stack([seen.hit[each] for each in rows])
        size = hits.shape[1]
        said = CombinedProbabilities(*np.zeros((3, size if self._tables else 0)))
        targets = [each.target[here] for each in moves]
        heights = [table.probability(each) for table, each in zip(self._tables, targets, strict=False)]
        anew = [self._curve(part, START, None) for part in range(len(self._tables))]
        slots, ordinals = moves[0].slot[here], moves[0].ordinal[here]
        # Where nothing completes and nothing is to be said, nothing changes.
        for place in range(size) if self._tables else np.flatnonzero(hits.any(axis=0)).tolist():
            curves = [
                self._curve(part, int(targets[part][place]), float(height[place]))
                for part, height in enumerate(heights)
            ]
            event = _event(seen, [int(each[place]) for each in rows], int(ordinals[place]), curves)
            slot = int(slots[place])
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = self._standing.begun(event)
            self._standing.take(row, event)
            if self._tables:
                whole = self._standing.says(row, event, anew)
                for column, curve in zip(said, whole, strict=True):
                    column[place] = curve[-1]
        return said if self._tables else None

    def _curve(self, part: int, node: int, height: float | None) -> Curve:
        """The curve of a node: its shape by the state, its height by the whole known past."""
        state = node & STATE_MASK
        curve = self._curves[part].get(state)
        if curve is None:
            curve = self._curves[part][state] = self._tables[part].curve(state)
        if height is None or not curve[-1] > 0:
            return curve
        return np.asarray(curve * (height / curve[-1]))

    def forget(self) -> None:
        """Drop partitions without recent events, to make room for others."""
        moved = np.zeros(0, np.int64)
        for tracks in self._tracks:
            moved = tracks.forget()  # of all of them the same
        self._rows = {int(moved[slot]): row for slot, row in self._rows.items() if moved[slot] >= 0}

    def arrays(self, *, tables: bool = True) -> dict[str, NDArray[Any]]:
        """The state, as named arrays; on request without the tables."""
        rows = [[slot, *row] for slot, row in self._rows.items()]
        arrays: dict[str, NDArray[Any]] = {"rows": np.array(rows, np.int64).reshape(-1, 1 + self._standing.width)}
        for number, tracks in enumerate(self._tracks):
            arrays |= arrays_under(f"tracks {number}", tracks.arrays())
        for number, table in enumerate(self._tables if tables else ()):
            arrays |= arrays_under(f"table {number}", table.moves._asdict())
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        self._rows = {row[0]: row[1:] for row in arrays["rows"].tolist()}
        for number, tracks in enumerate(self._tracks):
            tracks.restore(arrays_of(f"tracks {number}", arrays))

    def renumber(self, before: MoveCounts, counts: MoveCounts) -> None:
        """Renumber nodes that were numbered with other counts."""
        for tracks, former, part in zip(self._tracks, before.parts, counts.parts, strict=True):
            tracks.renumber(former.names, part.names)

    def restore_tables(self, arrays: dict[str, NDArray[Any]], counts: MoveCounts) -> None:
        """Restore the tables of forecasts."""
        tables = [arrays_of(f"table {number}", arrays) for number in range(len(self._tracks))]
        if all(tables):
            self.use([WeightedMoves(**each) for each in tables], counts)


def rows_of_parts(seen: Observations, pattern: int, count: int) -> list[NDArray[np.int64]]:
    """The rows of each part of a pattern, in their order."""
    return [np.flatnonzero(seen.pattern == part_number(pattern, part)) for part in range(count)]


def _event(seen: Observations, rows: Sequence[int], ordinal: int, curves: list[Curve]) -> PartObservation:
    time = int(seen.time[rows[0]])
    starts = [(time - int(seen.span[row]), int(seen.begun[row])) if seen.hit[row] else None for row in rows]
    begun = [(time - int(seen.age[row]), int(seen.first[row])) if seen.age[row] >= 0 else NEVER for row in rows]
    return PartObservation(ordinal, (time, int(seen.event[rows[0]])), starts, begun, curves)
