"""Save partial matches, and move them from graph to graph: patterns change, the others keep their state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.graph import Graph, Item
from vedette.patterns.kernels import runs
from vedette.patterns.kernels.run_sweep import rebuilt
from vedette.patterns.machines import GroupKey
from vedette.patterns.packing import packed, unpacked
from vedette.patterns.shape import Marking
from vedette.patterns.shares import Share

_KIND: Final = "partial matches"
_KEPT: Final = (
    runs.R_STATE,
    runs.R_PART,
    runs.R_START,
    runs.R_DEADLINE,
    runs.R_NODE,
    runs.R_DEPTH,
    runs.R_FIRST,
    runs.R_BOUND,
)
_OF_RUNS: Final = ("runs", "fresh", "registers", "variables")


class GraphRenumbering(NamedTuple):
    """Numbers in one graph -> those in another, of patterns (with -1 -> -1) and of keys (with -1 -> -1)."""

    uids: Mapping[int, int]
    keys: Mapping[int, int]


def carried(
    state: runs.RunState,
    old: Graph,
    places: Sequence[GroupKey],
    new: Graph,
    into: Sequence[GroupKey],
    renamed: GraphRenumbering | None = None,
    share: Share | None = None,
) -> runs.RunState:
    """The partial matches of those patterns that are in both graphs; their numbers in the new one may differ.

    With a `share`, only those of its partitions.
    """
    arrays, facts = _written(state, old, places)
    if share is not None:
        kept = share.owns(arrays["parts"][:, 1:])[arrays["runs"][:, 1]]
        arrays |= {name: arrays[name][kept] for name in _OF_RUNS}
    if renamed is not None:
        facts["places"] = [[renamed.keys.get(keys, -2), renamed.uids.get(uid, -2)] for keys, uid in facts["places"]]
        facts["states"] = [[[renamed.uids.get(uid, -2), *rest] for uid, *rest in items] for items in facts["states"]]
    return _restored(new, into, arrays, facts)


def together(
    several: Sequence[tuple[runs.RunState, Graph, Sequence[GroupKey]]], graph: Graph, places: Sequence[GroupKey]
) -> runs.RunState:
    """Merge the partial matches of several graphs, whose patterns are numbered alike, in a graph of them all."""
    given = [_written(*each) for each in several]
    found: dict[str, list[NDArray[Any]]] = {}
    facts: dict[str, Any] = {"places": [], "states": [], "shed": 0}
    part, node = 0, 0
    for arrays, more in given:
        widths = {"registers": (graph.registers, runs.UNSET), "variables": (2 * graph.variables, 0)}
        for name, (width, fill) in widths.items():
            arrays[name] = _fitted(arrays[name], len(arrays[name]), max(width, 1), fill)
        arrays["runs"] += np.array([len(facts["states"]), part, 0, 0, node, 0, 0, 0])
        arrays["parts"][:, 0] += len(facts["places"])
        arrays["nodes"][arrays["nodes"][:, runs.N_PARENT] >= 0, runs.N_PARENT] += node
        part, node = part + len(arrays["parts"]), node + len(arrays["nodes"])
        for name, array in arrays.items():
            found.setdefault(name, []).append(array)
        facts = {name: before + more[name] for name, before in facts.items()}
    return _restored(graph, places, {name: np.concatenate(each) for name, each in found.items()}, facts)


def written(state: runs.RunState, graph: Graph, places: Sequence[GroupKey]) -> bytes:
    """The partial matches, as bytes."""
    arrays, facts = _written(state, graph, places)
    return packed(_KIND, arrays, facts)


def restored(data: bytes, graph: Graph, places: Sequence[GroupKey]) -> runs.RunState:
    """Restore what `written` wrote, for a graph of the same patterns, or of others; removed patterns are left out."""
    return _restored(graph, places, *unpacked(_KIND, data))


def partial_matches(data: bytes) -> int:
    """The number of partial matches in what `written` wrote."""
    return len(unpacked(_KIND, data)[0]["runs"])


def _written(
    state: runs.RunState, graph: Graph, places: Sequence[GroupKey]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    state = rebuilt(graph.arrays(), state, runs.UNSET)
    count, parts, nodes = (int(state.counters[each]) for each in (runs.RUNS, runs.PARTS, runs.NODES))
    used = np.unique(state.runs[:count, runs.R_STATE])
    fresh = np.zeros(count, np.bool_)
    for part in range(parts):
        at = state.parts[part, runs.P_FRESH]
        while at >= 0:
            fresh[at] = True
            at = state.runs[at, runs.R_FRESH_NEXT]
    kept = state.runs[:count][:, _KEPT].copy()
    kept[:, 0] = np.searchsorted(used, kept[:, 0])
    arrays = {
        "runs": kept,
        "fresh": fresh,
        "registers": state.registers[:count],
        "variables": state.variables[:count],
        "parts": state.parts[:parts, [runs.P_GROUP, runs.P_HIGH, runs.P_LOW]],
        "nodes": state.nodes[:nodes].copy(),
    }
    facts = {
        "places": [list(place) for place in places],
        "states": [sorted(([uid, marking] for uid, marking in graph.items[each]), key=repr) for each in used],
        "shed": int(state.counters[runs.SHED]),
    }
    return arrays, facts


def _restored(
    graph: Graph, places: Sequence[GroupKey], arrays: dict[str, NDArray[Any]], facts: dict[str, Any]
) -> runs.RunState:
    empty = runs.empty(graph.registers, graph.variables)
    groups = {tuple(place): number for number, place in enumerate(places)}
    group_of = np.array([groups.get(tuple(place), -1) for place in facts["places"]], np.int64)
    old = arrays["runs"]
    part_groups = group_of[arrays["parts"][:, 0]] if len(arrays["parts"]) else np.zeros(0, np.int64)
    numbers = np.full(len(facts["states"]), -1, np.int64)
    for number, items in enumerate(facts["states"]):
        living = frozenset((uid, _marking(marking)) for uid, marking in items if uid in graph.machines)
        if living:
            numbers[number] = graph.state(_group(graph, living), living)
            graph.expand(int(numbers[number]))
    keep = (numbers[old[:, 0]] >= 0) & (part_groups[old[:, 1]] >= 0) if len(old) else np.zeros(0, np.bool_)
    count = int(keep.sum())
    table = np.zeros((max(64, 2 * count), runs.RUN_WIDTH), np.int64)
    table[:count, list(_KEPT)] = old[keep]
    table[:count, runs.R_STATE] = numbers[old[keep, 0]]
    table[:count, runs.R_ALIVE] = 1
    parts = np.zeros((max(16, 2 * len(part_groups)), runs.PART_WIDTH), np.int64)
    parts[: len(part_groups), :3] = arrays["parts"]
    parts[: len(part_groups), runs.P_GROUP] = part_groups
    parts[:, runs.P_FRESH] = -1
    for run in np.flatnonzero(arrays["fresh"][keep]):
        table[run, runs.R_FRESH_NEXT] = parts[table[run, runs.R_PART], runs.P_FRESH]
        parts[table[run, runs.R_PART], runs.P_FRESH] = run
    counters = empty.counters.copy()
    counters[runs.RUNS], counters[runs.PARTS], counters[runs.NODES] = count, len(part_groups), len(arrays["nodes"])
    counters[runs.SHED] = facts["shed"]
    state = empty._replace(
        runs=table,
        registers=_fitted(arrays["registers"][keep], len(table), empty.registers.shape[1], runs.UNSET),
        variables=_fitted(arrays["variables"][keep], len(table), empty.variables.shape[1], 0),
        parts=parts,
        nodes=_fitted(arrays["nodes"], max(64, len(arrays["nodes"])), 3, 0),
        counters=counters,
    )
    return rebuilt(graph.arrays(), state, runs.UNSET)


def _fitted(rows: NDArray[np.int64], length: int, width: int, fill: int) -> NDArray[np.int64]:
    """The rows in a table of another size."""
    table = np.full((length, width), fill, np.int64)
    shared = min(width, rows.shape[1])
    table[: len(rows), :shared] = rows[:, :shared]
    return table


def _group(graph: Graph, items: frozenset[Item]) -> int:
    return graph.machines[next(iter(items))[0]].group


def _marking(plain: Any) -> Marking:
    """A marking for JSON: lists instead of tuples."""
    if plain is None:
        return None
    return tuple(_marking(each) if isinstance(each, list) else each for each in plain)
