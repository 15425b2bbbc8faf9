"""Follow one pattern event by event: forecast, report, judge, learn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.completion_odds import PatternExpectations
from vedette.patterns.forecast_parts import ForecastPattern
from vedette.patterns.forecasts.counts import MoveCounts, WeightedMoves, kinds_of
from vedette.patterns.forecasts.drift import Drift, DriftMonitor
from vedette.patterns.forecasts.judge import ForecastJudge, ForecastVerdicts
from vedette.patterns.forecasts.part_forecasts import PatternParts
from vedette.patterns.forecasts.partition_tracks import NodeMoves, PartitionTracks
from vedette.patterns.forecasts.pattern_nodes import fills
from vedette.patterns.forecasts.probability_table import ForecastSettings, ProbabilityTable
from vedette.patterns.forecasts.score import Score
from vedette.patterns.outputs import Observations
from vedette.patterns.packing import arrays_of, arrays_under

_FIRST = 64  # events after which the first table is made; later ones are made when a tenth more has been learnt
_GROWTH = 0.1
_AT_ONCE = 1 << 16  # rows: more of them would not stay in the cache
_REMEMBERED = 8  # partial matches of a partition that are known to have been reported


class ReportedRows(NamedTuple):
    """Rows of the observations at which a prediction is reported, and its probability."""

    row: NDArray[np.int64]
    probability: NDArray[np.float64]


class ForecastFollower:
    """Forecasts of one pattern.

    Its forecasts, what it learns and its score do not depend on how events are cut into batches, to the last bit:
    everything happens at an event, and in the order of events.
    """

    def __init__(
        self, one: ForecastPattern, counts: MoveCounts, settings: ForecastSettings, *, learn: bool, fixed: bool = False
    ) -> None:
        self.watched = one
        self._settings, self._learn = settings, learn
        self._fixed = fixed  # only the counts matter, whatever a restored state contains
        self.counts = counts
        self.counts.horizon = settings.horizon
        self.counts.with_parts(one.parts)
        self._tracks = PartitionTracks(context=settings.context, aged=one.aged)
        self._parts = None if one.tree is None else PatternParts(one, settings)
        self.by_parts = False  # whether its states are too many, so that its parts are taken to be independent
        self._judge = ForecastJudge(one.within, one.threshold)
        self._monitor = DriftMonitor(one.within)
        self.drifts: list[Drift] = []
        self._told: dict[int, list[int]] = {}  # first events of the partial matches reported last, by partition
        self._since = 0  # events learnt since the table was made
        self._tabulate()

    @property
    def score(self) -> Score:
        """The score of its forecasts."""
        return self._judge.score

    def see(self, seen: Observations, rows: NDArray[np.int64], parts: Sequence[NDArray[np.int64]] = ()) -> ReportedRows:
        """Process observations of this pattern, and of its parts; return the rows to report, in their order."""
        reports: list[ReportedRows] = []
        while rows.size:
            end = self._tracks.room(seen.key[rows[:_AT_ONCE]])
            reports.append(self._see(seen, rows[:end], [part[:end] for part in parts]))
            if self._tracks.crowded():
                self._forget()
            rows, parts = rows[end:], [part[end:] for part in parts]
        row = np.concatenate([np.zeros(0, np.int64), *(one.row for one in reports)])
        return ReportedRows(row, np.concatenate([np.zeros(0), *(one.probability for one in reports)]))

    def _see(self, seen: Observations, rows: NDArray[np.int64], parts: Sequence[NDArray[np.int64]]) -> ReportedRows:
        was_full, hit = self.counts.names.full, seen.hit[rows]
        moves = self._tracks.advance(seen, rows, self.counts.names)
        part_moves = [] if self._parts is None else self._parts.advance(seen, parts, self.counts)
        full_from = 0 if was_full or not self.counts.names.full else int(np.argmax(fills(moves.target)))
        verdicts = self._judge.verdicts(moves, hit)
        probability, reported = np.zeros(rows.size), np.zeros(rows.size, np.bool_)
        begin = 0
        while begin < rows.size:
            end = min(begin + self._due - self._since, rows.size) if self._learn else rows.size
            if self._learn and self._parts is not None:  # the states of parts are not taken back
                end = self._until_full(verdicts, begin, end)
            here = slice(begin, end)
            said = None if self._parts is None else self._parts.say(seen, parts, part_moves, here)
            probability[here] = self.table.probability(moves.target[here]) if said is None else said.probability
            end, drift = self._watch(verdicts, probability, begin, end)
            here = slice(begin, end)
            likely = probability[here] >= self.watched.threshold
            reported[here] = self._fresh(moves, here, seen.first[rows[here]], likely)
            self._judge.count_matches(moves, here, hit[here], reported[here])
            known = verdicts.between(begin, end)
            self._judge.judge(
                verdicts.said(known, probability), verdicts.came_true[known], verdicts.reported(known, reported)
            )
            if self._learn:
                self._count([moves, *part_moves], here, drift=drift, full=end > full_from)
            begin = end
        self._judge.wait(verdicts, probability, reported)
        return ReportedRows(rows[reported], probability[reported])

    def _until_full(self, verdicts: ForecastVerdicts, begin: int, end: int) -> int:
        """The end, or that of the event before it with which the window of judged forecasts is full."""
        known = verdicts.between(begin, end)
        last = known.start + self._monitor.room - 1
        return int(verdicts.at[last]) + 1 if last < known.stop else end

    def _watch(
        self, verdicts: ForecastVerdicts, probability: NDArray[np.float64], begin: int, end: int
    ) -> tuple[int, bool]:
        """Compare forecasts with what came true; return how far, and whether the model ceased to fit there."""
        known = verdicts.between(begin, end)
        said, came_true = verdicts.said(known, probability), verdicts.came_true[known]
        done = 0
        while done < came_true.size:
            taken, drift = self._monitor.see(said[done:], came_true[done:])
            done += taken
            if drift is not None:
                self.drifts.append(drift)
                if self._learn:
                    last = known.start + done - 1
                    end = int(verdicts.at[last]) + 1
                    self._monitor.restart(verdicts.between(begin, end).stop - last - 1)
                    return end, True
        return end, False

    def _count(self, moves: Sequence[NodeMoves], here: slice, *, drift: bool, full: bool) -> None:
        """Learn from some moves of the whole and its parts, and rebuild the table when it is time."""
        for counts, moved in zip([self.counts, *self.counts.parts], moves, strict=True):
            counts.add(moved.source[here], moved.target[here])
        self._since += here.stop - here.start
        if drift:
            self.counts.fade(self._monitor.window / 10)
        if drift or self._since >= self._due:
            self._tabulate(full=full)

    def _fresh(
        self, moves: NodeMoves, here: slice, first: NDArray[np.int64], likely: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which rows to report: those likely enough, unless their partial match has been reported before.

        Partial matches are identified by their first event. It is looked up only if it changes the answer.
        """
        places = np.flatnonzero(likely & (first >= 0))
        places = places[np.argsort(moves.slot[here][places], kind="stable")]
        slot, begun = moves.slot[here][places], first[places]
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

    def _tabulate(self, *, full: bool = True) -> None:
        """Rebuild the table from the counts, and schedule the next time.

        Unless its numbers of states are `full` by now, the whole is not given up for its parts.
        """
        self._use(self.counts.moves())
        self._since = 0
        if self._parts is not None and full and self.counts.by_parts:
            self.by_parts = True
            self._parts.use([part.moves() for part in self.counts.parts], self.counts)

    def _use(self, moves: WeightedMoves) -> None:
        one = self.watched
        self.table = ProbabilityTable(moves, self.counts.names, one.within, self._settings, aged=one.aged)
        self._due = max(_FIRST, int(_GROWTH * moves.weight.sum()))
        symbol, share = kinds_of(moves, self.counts.names)
        self.expected = PatternExpectations(symbol, share, one.within) if symbol.size else None

    def _forget(self) -> None:
        """Drop partitions without recent events, to make room for others."""
        moved = self._tracks.forget()
        self._told = {int(moved[slot]): told for slot, told in self._told.items() if moved[slot] >= 0}
        self._judge.moved(moved)
        if self._parts is not None:
            self._parts.forget()

    def at(self, seen: Observations, row: int, parts: Sequence[int]) -> tuple[int, float, tuple[float, float] | None]:
        """The forecast at a row: the node, the probability, and its bounds if made from parts; changes nothing."""
        one = np.array([row])
        moves = deepcopy(self._tracks).advance(seen, one, self.counts.names)
        said = None
        if self._parts is not None:
            said = deepcopy(self._parts).see(seen, [np.array([part]) for part in parts], self.counts)
        if said is None:
            return int(moves.target[0]), float(self.table.probability(moves.target)[0]), None
        return int(moves.target[0]), float(said.probability[0]), (float(said.low[0]), float(said.high[0]))

    # ------------------------------------------------------------ kept

    def arrays(self, *, counted: bool = True) -> dict[str, NDArray[Any]]:
        """The state, as named arrays; on request without what was `counted`."""
        told = [(slot, event) for slot, events in self._told.items() for event in events]
        counts = self._kept(counted)
        moves = self.table.moves if counted else counts.moves()
        return {
            "told": np.array(told, np.int64).reshape(-1, 2),
            **arrays_under("table", moves._asdict()),
            **arrays_under("counts", counts.arrays(exact=True)),
            **arrays_under("tracks", self._tracks.arrays()),
            **arrays_under("judge", self._judge.arrays()),
            **({} if self._parts is None else arrays_under("parts", self._parts.arrays(tables=counted))),
        }

    def plain(self, *, counted: bool = True) -> dict[str, Any]:
        """Everything else, for JSON."""
        return {
            "counts": self._kept(counted).plain(exact=True),
            "score": self.score.plain(),
            "monitor": self._monitor.plain(),
            "drifts": [list(drift) for drift in self.drifts],
            "since": self._since,
            "by_parts": self.by_parts,
        }

    def _kept(self, counted: bool) -> MoveCounts:
        return self.counts if counted else self.counts.numbering()

    def restore(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `plain` and `arrays` returned."""
        before = MoveCounts.restored(plain["counts"], arrays_of("counts", arrays))
        self._tracks.restore(arrays_of("tracks", arrays))
        self._judge.restore(arrays_of("judge", arrays))
        self._judge.score = Score.from_plain(plain["score"])
        self._monitor.restore(plain["monitor"])
        self.drifts = [Drift(*drift) for drift in plain["drifts"]]
        self._told = {}
        for slot, event in arrays["told"].tolist():
            self._told.setdefault(slot, []).append(event)
        if self._parts is not None:
            self._parts.restore(arrays_of("parts", arrays))
        if self._fixed:
            self._tracks.renumber(before.names, self.counts.names)
            if self._parts is not None:
                self._parts.renumber(before, self.counts)
            return
        self.counts = before
        self._use(WeightedMoves(**arrays_of("table", arrays)))
        if self._parts is not None:
            self.by_parts = plain["by_parts"]
            self._parts.restore_tables(arrays_of("parts", arrays), self.counts)
        self._since = int(plain["since"])
