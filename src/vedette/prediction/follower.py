"""One pattern, followed event by event: forecast, report, judge, learn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations
from vedette.composite.promise import Expected
from vedette.prediction import named
from vedette.prediction.context import Settings, Table
from vedette.prediction.counts import Counts, Weighed, kinds_of
from vedette.prediction.drift import Drift, DriftMonitor
from vedette.prediction.judge import Judge
from vedette.prediction.parts import Parts
from vedette.prediction.score import Score
from vedette.prediction.tracks import Moves, Tracks
from vedette.prediction.watched import Watched

_FIRST = 64  # events after which the first table is made; later ones are made when a tenth more has been learnt
_GROWTH = 0.1
_REMEMBERED = 8  # partial matches of a partition that are known to have been reported


class Reported(NamedTuple):
    """Rows of the observations at which a prediction is reported, and its probability."""

    row: NDArray[np.int64]
    probability: NDArray[np.float64]


class Follower:
    """Forecasts of one pattern. What it says does not depend on how its events are cut into batches.

    (Unless it drifts: windows of judged forecasts end with a batch.)
    """

    def __init__(self, one: Watched, counts: Counts, settings: Settings, *, learn: bool, fixed: bool = False) -> None:
        self.watched = one
        self._settings, self._learn = settings, learn
        self._fixed = fixed  # what was counted is all that counts, whatever a state says that is restored
        self.counts = counts
        self.counts.horizon = settings.horizon
        self.counts.with_parts(one.parts)
        self._tracks = Tracks(context=settings.context, aged=one.aged)
        self._parts = None if one.tree is None else Parts(one, settings)
        self.by_parts = False  # whether its states are too many, so that its parts are taken to be independent
        self._judge = Judge(one.within, one.threshold)
        self._monitor = DriftMonitor(one.within)
        self.drifts: list[Drift] = []
        self._told: dict[int, list[int]] = {}  # first events of the partial matches reported last, by partition
        self._since = 0  # events learnt since the table was made
        self._tabulate()

    @property
    def score(self) -> Score:
        """How good its forecasts have been."""
        return self._judge.score

    def see(self, seen: Observations, rows: NDArray[np.int64], parts: Sequence[NDArray[np.int64]] = ()) -> Reported:
        """Take in observations of this pattern, and of its parts; what is to be reported, in their order."""
        reports: list[Reported] = []
        begin = 0
        while begin < rows.size:
            end = begin + (self._due - self._since if self._learn else rows.size)
            reports.append(self._see(seen, rows[begin:end], [part[begin:end] for part in parts]))
            begin = end
        row = np.concatenate([np.zeros(0, np.int64), *(one.row for one in reports)])
        return Reported(row, np.concatenate([np.zeros(0), *(one.probability for one in reports)]))

    def _see(self, seen: Observations, rows: NDArray[np.int64], parts: Sequence[NDArray[np.int64]]) -> Reported:
        moves = self._tracks.advance(seen, rows, self.counts.names)
        part_moves: list[Moves] = []
        said = None
        if self._parts is not None:
            part_moves, said = self._parts.see(seen, parts, self.counts)
        probability = self.table.probability(moves.target) if said is None else said.probability
        reported = self._fresh(moves, seen.first[moves.row], probability >= self.watched.threshold)
        judged = self._judge.see(moves, seen.hit[moves.row], probability, reported)
        drifts = self._monitor.see(*judged)
        self.drifts += drifts
        if self._learn:
            counted = zip([self.counts, *self.counts.parts], [rows, *parts], [moves, *part_moves], strict=True)
            for counts, mine, moved in counted:
                counts.add(moved.source, moved.target, mine.size - 1 - np.searchsorted(mine, moved.row))
            self._since += rows.size
            if drifts:
                self.counts.fade(self._monitor.window / 10)
                self._monitor.restart()
            if drifts or self._since >= self._due:
                self._tabulate()
        if self._tracks.crowded():
            self._forget()
        order = np.argsort(moves.row[reported], kind="stable")
        return Reported(moves.row[reported][order], probability[reported][order])

    def _fresh(self, moves: Moves, first: NDArray[np.int64], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows are to be reported: likely, and the partial match has not been reported before.

        Partial matches are told apart by their first event. Only where that changes it is looked up.
        """
        places = np.flatnonzero(likely & (first >= 0))
        slot, begun = moves.slot[places], first[places]
        changed = np.ones(places.size, np.bool_)
        changed[1:] = (slot[1:] != slot[:-1]) | (begun[1:] != begun[:-1])
        fresh = np.zeros(likely.size, np.bool_)
        for place, number, event in zip(
            places[changed].tolist(), slot[changed].tolist(), begun[changed].tolist(), strict=True
        ):
            told = self._told.setdefault(number, [])
            if event not in told:
                told.append(event)
                del told[:-_REMEMBERED]
                fresh[place] = True
        return fresh

    def _tabulate(self) -> None:
        """Make the table anew from what has been learnt, and say when to do so again."""
        self._use(self.counts.moves())
        self._since = 0
        if self._parts is not None and self.counts.by_parts:
            self.by_parts = True
            self._parts.use([part.moves() for part in self.counts.parts], self.counts)

    def _use(self, moves: Weighed) -> None:
        one = self.watched
        self.table = Table(moves, self.counts.names, one.within, self._settings, aged=one.aged)
        self._due = max(_FIRST, int(_GROWTH * moves.weight.sum()))
        symbol, share = kinds_of(moves, self.counts.names)
        self.expected = Expected(symbol, share, one.within) if symbol.size else None

    def _forget(self) -> None:
        """Partitions that have not been heard of for long make room for others."""
        moved = self._tracks.forget()
        self._told = {int(moved[slot]): told for slot, told in self._told.items() if moved[slot] >= 0}
        self._judge.moved(moved)
        if self._parts is not None:
            self._parts.forget()

    def at(self, seen: Observations, row: int, parts: Sequence[int]) -> tuple[int, float, tuple[float, float] | None]:
        """What it would say at a row: the node, the probability, and its bounds where parts say it; nothing is kept."""
        one = np.array([row])
        moves = deepcopy(self._tracks).advance(seen, one, self.counts.names)
        said = None
        if self._parts is not None:
            said = deepcopy(self._parts).see(seen, [np.array([part]) for part in parts], self.counts)[1]
        if said is None:
            return int(moves.target[0]), float(self.table.probability(moves.target)[0]), None
        return int(moves.target[0]), float(said.probability[0]), (float(said.low[0]), float(said.high[0]))

    # ------------------------------------------------------------ kept

    def arrays(self, *, counted: bool = True) -> dict[str, NDArray[Any]]:
        """What it knows, as named arrays; perhaps without what was `counted`."""
        told = [(slot, event) for slot, events in self._told.items() for event in events]
        counts = self._kept(counted)
        moves = self.table.moves if counted else counts.moves()
        return {
            "told": np.array(told, np.int64).reshape(-1, 2),
            **named.under("table", moves._asdict()),
            **named.under("counts", counts.arrays()),
            **named.under("tracks", self._tracks.arrays()),
            **named.under("judge", self._judge.arrays()),
            **({} if self._parts is None else named.under("parts", self._parts.arrays(tables=counted))),
        }

    def plain(self, *, counted: bool = True) -> dict[str, Any]:
        """All else, as it can be written as JSON."""
        return {
            "counts": self._kept(counted).plain(),
            "score": self.score.plain(),
            "monitor": self._monitor.plain(),
            "drifts": [list(drift) for drift in self.drifts],
            "since": self._since,
            "by_parts": self.by_parts,
        }

    def _kept(self, counted: bool) -> Counts:
        return self.counts if counted else self.counts.numbering()

    def restore(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """What `plain` and `arrays` gave."""
        before = Counts.restored(plain["counts"], named.of("counts", arrays))
        self._tracks.restore(named.of("tracks", arrays))
        self._judge.restore(named.of("judge", arrays))
        self._judge.score = Score.from_plain(plain["score"])
        self._monitor.restore(plain["monitor"])
        self.drifts = [Drift(*drift) for drift in plain["drifts"]]
        self._told = {}
        for slot, event in arrays["told"].tolist():
            self._told.setdefault(slot, []).append(event)
        if self._parts is not None:
            self._parts.restore(named.of("parts", arrays))
        if self._fixed:
            self._tracks.renumber(before.names, self.counts.names)
            if self._parts is not None:
                self._parts.renumber(before, self.counts)
            return
        self.counts = before
        self._use(Weighed(**named.of("table", arrays)))
        if self._parts is not None:
            self.by_parts = plain["by_parts"]
            self._parts.restore_tables(named.of("parts", arrays), self.counts)
        self._since = int(plain["since"])
