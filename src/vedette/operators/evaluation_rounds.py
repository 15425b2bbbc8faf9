"""Evaluate operators for a batch, round by round: every event waits for the evaluation that it needs next.

A round makes those evaluations that most events wait for, each once for all of them, so that operators see batches.
Events that wait for another one lose nothing, since more events may come to wait for the same.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.operators.alternative_set import ABOVE, BELOW, FROM, UP_TO, AlternativeSet, PlanTemplate, is_exact
from vedette.operators.bindings import Row, TooManyBindings
from vedette.operators.event_sources import EventSource
from vedette.operators.kernels.plan_block import (
    A_ID,
    E_ALTERNATIVE,
    P_ASKING,
    P_ID,
    V_ID,
    V_MEMBER,
    PlanBlock,
)
from vedette.operators.kernels.plan_moves import FIRST, NAIVE, NONE, advance, settle
from vedette.operators.operator_runner import EvaluationResults, OperatorRunner
from vedette.operators.statistics import StatisticsView


class BlockBindings:
    """The values that operators found for the events of a block, and which predicates hold for them."""

    def __init__(self, asked: AlternativeSet, source: EventSource) -> None:
        self._asked, self._source = asked, source
        self._found: dict[tuple[int, int], Sequence[Row]] = {}  # by evaluation and event
        self._selected: dict[tuple[int, int], Sequence[Row]] = {}  # by predicate and event

    def keep(self, evaluation: int, events: NDArray[np.int64], found: Sequence[Sequence[Row]]) -> None:
        """Keep the rows that an evaluation found for some events."""
        for event, rows in zip(events.tolist(), found, strict=True):
            self._found[evaluation, event] = rows

    def holds(
        self,
        predicates: NDArray[np.int32],
        events: NDArray[np.int64],
        sizes: NDArray[np.int64],
        truth: NDArray[np.int8],
        wanted: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Whether predicates hold: `sizes` of them per event, all of one evaluation, whose `truth` is known.

        Results for predicates that are not `wanted` may be wrong.
        """
        asked = self._asked
        of_event = np.repeat(np.arange(len(events)), sizes)
        said = truth[of_event]
        holds: NDArray[np.bool_] = np.where(asked.positive[predicates], said == 1, said == 0)
        undecided = asked.binds[predicates] & wanted & (said >= 0)
        if not undecided.any():
            return holds
        quick = undecided & (asked.compared[predicates] > 0)
        if quick.any():
            at = np.flatnonzero(quick)
            lowest, highest = self._extremes(predicates[at], events, of_event[at])
            limit, how = asked.limit[predicates[at]], asked.compared[predicates[at]]
            below, above = lowest[of_event[at]], highest[of_event[at]]
            known = ~np.isnan(below)
            holds[at] = np.select(
                [how == BELOW, how == UP_TO, how == ABOVE, how == FROM],
                [below < limit, below <= limit, above > limit, above >= limit],
                False,
            )
            undecided[at[known]] = False
        for place in np.flatnonzero(undecided).tolist():
            number, event = int(predicates[place]), int(events[of_event[place]])
            holds[place] = asked.predicates[number].holds(int(said[place]), self.rows(number, event))
        return holds

    def _extremes(
        self, predicates: NDArray[np.int32], events: NDArray[np.int64], of_event: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and greatest value found for every event; NaN if some values are not plain numbers."""
        lowest, highest = np.full(len(events), math.nan), np.full(len(events), math.nan)
        places, first = np.unique(of_event, return_index=True)
        for place, at in zip(places.tolist(), first.tolist(), strict=True):
            evaluation = self._asked.predicates[int(predicates[at])].evaluation
            values = [row[0] for row in self._found[evaluation, int(events[place])]]
            if all(map(is_exact, values)):
                lowest[place], highest[place] = min(values, default=math.inf), max(values, default=-math.inf)
        return lowest, highest

    def rows(self, predicate: int, event: int) -> Sequence[Row]:
        """The values of a predicate's variables, for an event for which its evaluation was made."""
        key = predicate, event
        if key not in self._selected:
            one = self._asked.predicates[predicate]
            if self._asked.binds[predicate]:
                found = self._found[one.evaluation, event]
                self._selected[key] = one.selected(found, lambda path: self._source.value(path, event))
            else:
                self._selected[key] = [()] if one.positive else []
        return self._selected[key]


_LOG = logging.getLogger("vedette.operators")
_EVENTS = 4_096  # of a block: what operators see at a time at most
_ENTRIES = 8_000_000  # of a block: some hundred megabytes
_NO_TRUTH = np.zeros((0, 0), np.bool_)


class AlternativeMatch(NamedTuple):
    """An alternative that is true for an event: the event's number in its batch, and the first substitution."""

    event: int
    alternative: int
    bindings: dict[str, Any]


class EvaluationRecord(NamedTuple):
    """An evaluation made for some events (numbers in the batch), used by `explain` and for counts."""

    evaluation: int
    events: NDArray[np.int64]
    truth: NDArray[np.int8]
    bindings: Sequence[Sequence[Row]] | None  # of each event, where the operator finds values


@dataclass(slots=True)
class EvaluationCounts:
    """Counts of evaluations and joins."""

    events: int = 0  # that got past the index, for some alternative with operators
    asked: int = 0  # evaluations that their alternatives need
    made: int = 0
    joins_given_up: int = 0  # bindings combined in too many ways
    by_operator: dict[str, int] = field(default_factory=dict)  # made

    def add(self, other: EvaluationCounts) -> None:
        """Add the counts of another place."""
        self.events += other.events
        self.asked += other.asked
        self.made += other.made
        self.joins_given_up += other.joins_given_up
        for name, made in other.by_operator.items():
            self.by_operator[name] = self.by_operator.get(name, 0) + made


class EvaluationRounds:
    """Processes one batch of events to its end."""

    def __init__(
        self,
        asked: AlternativeSet,
        prepared: PlanTemplate,
        source: EventSource,
        runner: OperatorRunner,
        statistics: StatisticsView | None,
        counts: EvaluationCounts,
        heard: Callable[[EvaluationRecord], None] | None = None,
    ) -> None:
        self._asked, self._prepared = asked, prepared
        self._problem, self._planner = prepared.problem, prepared.planner
        self._source, self._runner, self._statistics = source, runner, statistics
        self._counts, self._heard = counts, heard

    def run(
        self, events: NDArray[np.int64], start: NDArray[np.int64], alternatives: NDArray[np.int32]
    ) -> Iterator[AlternativeMatch]:
        """The matches of the events (numbers in the batch), whose alternatives are start[i] .. start[i + 1].

        Of a subscription with several alternatives, the first true one is among the results.
        """
        sizes = np.diff(self._problem.start)[alternatives]
        entries = np.concatenate([[0], np.cumsum(sizes)])[start]
        first = 0
        while first < len(events):
            last = int(np.searchsorted(entries, entries[first] + _ENTRIES, "right")) - 1
            last = min(max(last, first + 1), first + _EVENTS, len(events))
            own = alternatives[start[first] : start[last]]
            yield from self._block(events[first:last], start[first : last + 1] - start[first], own)
            first = last

    def _block(
        self, events: NDArray[np.int64], start: NDArray[np.int64], alternatives: NDArray[np.int32]
    ) -> Iterator[AlternativeMatch]:
        block = self._prepared.block(start, alternatives)
        one = _BlockRound(block, events, BlockBindings(self._asked, self._source))
        self._counts.events += len(events)
        self._counts.asked += len(block.evaluation) - 1
        chosen = np.full(len(events), FIRST, np.int32)
        turn = np.arange(len(events))
        first, holds = np.zeros(len(events), np.int64), np.zeros(0, np.bool_)
        while True:
            told = np.full(len(events), NONE, np.int32)
            told[turn] = chosen[turn]
            complete = self._advance(block, told, first, holds, one.completed)
            chosen[turn] = told[turn]
            settled: list[int] = []
            for row in one.completed[:complete].tolist():
                found = self._joined(one, row)
                if found is not None:
                    yield found
                    settled += self._siblings(one, row)
            if settled:
                settle(self._problem, block, np.array(settled, np.int64))
                self._choose_again(one, chosen)
            turn = _fullest(block, chosen)
            if not len(turn):
                return
            first, holds = self._evaluate(one, turn, chosen)

    def _advance(
        self,
        block: PlanBlock,
        chosen: NDArray[np.int32],
        first: NDArray[np.int64],
        holds: NDArray[np.bool_],
        completed: NDArray[np.int32],
    ) -> int:
        made = np.zeros(len(chosen), np.int64)
        complete: int = advance(self._problem, block, self._planner, chosen, first, holds, completed, _NO_TRUTH, made)
        self._counts.made += int(made.sum())
        return complete

    def _choose_again(self, one: _BlockRound, chosen: NDArray[np.int32]) -> None:
        """Replace choices made useless because another alternative of the subscription has matched."""
        if self._planner == NAIVE:
            return
        active = np.flatnonzero(chosen >= 0)
        members = _PredicateRows.of(one.block, chosen[active])
        asking = np.add.reduceat(one.block.predicate[members.row, P_ASKING], members.first) if len(active) else active
        idle = active[asking == 0]
        if len(idle):
            again = np.full(len(chosen), NONE, np.int32)
            again[idle] = FIRST
            nothing = np.zeros(len(chosen), np.int64)
            self._advance(one.block, again, nothing, np.zeros(0, np.bool_), one.completed)
            chosen[idle] = again[idle]

    # ------------------------------------------------------------ evaluating

    def _evaluate(
        self, one: _BlockRound, active: NDArray[np.int64], chosen: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Make the chosen evaluations; return where each event's predicates begin, and whether they hold."""
        block = one.block
        picked = chosen[active]
        numbers = block.evaluation[picked, V_ID]
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
        truth = np.empty(len(active), np.int8)
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            places = order[low:high]
            number, events = int(numbers[places[0]]), one.events[active[places]]
            answers = self._run(number, events)
            truth[places] = answers.truth
            if answers.bindings is not None:
                one.selections.keep(number, events, answers.bindings)
        members = _PredicateRows.of(block, picked)
        predicates = block.predicate[members.row, P_ID]
        wanted = block.predicate[members.row, P_ASKING] > 0
        if self._planner == NAIVE:  # which also evaluates predicates that are not needed
            wanted[:] = True
        holds = one.selections.holds(predicates, one.events[active], members.size, truth, wanted)
        if self._statistics is not None:
            seen = wanted & (np.repeat(truth, members.size) >= 0)  # unknown results are no observations
            _learn(self._statistics, predicates[seen], holds[seen])
        first = np.zeros(len(chosen), np.int64)
        first[active] = members.first
        return first, holds

    def _run(self, number: int, events: NDArray[np.int64]) -> EvaluationResults:
        evaluation = self._asked.evaluations[number]
        answers = self._runner.run(evaluation, self._source, events)
        by = self._counts.by_operator
        by[evaluation.operator.name] = by.get(evaluation.operator.name, 0) + len(events)
        if self._statistics is not None and answers.seconds > 0:
            self._statistics.learn_cost(number, len(events), answers.seconds)
        if self._heard is not None:
            self._heard(EvaluationRecord(number, events, answers.truth, answers.bindings))
        return answers

    # ------------------------------------------------------------ what is complete

    def _joined(self, one: _BlockRound, row: int) -> AlternativeMatch | None:
        """Decide an alternative whose predicates all hold: it is true if their bindings agree."""
        block = one.block
        number, event = int(block.alternative[row, A_ID]), int(one.events[one.event_of(row)])
        planned = self._asked.alternatives[number]
        if planned.join is None:
            return AlternativeMatch(event, number, {})
        rows = [one.selections.rows(part, event) for part in planned.parts]
        try:
            first = next(planned.join.substitutions(rows, lambda path: self._source.value(path, event)), None)
        except TooManyBindings as error:
            self._counts.joins_given_up += 1
            _LOG.warning("event %s: %s; it is taken not to match", self._source.name(event), error)
            return None
        return None if first is None else AlternativeMatch(event, number, first)

    def _siblings(self, one: _BlockRound, row: int) -> list[int]:
        """The other alternatives of the subscription that need not be decided any more.

        Earlier ones stay if bindings are reported, since the first true alternative reports them.
        """
        alternative = one.block.alternative
        number = int(alternative[row, A_ID])
        first, end = self._asked.family[number].tolist()
        if end - first == 1:
            return []
        event = one.event_of(row)
        low, high = one.block.event[event : event + 2, E_ALTERNATIVE].tolist()
        numbers = alternative[low:high, A_ID]
        from_ = number if self._asked.bound[number] else first
        others = (numbers >= from_) & (numbers < end) & (numbers != number)
        found: list[int] = (low + np.flatnonzero(others)).tolist()
        return found


def _fullest(block: PlanBlock, chosen: NDArray[np.int32]) -> NDArray[np.int64]:
    """The events whose evaluation has at least half as many waiting events as the most popular one."""
    waiting = np.flatnonzero(chosen >= 0)
    if len(waiting) < 2:
        return waiting
    _, which, sizes = np.unique(block.evaluation[chosen[waiting], V_ID], return_inverse=True, return_counts=True)
    fullest: NDArray[np.int64] = waiting[2 * sizes[which] >= sizes.max()]
    return fullest


class _PredicateRows(NamedTuple):
    """The predicates of some evaluations of a block, concatenated."""

    row: NDArray[np.int64]  # of the block's predicates
    first: NDArray[np.int64]  # where those of each evaluation begin
    size: NDArray[np.int64]

    @staticmethod
    def of(block: PlanBlock, evaluations: NDArray[np.int32]) -> _PredicateRows:
        low = block.evaluation[evaluations, V_MEMBER].astype(np.int64)
        count = block.evaluation[evaluations + 1, V_MEMBER] - low
        first = np.cumsum(count) - count
        return _PredicateRows(block.member[np.repeat(low - first, count) + np.arange(count.sum())], first, count)


class _BlockRound:
    """A block, the numbers of its events in the batch, and the bindings found."""

    def __init__(self, block: PlanBlock, events: NDArray[np.int64], selections: BlockBindings) -> None:
        self.block, self.events, self.selections = block, events, selections
        self.completed = np.empty(len(block.alternative), np.int32)
        self._first = block.event[:, E_ALTERNATIVE]

    def event_of(self, alternative: int) -> int:
        """The event of an alternative's row."""
        return int(np.searchsorted(self._first, alternative, "right")) - 1


def _learn(statistics: StatisticsView, predicates: NDArray[np.int32], holds: NDArray[np.bool_]) -> None:
    numbers, inverse, tried = np.unique(predicates, return_inverse=True, return_counts=True)
    held = np.bincount(inverse, weights=holds, minlength=len(numbers)).astype(np.int64)
    for number, tries, holding in zip(numbers.tolist(), tried.tolist(), held.tolist(), strict=True):
        statistics.learn_outcomes(number, tries, holding)
