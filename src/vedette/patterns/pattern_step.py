"""The step function of patterns: (state, events) -> (state, outputs). It has no clock, no files and no host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.filters.subscription_records import CAP as CAP  # noqa: PLC0414 - hosts take it from here
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.forecast_parts import is_part
from vedette.patterns.graph import Graph
from vedette.patterns.kernels import runs
from vedette.patterns.kernels.run_moves import advance
from vedette.patterns.kernels.run_sweep import witnesses
from vedette.patterns.outputs import (
    Observations,
    PatternMatches,
    PatternOutputs,
    Witnesses,
    joined_matches,
    joined_observations,
)
from vedette.patterns.single_event_reader import SingleEvent
from vedette.patterns.values import Int64Pair


def step(
    graph: Graph, state: runs.RunState, batch: PatternBatch, *, cap: int = CAP, in_place: bool = False
) -> tuple[runs.RunState, PatternOutputs]:
    """Process a batch of events.

    The given state stays as it is, unless it is given up with `in_place`. The graph builds states that are new to it,
    which does not change any answer.
    """
    if not in_place:
        state = runs.RunState(*(array.copy() for array in state))
    arrays: tuple[NDArray[Any], ...] = (
        batch.number, batch.time, batch.start, batch.primitive, batch.key, batch.keyed, batch.value, batch.known
    )  # fmt: skip
    state, made, _ = _advanced(graph, state, runs.RunEvents(*map(_plain, arrays)), cap, _room(graph))
    return state, made


class SingleEventStepper:
    """Processes one event at a time, in arrays that are reused: making them would take longer than the step."""

    def __init__(self, graph: Graph, partitionings: int, columns: int) -> None:
        self._graph = graph
        self._outputs = _room(graph)
        self._events = runs.RunEvents(
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(2, np.int64),
            np.zeros(max(graph.primitives, 1), np.int32),
            np.zeros((partitionings, 1, 2), np.int64),
            np.zeros((partitionings, 1), np.bool_),
            np.zeros((columns, 1, 2), np.int64),
            np.zeros((columns, 1), np.bool_),
        )

    def step(
        self, state: runs.RunState, number: int, time: int, one: SingleEvent, cap: int
    ) -> tuple[runs.RunState, PatternOutputs]:
        """Same as `step` with a batch of that event, in place."""
        events, count = self._events, len(one.primitives)
        events.number[0], events.time[0], events.start[1] = number, time, count
        events.primitive[:count] = one.primitives
        _put(one.keys, events.key, events.keyed)
        _put(one.values, events.value, events.known)
        state, made, self._outputs = _advanced(self._graph, state, events, cap, self._outputs)
        return state, made


def _put(pairs: Sequence[Int64Pair | None], into: NDArray[np.int64], known: NDArray[np.bool_]) -> None:
    for place, pair in enumerate(pairs):
        known[place, 0] = pair is not None
        into[place, 0] = pair or (0, 0)


def _room(graph: Graph) -> runs.RunOutputs:
    return runs.RunOutputs(
        np.empty((64, runs.MATCH_WIDTH), np.int64),
        np.empty((64, max(2 * graph.variables, 1)), np.int64),
        np.empty((64, runs.OBSERVED_WIDTH), np.int64),
    )


def _advanced(
    graph: Graph, state: runs.RunState, events: runs.RunEvents, cap: int, outputs: runs.RunOutputs
) -> tuple[runs.RunState, PatternOutputs, runs.RunOutputs]:
    """The new state, the outputs, and the buffers for outputs, which may have grown."""
    matches: list[PatternMatches] = []
    observations: list[Observations] = []
    at, size = 0, len(events.number)
    while True:
        filled = np.array([0, 0, len(graph.uids)], np.int64)
        at, wanted, state, outputs = advance(graph.arrays(), state, events, at, cap, outputs, filled)
        if filled[0]:
            matches.append(_matches(graph, state, outputs, int(filled[0]), events))
        if filled[1]:
            observations.append(_observations(graph, state, outputs, int(filled[1]), events))
        for each in wanted.tolist():
            graph.expand(each)
        if at >= size and not len(wanted):
            break
    made = PatternOutputs(joined_matches(matches, graph.variables), joined_observations(observations))
    return state, made, outputs


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Contiguous and writable arrays: slices and mapped ones would each need machine code of their own."""
    return array if array.flags.carray else np.array(array, order="C")


def _matches(
    graph: Graph, state: runs.RunState, outputs: runs.RunOutputs, count: int, events: runs.RunEvents
) -> PatternMatches:
    rows, uids = outputs.matches[:count], graph.uids
    order = np.lexsort((rows[:, runs.M_PATTERN], rows[:, runs.M_EVENT]))
    order = order[~is_part(uids[rows[order, runs.M_PATTERN]])]  # the completion of a part is observed, and not reported
    values = outputs.variables[:count, : 2 * graph.variables].reshape(count, graph.variables, 2)
    return PatternMatches(
        events.number[rows[order, runs.M_EVENT]],
        uids[rows[order, runs.M_PATTERN]],
        witnesses_of(state, rows[order, runs.M_NODE]),
        values[order],
    )


def _observations(
    graph: Graph, state: runs.RunState, outputs: runs.RunOutputs, count: int, events: runs.RunEvents
) -> Observations:
    rows = outputs.observed[:count].copy()
    return Observations(
        event=events.number[rows[:, runs.O_EVENT]],
        pattern=graph.uids[rows[:, runs.O_PATTERN]],
        key=rows[:, runs.O_HIGH : runs.O_LOW + 1],
        state=rows[:, runs.O_STATE],
        hit=rows[:, runs.O_HIT] != 0,
        symbol=rows[:, runs.O_SYMBOL],
        depth=rows[:, runs.O_DEPTH],
        age=rows[:, runs.O_AGE],
        first=rows[:, runs.O_FIRST],
        time=events.time[rows[:, runs.O_EVENT]],
        span=rows[:, runs.O_SPAN],
        begun=rows[:, runs.O_BEGUN],
        witness=witnesses_of(state, rows[:, runs.O_NODE]),
    )


def witnesses_of(state: runs.RunState, heads: NDArray[np.int64]) -> Witnesses:
    """The events and positions of witnesses, by the last node of each."""
    start, position, taken = witnesses(state.nodes, np.ascontiguousarray(heads))
    return Witnesses(start, position.astype(np.int32), taken)
