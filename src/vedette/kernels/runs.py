"""Partial matches of patterns, moved on event by event.

A run is a partial match: the state it stands in, the times that conditions will ask for (registers), the values of
variables, and its witness. Runs of one partition that stand in the same state with the same values compete: one that
is no better than another in any time that still counts is dropped, so that where no time counts there is one run.

An event touches only the runs that wait for something it satisfies: the lists of waiters are kept by partition and
primitive. Runs that must go on with the very next event of their partition are on its list of fresh runs instead.

Everything that an event does to a partition happens in phases: find who may move, move them (into `pending`), end
those that may not stay, and only then let the moved ones in; so nobody moves twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

Ints = NDArray[np.int64]

# Columns of the graph's tables.
EXPANDED, NEXT_BEGIN, NEXT_END, WAIT_BEGIN, WAIT_END, KILL_BEGIN, KILL_END = range(7)
WINDOW, GROUP, HAS_NEXT, HAS_WAIT, LIVE_BEGIN, LIVE_END, EXPIRY_BEGIN, EXPIRY_END, DIGEST = range(7, 16)
STATE_WIDTH = 16
PRIMITIVE, POSITION, TEST_BEGIN, TEST_END, BLOCK_BEGIN, BLOCK_END, TARGET_BEGIN, TARGET_END = range(8)
EDGE_WIDTH = 8
STATE, SAVE_BEGIN, SAVE_END, CONDITION_BEGIN, CONDITION_END, ACCEPT_BEGIN, ACCEPT_END = range(7)
TARGET_WIDTH = 7
TEST_VARIABLE, TEST_OP, TEST_COLUMN, TEST_BINDS = range(4)
TEST_WIDTH = 4
BLOCK_PRIMITIVE, BLOCK_TEST_BEGIN, BLOCK_TEST_END = range(3)
BLOCK_WIDTH = 3
LEFT, RIGHT, OP, MICROSECONDS, ABSOLUTE, SCOPE = range(6)
CONDITION_WIDTH = 6
EQ, NE, LT, LE, GT, GE = range(6)

# Columns of the state's tables.
R_STATE, R_PART, R_START, R_DEADLINE, R_NODE, R_DEPTH, R_FIRST, R_BOUND = range(8)
R_ALIVE, R_BORN, R_HASH, R_HASH_NEXT, R_PART_NEXT, R_PART_BACK, R_FRESH_NEXT = range(8, 15)
RUN_WIDTH = 15
P_GROUP, P_HIGH, P_LOW, P_HASH_NEXT, P_RUNS, P_COUNT, P_FRESH = range(7)
PART_WIDTH = 7
N_POSITION, N_EVENT, N_PARENT = range(3)
W_RUN, W_WHAT, W_NEXT = range(3)  # what: an edge, or -1 - block for what ends the run
L_PART, L_PRIMITIVE, L_HEAD, L_HASH_NEXT = range(4)
# Counters.
RUNS, PARTS, NODES, WAITERS, LISTS, FREE, LIVE, SHED, SERIAL, TODO, SWEPT_RUNS, SWEPT_NODES = range(12)

UNSET = np.iinfo(np.int64).min
FOREVER = np.iinfo(np.int64).max
_PILE = 4096  # partial matches that may have ended before they are swept out
_A, _B, _C = np.int64(-7046029254386353131), np.int64(-4417276706812531889), np.int64(1609587929392839161)


class Graph(NamedTuple):
    """States and edges, by `vedette.composite.graph`."""

    states: Ints
    edges: Ints
    targets: Ints
    tests: Ints
    blocks: Ints
    saves: Ints
    conditions: Ints
    live: Ints
    expiries: Ints
    accepts: Ints
    root_start: Ints
    roots: Ints  # group, edge
    groups: Ints  # keys, observed pattern, symbols from, to
    symbols: Ints


class State(NamedTuple):
    """All partial matches. The hashes and lists can be made anew from the runs (`rebuilt`)."""

    runs: Ints
    registers: Ints
    variables: Ints
    parts: Ints
    nodes: Ints
    waiters: Ints
    lists: Ints
    run_hash: Ints
    part_hash: Ints
    list_hash: Ints
    todo: Ints  # runs that wait for their state to be expanded before they can be registered
    counters: Ints


class Events(NamedTuple):
    """A batch, in order."""

    number: Ints
    time: Ints
    start: Ints
    primitive: NDArray[np.int32]
    key: Ints
    keyed: NDArray[np.bool_]
    value: Ints
    known: NDArray[np.bool_]


class Outputs(NamedTuple):
    """Rows of matches with their variables, and of observations; events are by their place in the batch."""

    matches: Ints  # event, pattern, node, bound, another match of the same
    variables: Ints
    observed: Ints  # event, pattern, high, low, state, hit, symbol, depth, age, first, node


def empty(registers: int, variables: int) -> State:
    """No partial matches."""
    return State(
        np.zeros((64, RUN_WIDTH), np.int64),
        np.full((64, max(registers, 1)), UNSET, np.int64),
        np.zeros((64, max(2 * variables, 1)), np.int64),
        np.zeros((16, PART_WIDTH), np.int64),
        np.zeros((64, 3), np.int64),
        np.zeros((64, 3), np.int64),
        np.zeros((16, 4), np.int64),
        np.full(64, -1, np.int64),
        np.full(16, -1, np.int64),
        np.full(16, -1, np.int64),
        np.zeros(16, np.int64),
        np.array([0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0], np.int64),
    )


@kernel
def _more(table: Ints, rows: int) -> Ints:
    """The table with at least so many rows."""
    wider = np.empty((max(rows, 2 * table.shape[0]), table.shape[1]), np.int64)
    wider[: table.shape[0]] = table
    return wider


@kernel
def _longer(array: Ints, size: int) -> Ints:
    wider = np.empty(max(size, 2 * array.shape[0]), np.int64)
    wider[: array.shape[0]] = array
    return wider


@kernel
def _newer(nodes: Ints, one: int, other: int) -> bool:
    """Of two witnesses, the one with the later events, looked at from the last; so it never depends on chance."""
    while one >= 0 and other >= 0 and one != other:
        if nodes[one, N_EVENT] != nodes[other, N_EVENT]:
            return bool(nodes[one, N_EVENT] > nodes[other, N_EVENT])
        if nodes[one, N_POSITION] != nodes[other, N_POSITION]:
            return bool(nodes[one, N_POSITION] > nodes[other, N_POSITION])
        one, other = nodes[one, N_PARENT], nodes[other, N_PARENT]
    return False


@kernel
def _tested(
    graph_tests: Ints,
    begin: int,
    end: int,
    bound: int,
    values: Ints,
    value: Ints,
    known: NDArray[np.bool_],
    event: int,
) -> int:
    """The variables that are bound afterwards, as bits (and in `values`); -1 if some test does not hold."""
    for t in range(begin, end):
        column = graph_tests[t, TEST_COLUMN]
        if not known[column, event]:
            return -1
        high, low = value[column, event, 0], value[column, event, 1]
        variable = graph_tests[t, TEST_VARIABLE]
        if not (bound >> variable) & 1:
            if not graph_tests[t, TEST_BINDS]:
                return -1
            values[2 * variable], values[2 * variable + 1] = high, low
            bound |= 1 << variable
            continue
        sign = 0
        if high != values[2 * variable]:
            sign = 1 if high > values[2 * variable] else -1
        elif low != values[2 * variable + 1]:
            sign = 1 if low > values[2 * variable + 1] else -1
        op = graph_tests[t, TEST_OP]
        holds = (
            (op == EQ and sign == 0)
            or (op == NE and sign != 0)
            or (op == LT and sign < 0)
            or (op == LE and sign <= 0)
            or (op == GT and sign > 0)
            or (op == GE and sign >= 0)
        )
        if not holds:
            return -1
    return bound


@kernel
def _holds(conditions: Ints, begin: int, end: int, times: Ints) -> bool:
    """All time conditions hold, as far as their times are set."""
    for c in range(begin, end):
        left = times[conditions[c, LEFT]]
        if left == UNSET or (conditions[c, SCOPE] >= 0 and times[conditions[c, SCOPE]] == UNSET):
            continue
        if conditions[c, RIGHT] >= 0:
            right = times[conditions[c, RIGHT]]
            if right == UNSET:
                continue
            left = left - right
            if conditions[c, ABSOLUTE] and left < 0:
                left = -left
        limit, op = conditions[c, MICROSECONDS], conditions[c, OP]
        holds = (
            (op == EQ and left == limit)
            or (op == NE and left != limit)
            or (op == LT and left < limit)
            or (op == LE and left <= limit)
            or (op == GT and left > limit)
            or (op == GE and left >= limit)
        )
        if not holds:
            return False
    return True


@kernel
def rebuilt(graph: Graph, state: State, now: int) -> State:
    """The same partial matches, without those that have expired and whatever nobody refers to."""
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
    # Partitions that somebody is in, in their old order.
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
            h = (parts[n, P_GROUP] * _C) ^ (parts[n, P_HIGH] * _A) ^ (parts[n, P_LOW] * _B)
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
        h = runs[r, R_STATE] * _A ^ p * _B
        for v in range(variables.shape[1]):
            h = (h ^ variables[r, v]) * _C
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
    # All of them are registered anew, before the next event.
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
    return State(
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
def advance(
    graph: Graph, state: State, events: Events, begin: int, cap: int, outputs: Outputs, filled: Ints
) -> tuple[int, Ints, State, Outputs]:
    """Let the events from `begin` on happen, until there are no more or something has to be done first.

    Returns the event to go on with, the states that have to be expanded before, the state, and the outputs (`filled`:
    how many matches and observations there are; as input also the number of patterns).
    """
    states, edges, targets, tests = graph.states, graph.edges, graph.targets, graph.tests
    blocks, saves, conditions, live = graph.blocks, graph.saves, graph.conditions, graph.live
    expiries, accepts, root_start, roots = graph.expiries, graph.accepts, graph.root_start, graph.roots
    groups, symbols = graph.groups, graph.symbols
    runs, registers, variables, parts, nodes = state.runs, state.registers, state.variables, state.parts, state.nodes
    waiters, lists = state.waiters, state.lists
    run_hash, part_hash, list_hash = state.run_hash, state.part_hash, state.list_hash
    todo, counters = state.todo, state.counters
    number, time, start, primitive = events.number, events.time, events.start, events.primitive
    key, keyed, value, known = events.key, events.keyed, events.value, events.known
    matches, match_variables, observed = outputs.matches, outputs.variables, outputs.observed
    matched, seen, wanted_count = filled[0], filled[1], 0

    slots, width = registers.shape[1], variables.shape[1]
    stamp = np.full(root_start.shape[0], -1, np.int64)
    state_stamp = np.full(states.shape[0], -1, np.int64)
    asked_for = np.zeros(states.shape[0], np.bool_)
    last_match = np.full(filled[2], -1, np.int64)  # of each pattern: the row of its last match
    candidates = np.empty((64, 2), np.int64)
    ended = np.empty(64, np.int64)
    pending = np.empty((64, 6), np.int64)  # state, start, node, depth, first, bound
    pending_registers = np.empty((64, slots), np.int64)
    pending_variables = np.empty((64, width), np.int64)
    scratch = np.empty(slots, np.int64)
    values = np.zeros(width, np.int64)
    wanted = np.empty(64, np.int64)

    i = begin
    while True:
        # ---- register the runs that wait from now on
        for t in range(counters[TODO]):
            r = todo[t]
            if not runs[r, R_ALIVE]:
                continue
            s, p = runs[r, R_STATE], runs[r, R_PART]
            first_wait, last_wait = states[s, WAIT_BEGIN], states[s, WAIT_END]
            first_kill, last_kill = states[s, KILL_BEGIN], states[s, KILL_END]
            for w in range((last_wait - first_wait) + (last_kill - first_kill)):
                if w < last_wait - first_wait:
                    what = first_wait + w
                    x = edges[what, PRIMITIVE]
                else:
                    b = first_kill + w - (last_wait - first_wait)
                    what = -1 - b
                    x = blocks[b, BLOCK_PRIMITIVE]
                h = p * _A ^ x * _B
                h = (h ^ (h >> 29)) & (list_hash.shape[0] - 1)
                found = list_hash[h]
                while found >= 0 and (lists[found, L_PART] != p or lists[found, L_PRIMITIVE] != x):
                    found = lists[found, L_HASH_NEXT]
                if found < 0:
                    found = counters[LISTS]
                    counters[LISTS] += 1
                    if found >= lists.shape[0]:
                        lists = _more(lists, found + 1)
                        list_hash = np.full(2 * list_hash.shape[0], -1, np.int64)
                        for each in range(found):
                            h = lists[each, L_PART] * _A ^ lists[each, L_PRIMITIVE] * _B
                            h = (h ^ (h >> 29)) & (list_hash.shape[0] - 1)
                            lists[each, L_HASH_NEXT] = list_hash[h]
                            list_hash[h] = each
                        h = p * _A ^ x * _B
                        h = (h ^ (h >> 29)) & (list_hash.shape[0] - 1)
                    lists[found, L_PART] = p
                    lists[found, L_PRIMITIVE] = x
                    lists[found, L_HEAD] = -1
                    lists[found, L_HASH_NEXT] = list_hash[h]
                    list_hash[h] = found
                waiter = counters[WAITERS]
                counters[WAITERS] += 1
                if waiter >= waiters.shape[0]:
                    waiters = _more(waiters, waiter + 1)
                waiters[waiter, W_RUN] = r
                waiters[waiter, W_WHAT] = what
                waiters[waiter, W_NEXT] = lists[found, L_HEAD]
                lists[found, L_HEAD] = waiter
        counters[TODO] = 0
        if i >= number.shape[0]:
            break
        # ---- sweep out what has piled up, unless matches point to witnesses: whoever called takes them down first
        if (
            counters[RUNS] > _PILE + 2 * counters[SWEPT_RUNS]
            or counters[NODES] > 16 * _PILE + 4 * counters[SWEPT_NODES]
        ):
            if matched + seen > 0:
                break
            swept = rebuilt(
                graph,
                State(runs, registers, variables, parts, nodes, waiters, lists, run_hash, part_hash, list_hash, todo,
                      counters),
                time[i],
            )  # fmt: skip
            runs, registers, variables, parts, nodes = (
                swept.runs, swept.registers, swept.variables, swept.parts, swept.nodes,
            )  # fmt: skip
            waiters, lists, run_hash, part_hash = swept.waiters, swept.lists, swept.run_hash, swept.part_hash
            list_hash, todo, counters = swept.list_hash, swept.todo, swept.counters
            continue

        now = time[i]
        counters[SERIAL] += 1
        serial = counters[SERIAL]
        for j in range(start[i], start[i + 1]):
            stamp[primitive[j]] = serial
        for g in range(groups.shape[0]):
            keys = groups[g, 0]
            high = low = np.int64(0)
            if keys >= 0:
                if not keyed[keys, i]:
                    continue
                high, low = key[keys, i, 0], key[keys, i, 1]
            h = (g * _C) ^ (high * _A) ^ (low * _B)
            part_home = h ^ (h >> 29)
            part = part_hash[part_home & (part_hash.shape[0] - 1)]
            while part >= 0 and (parts[part, P_LOW] != low or parts[part, P_HIGH] != high or parts[part, P_GROUP] != g):
                part = parts[part, P_HASH_NEXT]
            # ---- who may move, and who must end
            candidate_count = ended_count = pending_count = 0
            old_fresh = np.int64(-1)
            if part >= 0:
                old_fresh = parts[part, P_FRESH]
                parts[part, P_FRESH] = -1
                r = old_fresh
                while r >= 0:
                    if runs[r, R_ALIVE]:
                        s = runs[r, R_STATE]
                        if runs[r, R_DEADLINE] >= now:
                            for e in range(states[s, NEXT_BEGIN], states[s, NEXT_END]):
                                if stamp[edges[e, PRIMITIVE]] == serial:
                                    if candidate_count >= candidates.shape[0]:
                                        candidates = _more(candidates, candidate_count + 1)
                                    candidates[candidate_count, 0] = r
                                    candidates[candidate_count, 1] = e
                                    candidate_count += 1
                        if not states[s, HAS_WAIT] or runs[r, R_DEADLINE] < now:
                            if ended_count >= ended.shape[0]:
                                ended = _longer(ended, ended_count + 1)
                            ended[ended_count] = r
                            ended_count += 1
                    r = runs[r, R_FRESH_NEXT]
            for j in range(start[i], start[i + 1]):
                x = primitive[j]
                from_root, to_root = root_start[x], root_start[x + 1]
                while from_root < to_root:  # the first of this group
                    middle = (from_root + to_root) // 2
                    if roots[middle, 0] < g:
                        from_root = middle + 1
                    else:
                        to_root = middle
                while from_root < root_start[x + 1] and roots[from_root, 0] == g:
                    if candidate_count >= candidates.shape[0]:
                        candidates = _more(candidates, candidate_count + 1)
                    candidates[candidate_count, 0] = -1
                    candidates[candidate_count, 1] = roots[from_root, 1]
                    candidate_count += 1
                    from_root += 1
                if part < 0 or parts[part, P_COUNT] == 0:
                    continue
                h = part * _A ^ x * _B
                found = list_hash[(h ^ (h >> 29)) & (list_hash.shape[0] - 1)]
                while found >= 0 and (lists[found, L_PART] != part or lists[found, L_PRIMITIVE] != x):
                    found = lists[found, L_HASH_NEXT]
                if found < 0:
                    continue
                before = np.int64(-1)
                w = lists[found, L_HEAD]
                while w >= 0:
                    r, what, after = waiters[w, W_RUN], waiters[w, W_WHAT], waiters[w, W_NEXT]
                    gone = not runs[r, R_ALIVE]
                    if not gone and runs[r, R_DEADLINE] < now:
                        gone = True
                        if ended_count >= ended.shape[0]:
                            ended = _longer(ended, ended_count + 1)
                        ended[ended_count] = r
                        ended_count += 1
                    if gone:
                        if before < 0:
                            lists[found, L_HEAD] = after
                        else:
                            waiters[before, W_NEXT] = after
                        w = after
                        continue
                    if what >= 0:
                        if candidate_count >= candidates.shape[0]:
                            candidates = _more(candidates, candidate_count + 1)
                        candidates[candidate_count, 0] = r
                        candidates[candidate_count, 1] = what
                        candidate_count += 1
                    else:
                        b = -1 - what
                        holds = True
                        if blocks[b, BLOCK_TEST_BEGIN] < blocks[b, BLOCK_TEST_END]:
                            values[:] = variables[r]
                            holds = (
                                _tested(tests, blocks[b, BLOCK_TEST_BEGIN], blocks[b, BLOCK_TEST_END],
                                        runs[r, R_BOUND], values, value, known, i) >= 0
                            )  # fmt: skip
                        if holds:
                            if ended_count >= ended.shape[0]:
                                ended = _longer(ended, ended_count + 1)
                            ended[ended_count] = r
                            ended_count += 1
                    before = w
                    w = after
            # ---- move them
            for c in range(candidate_count):
                r, e = candidates[c, 0], candidates[c, 1]
                bound = np.int64(0)
                if width > 1:
                    if r >= 0:
                        bound = runs[r, R_BOUND]
                    for v in range(width):
                        values[v] = variables[r, v] if r >= 0 else 0
                    if edges[e, TEST_BEGIN] < edges[e, TEST_END]:
                        bound = _tested(tests, edges[e, TEST_BEGIN], edges[e, TEST_END], bound, values, value, known, i)
                        if bound < 0:
                            continue
                if edges[e, BLOCK_BEGIN] < edges[e, BLOCK_END]:
                    blocked = False
                    for b in range(edges[e, BLOCK_BEGIN], edges[e, BLOCK_END]):
                        if stamp[blocks[b, BLOCK_PRIMITIVE]] != serial:
                            continue
                        if blocks[b, BLOCK_TEST_BEGIN] < blocks[b, BLOCK_TEST_END]:
                            asked = variables[r].copy()
                            if (
                                _tested(tests, blocks[b, BLOCK_TEST_BEGIN], blocks[b, BLOCK_TEST_END],
                                        runs[r, R_BOUND], asked, value, known, i) < 0
                            ):  # fmt: skip
                                continue
                        blocked = True
                        break
                    if blocked:
                        continue
                node = np.int64(-1)
                for t in range(edges[e, TARGET_BEGIN], edges[e, TARGET_END]):
                    if slots > 0 and (
                        targets[t, SAVE_BEGIN] < targets[t, SAVE_END]
                        or targets[t, CONDITION_BEGIN] < targets[t, CONDITION_END]
                        or r >= 0
                    ):
                        for each in range(slots):
                            scratch[each] = registers[r, each] if r >= 0 else UNSET
                        for each in range(targets[t, SAVE_BEGIN], targets[t, SAVE_END]):
                            scratch[saves[each, 0]] = now
                        if targets[t, CONDITION_BEGIN] < targets[t, CONDITION_END] and not _holds(
                            conditions, targets[t, CONDITION_BEGIN], targets[t, CONDITION_END], scratch
                        ):
                            continue
                    else:
                        for each in range(slots):
                            scratch[each] = UNSET
                    if node < 0:
                        node = counters[NODES]
                        counters[NODES] += 1
                        if node >= nodes.shape[0]:
                            nodes = _more(nodes, node + 1)
                        nodes[node, N_POSITION] = edges[e, POSITION]
                        nodes[node, N_EVENT] = number[i]
                        nodes[node, N_PARENT] = runs[r, R_NODE] if r >= 0 else -1
                    s = targets[t, STATE]
                    if s >= 0:
                        if pending_count >= pending.shape[0]:
                            pending = _more(pending, pending_count + 1)
                            pending_registers = _more(pending_registers, pending_count + 1)
                            pending_variables = _more(pending_variables, pending_count + 1)
                        pending[pending_count, 0] = s
                        pending[pending_count, 1] = runs[r, R_START] if r >= 0 else now
                        pending[pending_count, 2] = node
                        pending[pending_count, 3] = runs[r, R_DEPTH] + 1 if r >= 0 else 1
                        pending[pending_count, 4] = runs[r, R_FIRST] if r >= 0 else number[i]
                        pending[pending_count, 5] = bound
                        for each in range(slots):
                            pending_registers[pending_count, each] = UNSET
                        for each in range(states[s, LIVE_BEGIN], states[s, LIVE_END]):
                            pending_registers[pending_count, live[each, 0]] = scratch[live[each, 0]]
                        for v in range(width):
                            pending_variables[pending_count, v] = values[v]
                        pending_count += 1
                    # ---- matches: one for each binding
                    for a in range(targets[t, ACCEPT_BEGIN], targets[t, ACCEPT_END]):
                        pattern = accepts[a, 0]
                        row = last_match[pattern]
                        if row >= 0 and matches[row, 0] != i:
                            row = -1
                        while row >= 0:
                            if matches[row, 3] == bound:
                                same = True
                                if bound:
                                    for v in range(width):
                                        if match_variables[row, v] != values[v]:
                                            same = False
                                if same:
                                    break
                            row = matches[row, 4]
                        if row >= 0:
                            if _newer(nodes, node, matches[row, 2]):
                                matches[row, 2] = node
                            continue
                        if matched >= matches.shape[0]:
                            matches = _more(matches, matched + 1)
                            match_variables = _more(match_variables, matched + 1)
                        matches[matched, 0] = i
                        matches[matched, 1] = pattern
                        matches[matched, 2] = node
                        matches[matched, 3] = bound
                        row = last_match[pattern]
                        matches[matched, 4] = row if row >= 0 and matches[row, 0] == i else -1
                        for v in range(width):
                            match_variables[matched, v] = values[v]
                        last_match[pattern] = matched
                        matched += 1
            # ---- let the moved ones in
            if pending_count and part < 0:
                part = counters[PARTS]
                counters[PARTS] += 1
                if part >= parts.shape[0]:
                    parts = _more(parts, part + 1)
                    part_hash = np.full(2 * part_hash.shape[0], -1, np.int64)
                    for each in range(part):
                        h = (parts[each, P_GROUP] * _C) ^ (parts[each, P_HIGH] * _A) ^ (parts[each, P_LOW] * _B)
                        h = (h ^ (h >> 29)) & (part_hash.shape[0] - 1)
                        parts[each, P_HASH_NEXT] = part_hash[h]
                        part_hash[h] = each
                parts[part, P_GROUP] = g
                parts[part, P_HIGH] = high
                parts[part, P_LOW] = low
                h = part_home & (part_hash.shape[0] - 1)
                parts[part, P_HASH_NEXT] = part_hash[h]
                part_hash[h] = part
                parts[part, P_RUNS] = -1
                parts[part, P_COUNT] = 0
                parts[part, P_FRESH] = -1
            for phase in range(2):
                if phase == 1:
                    for q in range(pending_count):
                        s = pending[q, 0]
                        h = s * _A ^ part * _B
                        for v in range(width):
                            h = (h ^ pending_variables[q, v]) * _C
                        home = h ^ (h >> 31)
                        deadline = FOREVER
                        if states[s, WINDOW] >= 0:
                            deadline = pending[q, 1] + states[s, WINDOW]
                        for each in range(states[s, EXPIRY_BEGIN], states[s, EXPIRY_END]):
                            since = pending_registers[q, expiries[each, 0]]
                            if since != UNSET and since + expiries[each, 1] < deadline:
                                deadline = since + expiries[each, 1]
                        if deadline < now:
                            continue
                        windowed = states[s, WINDOW] >= 0
                        into = np.int64(-1)  # the run that it takes the place of
                        dropped = False
                        r = run_hash[home & (run_hash.shape[0] - 1)]
                        while r >= 0:
                            if (
                                runs[r, R_ALIVE]
                                and runs[r, R_STATE] == s
                                and runs[r, R_PART] == part
                                and runs[r, R_BOUND] == pending[q, 5]
                            ):
                                rival = True
                                for v in range(width):
                                    if variables[r, v] != pending_variables[q, v]:
                                        rival = False
                                        break
                                if rival:
                                    old_better = new_better = False
                                    if windowed:
                                        old_better = runs[r, R_START] > pending[q, 1]
                                        new_better = runs[r, R_START] < pending[q, 1]
                                    for each in range(states[s, LIVE_BEGIN], states[s, LIVE_END]):
                                        mine = pending_registers[q, live[each, 0]]
                                        other = registers[r, live[each, 0]]
                                        if mine == other:
                                            continue
                                        sign = live[each, 1]
                                        if sign == 0 or mine == UNSET or other == UNSET:  # noqa: PLR1714 - Numba is quicker with this
                                            old_better = new_better = True
                                        elif (mine > other) == (sign > 0):
                                            new_better = True
                                        else:
                                            old_better = True
                                    same_age = runs[r, R_BORN] == serial
                                    if not old_better and not new_better:
                                        if same_age:
                                            dropped = not _newer(nodes, pending[q, 2], runs[r, R_NODE])
                                        else:
                                            dropped = not states[s, HAS_NEXT]
                                        if dropped:
                                            break
                                        new_better = True
                                    elif old_better and not new_better and (same_age or not states[s, HAS_NEXT]):
                                        dropped = True
                                        break
                                    if new_better and not old_better:
                                        if into < 0:
                                            into = r
                                        else:  # it makes several useless
                                            if ended_count >= ended.shape[0]:
                                                ended = _longer(ended, ended_count + 1)
                                            ended[ended_count] = r
                                            ended_count += 1
                            r = runs[r, R_HASH_NEXT]
                        if dropped:
                            continue
                        r = into
                        replaces = r >= 0
                        if not replaces:
                            if counters[FREE] >= 0:
                                r = counters[FREE]
                                counters[FREE] = runs[r, R_HASH_NEXT]
                            else:
                                r = counters[RUNS]
                                counters[RUNS] += 1
                                if r >= runs.shape[0]:
                                    runs = _more(runs, r + 1)
                                    registers = _more(registers, r + 1)
                                    variables = _more(variables, r + 1)
                                    run_hash = np.full(2 * run_hash.shape[0], -1, np.int64)
                                    for each in range(r):
                                        if runs[each, R_ALIVE]:
                                            h = runs[each, R_HASH] & (run_hash.shape[0] - 1)
                                            runs[each, R_HASH_NEXT] = run_hash[h]
                                            run_hash[h] = each
                            runs[r, R_STATE] = s
                            runs[r, R_PART] = part
                            runs[r, R_BOUND] = pending[q, 5]
                            runs[r, R_ALIVE] = 1
                            runs[r, R_BORN] = -1
                            runs[r, R_HASH] = home
                            h = home & (run_hash.shape[0] - 1)
                            runs[r, R_HASH_NEXT] = run_hash[h]
                            run_hash[h] = r
                            runs[r, R_PART_BACK] = -1
                            runs[r, R_PART_NEXT] = parts[part, P_RUNS]
                            if parts[part, P_RUNS] >= 0:
                                runs[parts[part, P_RUNS], R_PART_BACK] = r
                            parts[part, P_RUNS] = r
                            parts[part, P_COUNT] += 1
                            counters[LIVE] += 1
                            for v in range(width):
                                variables[r, v] = pending_variables[q, v]
                            if states[s, HAS_WAIT]:
                                if counters[TODO] >= todo.shape[0]:
                                    todo = _longer(todo, counters[TODO] + 1)
                                todo[counters[TODO]] = r
                                counters[TODO] += 1
                        if states[s, HAS_NEXT] and runs[r, R_BORN] != serial:
                            runs[r, R_FRESH_NEXT] = parts[part, P_FRESH]
                            parts[part, P_FRESH] = r
                        runs[r, R_BORN] = serial
                        runs[r, R_START] = pending[q, 1]
                        runs[r, R_DEADLINE] = deadline
                        runs[r, R_NODE] = pending[q, 2]
                        runs[r, R_DEPTH] = pending[q, 3]
                        runs[r, R_FIRST] = pending[q, 4]
                        for each in range(slots):
                            registers[r, each] = pending_registers[q, each]
                        if not states[s, EXPANDED] and not asked_for[s]:
                            asked_for[s] = True
                            if wanted_count >= wanted.shape[0]:
                                wanted = _longer(wanted, wanted_count + 1)
                            wanted[wanted_count] = s
                            wanted_count += 1
                # ---- too many: the least promising go first: those that have come least far, of these the oldest
                if phase == 1 and part >= 0 and parts[part, P_COUNT] > cap + ended_count:
                    crowd = np.empty(parts[part, P_COUNT], np.int64)
                    promise = np.empty(parts[part, P_COUNT], np.float64)
                    n = 0
                    r = parts[part, P_RUNS]
                    while r >= 0:
                        crowd[n] = r
                        promise[n] = -1.0
                        if runs[r, R_DEADLINE] >= now:
                            promise[n] = runs[r, R_DEPTH] + (runs[r, R_FIRST] + 1.0) / (number[i] + 2.0) / 2
                        n += 1
                        r = runs[r, R_PART_NEXT]
                    order = np.argsort(promise)
                    for each in range(n - cap + cap // 10):
                        if ended_count >= ended.shape[0]:
                            ended = _longer(ended, ended_count + 1)
                        ended[ended_count] = crowd[order[each]]
                        ended_count += 1
                        counters[SHED] += 1
                # ---- end those that may not stay: first of the old ones, then of all
                for each in range(ended_count):
                    r = ended[each]
                    if not runs[r, R_ALIVE]:
                        continue
                    runs[r, R_ALIVE] = 0
                    h = runs[r, R_HASH] & (run_hash.shape[0] - 1)
                    other = run_hash[h]
                    if other == r:
                        run_hash[h] = runs[r, R_HASH_NEXT]
                    else:
                        while runs[other, R_HASH_NEXT] != r:
                            other = runs[other, R_HASH_NEXT]
                        runs[other, R_HASH_NEXT] = runs[r, R_HASH_NEXT]
                    back, ahead = runs[r, R_PART_BACK], runs[r, R_PART_NEXT]
                    if back >= 0:
                        runs[back, R_PART_NEXT] = ahead
                    else:
                        parts[part, P_RUNS] = ahead
                    if ahead >= 0:
                        runs[ahead, R_PART_BACK] = back
                    parts[part, P_COUNT] -= 1
                    counters[LIVE] -= 1
                    if not states[runs[r, R_STATE], HAS_WAIT]:  # nobody else knows of it
                        runs[r, R_HASH_NEXT] = counters[FREE]
                        counters[FREE] = r
                ended_count = 0
            # ---- what is seen of the one pattern that is observed
            if groups[g, 1] >= 0:
                signature = np.int64(0)
                best = np.int64(-1)
                r = parts[part, P_RUNS] if part >= 0 else np.int64(-1)
                while r >= 0:
                    if runs[r, R_DEADLINE] >= now:
                        s = runs[r, R_STATE]
                        if state_stamp[s] != serial:
                            state_stamp[s] = serial
                            signature ^= states[s, DIGEST]
                        if (
                            best < 0
                            or runs[r, R_DEPTH] > runs[best, R_DEPTH]
                            or (
                                runs[r, R_DEPTH] == runs[best, R_DEPTH]
                                and _newer(nodes, runs[r, R_NODE], runs[best, R_NODE])
                            )
                        ):
                            best = r
                    r = runs[r, R_PART_NEXT]
                symbol = np.int64(0)
                for each in range(groups[g, 2], groups[g, 3]):
                    if stamp[symbols[each, 0]] == serial:
                        symbol |= np.int64(1) << (each - groups[g, 2])
                if seen >= observed.shape[0]:
                    observed = _more(observed, seen + 1)
                row = last_match[groups[g, 1]]
                observed[seen, 0] = i
                observed[seen, 1] = groups[g, 1]
                observed[seen, 2] = high
                observed[seen, 3] = low
                observed[seen, 4] = signature
                observed[seen, 5] = row >= 0 and matches[row, 0] == i
                observed[seen, 6] = symbol
                observed[seen, 7] = runs[best, R_DEPTH] if best >= 0 else 0
                observed[seen, 8] = now - runs[best, R_START] if best >= 0 else -1
                observed[seen, 9] = runs[best, R_FIRST] if best >= 0 else -1
                observed[seen, 10] = runs[best, R_NODE] if best >= 0 else -1
                seen += 1
        i += 1
        if wanted_count:
            break
    filled[0], filled[1] = matched, seen
    return (
        i,
        wanted[:wanted_count].copy(),
        State(runs, registers, variables, parts, nodes, waiters, lists, run_hash, part_hash, list_hash, todo, counters),
        Outputs(matches, match_variables, observed),
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
