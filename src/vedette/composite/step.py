"""The step function: (state, events) -> (state, outputs). It knows no clock, no files and no host."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.graph import Graph
from vedette.composite.outputs import (
    Observations,
    Outputs,
    PatternMatches,
    Witnesses,
    joined_matches,
    joined_observations,
)
from vedette.composite.splitting import is_part
from vedette.kernels import runs
from vedette.kernels.run_moves import advance
from vedette.kernels.run_sweep import witnesses

CAP = 10_000  # partial matches of one partition


def step(
    graph: Graph, state: runs.State, batch: Batch, *, cap: int = CAP, in_place: bool = False
) -> tuple[runs.State, Outputs]:
    """Let a batch of events happen to the partial matches.

    The state that is handed in stays as it is, unless it is given up with `in_place`. The graph learns states that it
    has not met before, which changes nothing that it answers.
    """
    if not in_place:
        state = runs.State(*(array.copy() for array in state))
    arrays: tuple[NDArray[Any], ...] = (
        batch.number, batch.time, batch.start, batch.primitive, batch.key, batch.keyed, batch.value, batch.known
    )  # fmt: skip
    events = runs.Events(*map(_plain, arrays))
    outputs = runs.Outputs(
        np.empty((64, runs.MATCH_WIDTH), np.int64),
        np.empty((64, state.variables.shape[1]), np.int64),
        np.empty((64, runs.OBSERVED_WIDTH), np.int64),
    )
    matches: list[PatternMatches] = []
    observations: list[Observations] = []
    at = 0
    while True:
        filled = np.array([0, 0, len(graph.uids)], np.int64)
        at, wanted, state, outputs = advance(graph.arrays(), state, events, at, cap, outputs, filled)
        if filled[0]:
            matches.append(_matches(graph, state, outputs, int(filled[0]), batch))
        if filled[1]:
            observations.append(_observations(graph, state, outputs, int(filled[1]), batch))
        for each in wanted.tolist():
            graph.expand(each)
        if at >= batch.size and not len(wanted):
            break
    return state, Outputs(joined_matches(matches, graph.variables), joined_observations(observations))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Contiguous and writable: slices and what is mapped would each need machine code of their own."""
    return array if array.flags.carray else np.array(array, order="C")


def _matches(graph: Graph, state: runs.State, outputs: runs.Outputs, count: int, batch: Batch) -> PatternMatches:
    rows = outputs.matches[:count]
    uids = np.array(graph.uids, np.int64)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    order = order[~is_part(uids[rows[order, 1]])]  # that a part has completed is seen, and told to nobody
    values = outputs.variables[:count, : 2 * graph.variables].reshape(count, graph.variables, 2)
    return PatternMatches(
        batch.number[rows[order, 0]], uids[rows[order, 1]], _witnesses(state, rows[order, 2]), values[order]
    )


def _observations(graph: Graph, state: runs.State, outputs: runs.Outputs, count: int, batch: Batch) -> Observations:
    rows = outputs.observed[:count].copy()
    return Observations(
        event=batch.number[rows[:, 0]],
        pattern=np.array(graph.uids, np.int64)[rows[:, 1]],
        key=rows[:, 2:4],
        state=rows[:, 4],
        hit=rows[:, 5] != 0,
        symbol=rows[:, 6],
        depth=rows[:, 7],
        age=rows[:, 8],
        first=rows[:, 9],
        time=batch.time[rows[:, 0]],
        span=rows[:, 11],
        begun=rows[:, 12],
        witness=_witnesses(state, rows[:, 10]),
    )


def _witnesses(state: runs.State, heads: NDArray[np.int64]) -> Witnesses:
    start, position, taken = witnesses(state.nodes, np.ascontiguousarray(heads))
    return Witnesses(start, position.astype(np.int32), taken)
