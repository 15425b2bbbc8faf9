"""Rebuild the table of partial matches without what has ended, and read their witnesses."""

from __future__ import annotations

import numpy as np

from vedette.kernels.compile import kernel
from vedette.patterns.kernels.runs import (
    FREE,
    HAS_WAIT,
    LISTS,
    LIVE,
    MIX_A,
    MIX_B,
    MIX_C,
    N_EVENT,
    N_PARENT,
    N_POSITION,
    NODES,
    P_COUNT,
    P_FRESH,
    P_GROUP,
    P_HASH_NEXT,
    P_HIGH,
    P_LOW,
    P_RUNS,
    PART_WIDTH,
    PARTS,
    R_ALIVE,
    R_DEADLINE,
    R_FRESH_NEXT,
    R_HASH,
    R_HASH_NEXT,
    R_NODE,
    R_PART,
    R_PART_BACK,
    R_PART_NEXT,
    R_STATE,
    RUN_WIDTH,
    RUNS,
    SWEPT_NODES,
    SWEPT_RUNS,
    TODO,
    UNSET,
    WAITERS,
    GraphArrays,
    Ints,
    RunState,
)


@kernel
def rebuilt(graph: GraphArrays, state: RunState, now: int) -> RunState:
    """The same partial matches, without those that have expired and without unreferenced rows."""
    states = graph.states
    old, counters = state.runs, state.counters.copy()
    count = counters[RUNS]
    place = np.full(count, -1, np.int64)
    living = 0
    for r in range(count):
        if old[r, R_ALIVE] and old[r, R_DEADLINE] >= now:
            place[r] = living
            living += 1
    size = 64
    while size < 2 * living:
        size *= 2
    runs = np.zeros((size, RUN_WIDTH), np.int64)
    registers = np.full((size, state.registers.shape[1]), UNSET, np.int64)
    variables = np.zeros((size, state.variables.shape[1]), np.int64)
    for r in range(count):
        if place[r] >= 0:
            runs[place[r]] = old[r]
            registers[place[r]] = state.registers[r]
            variables[place[r]] = state.variables[r]
    # Partitions with runs, in their old order.
    used = np.full(counters[PARTS], -1, np.int64)
    for r in range(living):
        used[runs[r, R_PART]] = 0
    parts_count = 0
    for p in range(counters[PARTS]):
        if used[p] == 0:
            used[p] = parts_count
            parts_count += 1
    part_size = 16
    while part_size < 2 * parts_count:
        part_size *= 2
    parts = np.zeros((part_size, PART_WIDTH), np.int64)
    part_hash = np.full(part_size, -1, np.int64)
    for p in range(counters[PARTS]):
        if used[p] >= 0:
            n = used[p]
            parts[n] = state.parts[p]
            parts[n, P_RUNS] = -1
            parts[n, P_COUNT] = 0
            parts[n, P_FRESH] = -1
            h = (parts[n, P_GROUP] * MIX_C) ^ (parts[n, P_HIGH] * MIX_A) ^ (parts[n, P_LOW] * MIX_B)
            h = (h ^ (h >> 29)) & (part_size - 1)
            parts[n, P_HASH_NEXT] = part_hash[h]
            part_hash[h] = n
    # Fresh runs keep their place on the list; it does not matter in which order.
    for p in range(counters[PARTS]):
        if used[p] >= 0:
            r = state.parts[p, P_FRESH]
            while r >= 0:
                if place[r] >= 0:
                    runs[place[r], R_FRESH_NEXT] = parts[used[p], P_FRESH]
                    parts[used[p], P_FRESH] = place[r]
                r = old[r, R_FRESH_NEXT]
    # Witnesses: parents come before their children.
    kept = np.zeros(counters[NODES], np.int64)
    for r in range(living):
        n = runs[r, R_NODE]
        while n >= 0 and not kept[n]:
            kept[n] = 1
            n = state.nodes[n, N_PARENT]
    nodes_count = 0
    for n in range(counters[NODES]):
        if kept[n]:
            kept[n] = nodes_count
            nodes_count += 1
        else:
            kept[n] = -1
    nodes = np.zeros((max(64, 2 * nodes_count), 3), np.int64)
    for n in range(counters[NODES]):
        if kept[n] >= 0:
            parent = state.nodes[n, N_PARENT]
            nodes[kept[n], N_POSITION] = state.nodes[n, N_POSITION]
            nodes[kept[n], N_EVENT] = state.nodes[n, N_EVENT]
            nodes[kept[n], N_PARENT] = -1 if parent < 0 else kept[parent]
    run_hash = np.full(size, -1, np.int64)
    for r in range(living):
        runs[r, R_PART] = used[runs[r, R_PART]]
        runs[r, R_NODE] = kept[runs[r, R_NODE]]
        p = runs[r, R_PART]
        h = runs[r, R_STATE] * MIX_A ^ p * MIX_B
        for v in range(variables.shape[1]):
            h = (h ^ variables[r, v]) * MIX_C
        runs[r, R_HASH] = h ^ (h >> 31)
        h = runs[r, R_HASH] & (size - 1)
        runs[r, R_HASH_NEXT] = run_hash[h]
        run_hash[h] = r
        runs[r, R_PART_BACK] = -1
        runs[r, R_PART_NEXT] = parts[p, P_RUNS]
        if parts[p, P_RUNS] >= 0:
            runs[parts[p, P_RUNS], R_PART_BACK] = r
        parts[p, P_RUNS] = r
        parts[p, P_COUNT] += 1
    # All of them are registered again, before the next event.
    todo = np.zeros(max(16, living), np.int64)
    waiting = 0
    for r in range(living):
        if states[runs[r, R_STATE], HAS_WAIT]:
            todo[waiting] = r
            waiting += 1
    counters[RUNS] = counters[LIVE] = counters[SWEPT_RUNS] = living
    counters[PARTS] = parts_count
    counters[NODES] = counters[SWEPT_NODES] = nodes_count
    counters[WAITERS] = counters[LISTS] = 0
    counters[FREE] = -1
    counters[TODO] = waiting
    return RunState(
        runs,
        registers,
        variables,
        parts,
        nodes,
        np.zeros((64, 3), np.int64),
        np.zeros((16, 4), np.int64),
        run_hash,
        part_hash,
        np.full(16, -1, np.int64),
        todo,
        counters,
    )


@kernel
def witnesses(nodes: Ints, heads: Ints) -> tuple[Ints, Ints, Ints]:
    """Where each witness begins, and the positions and events of all of them, from the first step to the last."""
    start = np.zeros(heads.shape[0] + 1, np.int64)
    for h in range(heads.shape[0]):
        length, node = 0, heads[h]
        while node >= 0:
            length += 1
            node = nodes[node, N_PARENT]
        start[h + 1] = start[h] + length
    positions = np.empty(start[-1], np.int64)
    taken = np.empty(start[-1], np.int64)
    for h in range(heads.shape[0]):
        at, node = start[h + 1], heads[h]
        while node >= 0:
            at -= 1
            positions[at], taken[at] = nodes[node, N_POSITION], nodes[node, N_EVENT]
            node = nodes[node, N_PARENT]
    return start, positions, taken
