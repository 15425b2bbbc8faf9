"""Which predicates hold, given the values that operators found; comparisons with numbers are decided together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.operators.alternative_set import ABOVE, BELOW, FROM, UP_TO, AlternativeSet, is_exact
from vedette.operators.bindings import Row
from vedette.operators.event_sources import EventSource


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
