"""Move partial matches of patterns on, event by event.

A run is a partial match: its state, the times that conditions will need (registers), the values of
variables, and its witness. Runs of one partition in the same state with the same values compete: one that
is no better than another in any time that still counts is dropped, so that where no time counts there is one run.

An event touches only the runs that wait for something it satisfies: the lists of waiters are kept by partition and
primitive. Runs that must continue with the very next event of their partition are on its list of fresh runs instead.

An event is processed in phases within each partition: find the runs that may move, move them (into `pending`), end
those that may not stay, and only then add the moved ones; so no run moves twice.
"""

from __future__ import annotations

import numpy as np

from vedette.kernels.compile import kernel
from vedette.patterns.kernels.run_sweep import rebuilt
from vedette.patterns.kernels.run_tests import holds_all, newer, tested
from vedette.patterns.kernels.runs import (
    ACCEPT_BEGIN,
    ACCEPT_END,
    ALIVE,
    BLOCK_BEGIN,
    BLOCK_END,
    BLOCK_PRIMITIVE,
    BLOCK_TEST_BEGIN,
    BLOCK_TEST_END,
    C_EDGE,
    C_RUN,
    CONDITION_BEGIN,
    CONDITION_END,
    DIGEST,
    ENDING,
    EXPANDED,
    EXPIRY_AFTER,
    EXPIRY_BEGIN,
    EXPIRY_END,
    EXPIRY_REGISTER,
    FOREVER,
    FREE,
    GROUP_KEYS,
    GROUP_OBSERVED,
    GROUP_SYMBOL_BEGIN,
    GROUP_SYMBOL_END,
    HAS_NEXT,
    HAS_WAIT,
    KILL_BEGIN,
    KILL_END,
    L_HASH_NEXT,
    L_HEAD,
    L_PART,
    L_PRIMITIVE,
    LISTS,
    LIVE,
    LIVE_BEGIN,
    LIVE_END,
    LIVE_REGISTER,
    LIVE_SIGN,
    M_BOUND,
    M_EVENT,
    M_FIRST,
    M_NODE,
    M_PATTERN,
    M_SAME,
    M_START,
    MIX_A,
    MIX_B,
    MIX_C,
    N_EVENT,
    N_PARENT,
    N_POSITION,
    NEXT_BEGIN,
    NEXT_END,
    NODES,
    O_AGE,
    O_BEGUN,
    O_DEPTH,
    O_EVENT,
    O_FIRST,
    O_HIGH,
    O_HIT,
    O_LOW,
    O_NODE,
    O_PATTERN,
    O_SPAN,
    O_STATE,
    O_SYMBOL,
    P_COUNT,
    P_FRESH,
    P_GROUP,
    P_HASH_NEXT,
    P_HIGH,
    P_LOW,
    P_RUNS,
    PARTS,
    PENDING_WIDTH,
    POSITION,
    PRIMITIVE,
    Q_BOUND,
    Q_DEPTH,
    Q_FIRST,
    Q_NODE,
    Q_START,
    Q_STATE,
    R_ALIVE,
    R_BORN,
    R_BOUND,
    R_DEADLINE,
    R_DEPTH,
    R_FIRST,
    R_FRESH_NEXT,
    R_HASH,
    R_HASH_NEXT,
    R_NODE,
    R_PART,
    R_PART_BACK,
    R_PART_NEXT,
    R_START,
    R_STATE,
    ROOT_EDGE,
    ROOT_GROUP,
    RUNS,
    SAVE_BEGIN,
    SAVE_END,
    SERIAL,
    SHED,
    STATE,
    SWEPT_NODES,
    SWEPT_RUNS,
    TARGET_BEGIN,
    TARGET_END,
    TEST_BEGIN,
    TEST_END,
    TODO,
    UNSET,
    W_NEXT,
    W_RUN,
    W_WHAT,
    WAIT_BEGIN,
    WAIT_END,
    WAITERS,
    WINDOW,
    Floats,
    GraphArrays,
    Ints,
    RunEvents,
    RunOutputs,
    RunState,
)

_STEP = 1e-7  # what a step is worth where probabilities are known: it decides between equals
_PILE = 4096  # partial matches that may have ended before they are swept out


@kernel
def _more(table: Ints, rows: int) -> Ints:
    """The table with room for at least so many rows."""
    wider = np.empty((max(rows, 2 * table.shape[0]), table.shape[1]), np.int64)
    wider[: table.shape[0]] = table
    return wider


@kernel
def _longer(array: Ints, size: int) -> Ints:
    wider = np.empty(max(size, 2 * array.shape[0]), np.int64)
    wider[: array.shape[0]] = array
    return wider


@kernel
def _registered(
    states: Ints,
    edges: Ints,
    blocks: Ints,
    runs: Ints,
    waiters: Ints,
    lists: Ints,
    list_hash: Ints,
    todo: Ints,
    counters: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Put runs on the lists of all that they wait for, or that would end them; the tables may have grown."""
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
            h = p * MIX_A ^ x * MIX_B
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
                        h = lists[each, L_PART] * MIX_A ^ lists[each, L_PRIMITIVE] * MIX_B
                        h = (h ^ (h >> 29)) & (list_hash.shape[0] - 1)
                        lists[each, L_HASH_NEXT] = list_hash[h]
                        list_hash[h] = each
                    h = p * MIX_A ^ x * MIX_B
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
    return waiters, lists, list_hash


@kernel
def _standing(
    states: Ints, runs: Ints, nodes: Ints, state_stamp: Ints, serial: int, first: int, now: int
) -> tuple[int, int]:
    """A hash of the set of states in which a partition has runs, and the most advanced of these (-1: none)."""
    signature = np.int64(0)
    best = np.int64(-1)
    r = first
    while r >= 0:
        if runs[r, R_DEADLINE] >= now:
            s = runs[r, R_STATE]
            if state_stamp[s] != serial:
                state_stamp[s] = serial
                signature ^= states[s, DIGEST]
            if (
                best < 0
                or runs[r, R_DEPTH] > runs[best, R_DEPTH]
                or (runs[r, R_DEPTH] == runs[best, R_DEPTH] and newer(nodes, runs[r, R_NODE], runs[best, R_NODE]))
            ):
                best = r
        r = runs[r, R_PART_NEXT]
    return signature, best


@kernel
def _by_promise(runs: Ints, promise: Floats, first: int, count: int, number: int, now: int) -> Ints:
    """The runs of a partition, the least promising first.

    By the promise of their states if it is known (for all of a partition, or for none), else and between equals by
    how far they have come, of these the oldest.
    """
    crowd = np.empty(count, np.int64)
    worth = np.empty(count, np.float64)
    n = 0
    r = first
    while r >= 0:
        crowd[n] = r
        worth[n] = -1.0
        if runs[r, R_DEADLINE] >= now:
            worth[n] = runs[r, R_DEPTH] + (runs[r, R_FIRST] + 1.0) / (number + 2.0) / 2
            known = promise[runs[r, R_STATE]]
            if not np.isnan(known):
                worth[n] = known + _STEP * worth[n]
        n += 1
        r = runs[r, R_PART_NEXT]
    return crowd[np.argsort(worth)]


@kernel
def advance(
    graph: GraphArrays, state: RunState, events: RunEvents, begin: int, cap: int, outputs: RunOutputs, filled: Ints
) -> tuple[int, Ints, RunState, RunOutputs]:
    """Process the events from `begin` on, until there are no more or something has to be done first.

    Returns the event to continue with, the states that have to be expanded before, the state, and the outputs
    (`filled`: how many matches and observations there are; as input also the number of patterns).
    """
    states, edges, targets, tests = graph.states, graph.edges, graph.targets, graph.tests
    blocks, saves, conditions, live = graph.blocks, graph.saves, graph.conditions, graph.live
    expiries, accepts, root_start, roots = graph.expiries, graph.accepts, graph.root_start, graph.roots
    groups, symbols, promise = graph.groups, graph.symbols, graph.promise
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
    pending = np.empty((64, PENDING_WIDTH), np.int64)
    pending_registers = np.empty((64, slots), np.int64)
    pending_variables = np.empty((64, width), np.int64)
    scratch = np.empty(slots, np.int64)
    values = np.zeros(width, np.int64)
    wanted = np.empty(64, np.int64)

    i = begin
    while True:
        # ---- register the runs that wait from now on
        if counters[TODO] > 0:
            waiters, lists, list_hash = _registered(
                states, edges, blocks, runs, waiters, lists, list_hash, todo, counters
            )
        if i >= number.shape[0]:
            break
        # ---- sweep out what has piled up, unless matches point to witnesses: the caller reads them first
        if (
            counters[RUNS] > _PILE + 2 * counters[SWEPT_RUNS]
            or counters[NODES] > 16 * _PILE + 4 * counters[SWEPT_NODES]
        ):
            if matched + seen > 0:
                break
            swept = rebuilt(
                graph,
                RunState(runs, registers, variables, parts, nodes, waiters, lists, run_hash, part_hash, list_hash, todo,
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
            keys = groups[g, GROUP_KEYS]
            high = low = np.int64(0)
            if keys >= 0:
                if not keyed[keys, i]:
                    continue
                high, low = key[keys, i, 0], key[keys, i, 1]
            h = (g * MIX_C) ^ (high * MIX_A) ^ (low * MIX_B)
            part_home = h ^ (h >> 29)
            part = part_hash[part_home & (part_hash.shape[0] - 1)]
            while part >= 0 and (parts[part, P_LOW] != low or parts[part, P_HIGH] != high or parts[part, P_GROUP] != g):
                part = parts[part, P_HASH_NEXT]
            # ---- which runs may move, and which must end
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
                                    candidates[candidate_count, C_RUN] = r
                                    candidates[candidate_count, C_EDGE] = e
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
                    if roots[middle, ROOT_GROUP] < g:
                        from_root = middle + 1
                    else:
                        to_root = middle
                while from_root < root_start[x + 1] and roots[from_root, ROOT_GROUP] == g:
                    if candidate_count >= candidates.shape[0]:
                        candidates = _more(candidates, candidate_count + 1)
                    candidates[candidate_count, C_RUN] = -1
                    candidates[candidate_count, C_EDGE] = roots[from_root, ROOT_EDGE]
                    candidate_count += 1
                    from_root += 1
                if part < 0 or parts[part, P_COUNT] == 0:
                    continue
                h = part * MIX_A ^ x * MIX_B
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
                        candidates[candidate_count, C_RUN] = r
                        candidates[candidate_count, C_EDGE] = what
                        candidate_count += 1
                    else:
                        b = -1 - what
                        holds = True
                        if blocks[b, BLOCK_TEST_BEGIN] < blocks[b, BLOCK_TEST_END]:
                            values[:] = variables[r]
                            holds = (
                                tested(tests, blocks[b, BLOCK_TEST_BEGIN], blocks[b, BLOCK_TEST_END],
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
                r, e = candidates[c, C_RUN], candidates[c, C_EDGE]
                bound = np.int64(0)
                if width > 1:
                    if r >= 0:
                        bound = runs[r, R_BOUND]
                    for v in range(width):
                        values[v] = variables[r, v] if r >= 0 else 0
                    if edges[e, TEST_BEGIN] < edges[e, TEST_END]:
                        bound = tested(tests, edges[e, TEST_BEGIN], edges[e, TEST_END], bound, values, value, known, i)
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
                                tested(tests, blocks[b, BLOCK_TEST_BEGIN], blocks[b, BLOCK_TEST_END],
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
                        # A register may be given to another step once the conditions on it are settled.
                        from_condition, to_condition = targets[t, CONDITION_BEGIN], targets[t, CONDITION_END]
                        if from_condition < to_condition and not holds_all(
                            conditions, from_condition, to_condition, scratch, 0
                        ):
                            continue
                        for each in range(targets[t, SAVE_BEGIN], targets[t, SAVE_END]):
                            scratch[saves[each, 0]] = now
                        if from_condition < to_condition and not holds_all(
                            conditions, from_condition, to_condition, scratch, 1
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
                        pending[pending_count, Q_STATE] = s
                        pending[pending_count, Q_START] = runs[r, R_START] if r >= 0 else now
                        pending[pending_count, Q_NODE] = node
                        pending[pending_count, Q_DEPTH] = runs[r, R_DEPTH] + 1 if r >= 0 else 1
                        pending[pending_count, Q_FIRST] = runs[r, R_FIRST] if r >= 0 else number[i]
                        pending[pending_count, Q_BOUND] = bound
                        for each in range(slots):
                            pending_registers[pending_count, each] = UNSET
                        for each in range(states[s, LIVE_BEGIN], states[s, LIVE_END]):
                            pending_registers[pending_count, live[each, LIVE_REGISTER]] = scratch[
                                live[each, LIVE_REGISTER]
                            ]
                        for v in range(width):
                            pending_variables[pending_count, v] = values[v]
                        pending_count += 1
                    # ---- matches: one for each binding
                    begun = runs[r, R_START] if r >= 0 else now
                    for a in range(targets[t, ACCEPT_BEGIN], targets[t, ACCEPT_END]):
                        pattern = accepts[a, 0]
                        row = last_match[pattern]
                        if row >= 0 and matches[row, M_EVENT] != i:
                            row = -1
                        while row >= 0:
                            if matches[row, M_BOUND] == bound:
                                same = True
                                if bound:
                                    for v in range(width):
                                        if match_variables[row, v] != values[v]:
                                            same = False
                                if same:
                                    break
                            row = matches[row, M_SAME]
                        if row >= 0:
                            if newer(nodes, node, matches[row, M_NODE]):
                                matches[row, M_NODE] = node
                            if begun > matches[row, M_START]:
                                matches[row, M_START] = begun
                                matches[row, M_FIRST] = runs[r, R_FIRST] if r >= 0 else number[i]
                            continue
                        if matched >= matches.shape[0]:
                            matches = _more(matches, matched + 1)
                            match_variables = _more(match_variables, matched + 1)
                        matches[matched, M_EVENT] = i
                        matches[matched, M_PATTERN] = pattern
                        matches[matched, M_NODE] = node
                        matches[matched, M_BOUND] = bound
                        matches[matched, M_START] = begun
                        matches[matched, M_FIRST] = runs[r, R_FIRST] if r >= 0 else number[i]
                        row = last_match[pattern]
                        matches[matched, M_SAME] = row if row >= 0 and matches[row, M_EVENT] == i else -1
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
                        h = (
                            (parts[each, P_GROUP] * MIX_C)
                            ^ (parts[each, P_HIGH] * MIX_A)
                            ^ (parts[each, P_LOW] * MIX_B)
                        )
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
                        s = pending[q, Q_STATE]
                        h = s * MIX_A ^ part * MIX_B
                        for v in range(width):
                            h = (h ^ pending_variables[q, v]) * MIX_C
                        home = h ^ (h >> 31)
                        deadline = FOREVER
                        if states[s, WINDOW] >= 0:
                            deadline = pending[q, Q_START] + states[s, WINDOW]
                        for each in range(states[s, EXPIRY_BEGIN], states[s, EXPIRY_END]):
                            since = pending_registers[q, expiries[each, EXPIRY_REGISTER]]
                            if since != UNSET and since + expiries[each, EXPIRY_AFTER] < deadline:
                                deadline = since + expiries[each, EXPIRY_AFTER]
                        if deadline < now:
                            continue
                        windowed = states[s, WINDOW] >= 0
                        into = np.int64(-1)  # the run that it takes the place of
                        dropped = False
                        r = run_hash[home & (run_hash.shape[0] - 1)]
                        while r >= 0:
                            if (
                                runs[r, R_ALIVE] == ALIVE
                                and runs[r, R_STATE] == s
                                and runs[r, R_PART] == part
                                and runs[r, R_BOUND] == pending[q, Q_BOUND]
                            ):
                                rival = True
                                for v in range(width):
                                    if variables[r, v] != pending_variables[q, v]:
                                        rival = False
                                        break
                                if rival:
                                    old_better = new_better = False
                                    if windowed:
                                        old_better = runs[r, R_START] > pending[q, Q_START]
                                        new_better = runs[r, R_START] < pending[q, Q_START]
                                    for each in range(states[s, LIVE_BEGIN], states[s, LIVE_END]):
                                        mine = pending_registers[q, live[each, LIVE_REGISTER]]
                                        other = registers[r, live[each, LIVE_REGISTER]]
                                        if mine == other:
                                            continue
                                        sign = live[each, LIVE_SIGN]
                                        if sign == 0 or mine == UNSET or other == UNSET:  # noqa: PLR1714 - Numba is quicker with this
                                            old_better = new_better = True
                                        elif (mine > other) == (sign > 0):
                                            new_better = True
                                        else:
                                            old_better = True
                                    same_age = runs[r, R_BORN] == serial
                                    if not old_better and not new_better:
                                        if same_age:
                                            dropped = not newer(nodes, pending[q, Q_NODE], runs[r, R_NODE])
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
                                        else:  # it makes several useless, and no other run may take their place
                                            runs[r, R_ALIVE] = ENDING
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
                            runs[r, R_BOUND] = pending[q, Q_BOUND]
                            runs[r, R_ALIVE] = ALIVE
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
                        runs[r, R_START] = pending[q, Q_START]
                        runs[r, R_DEADLINE] = deadline
                        runs[r, R_NODE] = pending[q, Q_NODE]
                        runs[r, R_DEPTH] = pending[q, Q_DEPTH]
                        runs[r, R_FIRST] = pending[q, Q_FIRST]
                        for each in range(slots):
                            registers[r, each] = pending_registers[q, each]
                        if not states[s, EXPANDED] and not asked_for[s]:
                            asked_for[s] = True
                            if wanted_count >= wanted.shape[0]:
                                wanted = _longer(wanted, wanted_count + 1)
                            wanted[wanted_count] = s
                            wanted_count += 1
                # ---- too many: the least promising go first
                if phase == 1 and part >= 0 and parts[part, P_COUNT] > cap + ended_count:
                    order = _by_promise(runs, promise, parts[part, P_RUNS], parts[part, P_COUNT], number[i], now)
                    for each in range(order.shape[0] - cap + cap // 10):
                        if ended_count >= ended.shape[0]:
                            ended = _longer(ended, ended_count + 1)
                        ended[ended_count] = order[each]
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
                    if not states[runs[r, R_STATE], HAS_WAIT]:  # no other run refers to it
                        runs[r, R_HASH_NEXT] = counters[FREE]
                        counters[FREE] = r
                ended_count = 0
            # ---- what is seen of the one pattern that is observed
            if groups[g, GROUP_OBSERVED] >= 0:
                signature, best = _standing(
                    states, runs, nodes, state_stamp, serial, parts[part, P_RUNS] if part >= 0 else np.int64(-1), now
                )
                symbol = np.int64(0)
                for each in range(groups[g, GROUP_SYMBOL_BEGIN], groups[g, GROUP_SYMBOL_END]):
                    if stamp[symbols[each, 0]] == serial:
                        symbol |= np.int64(1) << (each - groups[g, GROUP_SYMBOL_BEGIN])
                if seen >= observed.shape[0]:
                    observed = _more(observed, seen + 1)
                row = last_match[groups[g, GROUP_OBSERVED]]
                observed[seen, O_EVENT] = i
                observed[seen, O_PATTERN] = groups[g, GROUP_OBSERVED]
                observed[seen, O_HIGH] = high
                observed[seen, O_LOW] = low
                observed[seen, O_STATE] = signature
                observed[seen, O_HIT] = row >= 0 and matches[row, M_EVENT] == i
                observed[seen, O_SYMBOL] = symbol
                observed[seen, O_DEPTH] = runs[best, R_DEPTH] if best >= 0 else 0
                observed[seen, O_AGE] = now - runs[best, R_START] if best >= 0 else -1
                observed[seen, O_FIRST] = runs[best, R_FIRST] if best >= 0 else -1
                observed[seen, O_NODE] = runs[best, R_NODE] if best >= 0 else -1
                observed[seen, O_SPAN] = observed[seen, O_BEGUN] = -1
                while row >= 0 and matches[row, M_EVENT] == i:  # the shortest match of all bindings
                    if observed[seen, O_SPAN] < 0 or now - matches[row, M_START] < observed[seen, O_SPAN]:
                        observed[seen, O_SPAN] = now - matches[row, M_START]
                        observed[seen, O_BEGUN] = matches[row, M_FIRST]
                    row = matches[row, M_SAME]
                seen += 1
        i += 1
        if wanted_count:
            break
    filled[0], filled[1] = matched, seen
    return (
        i,
        wanted[:wanted_count].copy(),
        RunState(
            runs, registers, variables, parts, nodes, waiters, lists, run_hash, part_hash, list_hash, todo, counters
        ),
        RunOutputs(matches, match_variables, observed),
    )
