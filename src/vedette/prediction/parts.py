"""A pattern forecast by its parts: each is followed with a chain of its own, and they are taken to be independent.

A pattern whose states are too many to be learnt is known by its parts (`vedette.composite.splitting`). All of them see
the same events in the same order, and so have the same partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations
from vedette.composite.splitting import part_number
from vedette.prediction import named
from vedette.prediction.combine import Curve
from vedette.prediction.completion import NEVER, SeenByParts, Standing
from vedette.prediction.context import Settings, Table
from vedette.prediction.counts import Counts, Weighed
from vedette.prediction.nodes import START, STATE_MASK
from vedette.prediction.tracks import Moves, Tracks
from vedette.prediction.watched import Watched


class Said(NamedTuple):
    """The figures of independent parts, and the bounds of the true ones."""

    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Parts:
    """The parts of one pattern, followed apart, partition by partition."""

    def __init__(self, one: Watched, settings: Settings) -> None:
        assert one.tree is not None  # only patterns that have parts are followed so
        self._watched, self._settings = one, settings
        self._standing = Standing(one.tree, one.window)
        self._tracks = [Tracks(context=settings.context, aged=one.aged) for _ in range(one.parts)]
        self._rows: dict[int, list[int]] = {}  # by slot
        self._tables: list[Table] = []
        self._curves: list[dict[int, Curve]] = []

    def use(self, moves: Sequence[Weighed], counts: Counts) -> None:
        """Make forecasts of these moves of the parts from now on."""
        one = self._watched
        self._tables = [
            Table(each, part.names, one.within, self._settings, aged=one.aged)
            for each, part in zip(moves, counts.parts, strict=True)
        ]
        self._curves = [{} for _ in self._tables]

    def see(
        self, seen: Observations, rows: Sequence[NDArray[np.int64]], counts: Counts
    ) -> tuple[list[Moves], Said | None]:
        """Move on by observations of the parts: how each moved, and, once there are tables, what they say together."""
        names = [part.names for part in counts.parts]
        moves = [tracks.advance(seen, mine, each) for tracks, mine, each in zip(self._tracks, rows, names, strict=True)]
        hits = np.stack([seen.hit[each.row] for each in moves])
        size = hits.shape[1]
        said = Said(*np.zeros((3, size if self._tables else 0)))
        heights = [table.probability(each.target) for table, each in zip(self._tables, moves, strict=False)]
        anew = [self._curve(part, START, None) for part in range(len(self._tables))]
        # Where nothing completes and nothing is to be said, nothing changes.
        for place in range(size) if self._tables else np.flatnonzero(hits.any(axis=0)).tolist():
            curves = [
                self._curve(part, int(moves[part].target[place]), float(height[place]))
                for part, height in enumerate(heights)
            ]
            event = _event(seen, [int(each.row[place]) for each in moves], int(moves[0].ordinal[place]), curves)
            slot = int(moves[0].slot[place])
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = self._standing.begun(event)
            self._standing.take(row, event)
            if self._tables:
                whole = self._standing.says(row, event, anew)
                for column, curve in zip(said, whole, strict=True):
                    column[place] = curve[-1]
        return moves, said if self._tables else None

    def _curve(self, part: int, node: int, height: float | None) -> Curve:
        """What is known of a node: the shape by its state, the height by all that is known of the past."""
        state = node & STATE_MASK
        curve = self._curves[part].get(state)
        if curve is None:
            curve = self._curves[part][state] = self._tables[part].curve(state)
        if height is None or not curve[-1] > 0:
            return curve
        return np.asarray(curve * (height / curve[-1]))

    def forget(self) -> None:
        """Partitions that have not been heard of for long make room for others."""
        moved = np.zeros(0, np.int64)
        for tracks in self._tracks:
            moved = tracks.forget()  # of all of them the same
        self._rows = {int(moved[slot]): row for slot, row in self._rows.items() if moved[slot] >= 0}

    def arrays(self, *, tables: bool = True) -> dict[str, NDArray[Any]]:
        """Where they stand, as named arrays; perhaps without what forecasts are made of."""
        rows = [[slot, *row] for slot, row in self._rows.items()]
        arrays: dict[str, NDArray[Any]] = {"rows": np.array(rows, np.int64).reshape(-1, 1 + self._standing.width)}
        for number, tracks in enumerate(self._tracks):
            arrays |= named.under(f"tracks {number}", tracks.arrays())
        for number, table in enumerate(self._tables if tables else ()):
            arrays |= named.under(f"table {number}", table.moves._asdict())
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Where they stood when `arrays` was asked."""
        self._rows = {row[0]: row[1:] for row in arrays["rows"].tolist()}
        for number, tracks in enumerate(self._tracks):
            tracks.restore(named.of(f"tracks {number}", arrays))

    def renumber(self, before: Counts, counts: Counts) -> None:
        """Nodes were written with the names of other counts."""
        for tracks, former, part in zip(self._tracks, before.parts, counts.parts, strict=True):
            tracks.renumber(former.names, part.names)

    def restore_tables(self, arrays: dict[str, NDArray[Any]], counts: Counts) -> None:
        """What forecasts were made of then."""
        tables = [named.of(f"table {number}", arrays) for number in range(len(self._tracks))]
        if all(tables):
            self.use([Weighed(**each) for each in tables], counts)


def rows_of_parts(seen: Observations, pattern: int, count: int) -> list[NDArray[np.int64]]:
    """The rows of each part of a pattern, in their order."""
    return [np.flatnonzero(seen.pattern == part_number(pattern, part)) for part in range(count)]


def _event(seen: Observations, rows: Sequence[int], ordinal: int, curves: list[Curve]) -> SeenByParts:
    time = int(seen.time[rows[0]])
    starts = [(time - int(seen.span[row]), int(seen.begun[row])) if seen.hit[row] else None for row in rows]
    begun = [(time - int(seen.age[row]), int(seen.first[row])) if seen.age[row] >= 0 else NEVER for row in rows]
    return SeenByParts(ordinal, (time, int(seen.event[rows[0]])), starts, begun, curves)
