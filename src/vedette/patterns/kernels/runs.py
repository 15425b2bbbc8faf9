"""The memory layout of partial matches: the tables of the graph, of the state, and of outputs.

A run is a partial match: its state, the times that conditions will need (registers), the values of
variables, and its witness. Every table is an array of rows; these are the names of its columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

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
LEFT, RIGHT, OP, MICROSECONDS, ABSOLUTE, SCOPE, OF_NOW = range(7)
CONDITION_WIDTH = 7
EQ, NE, LT, LE, GT, GE = range(6)
LIVE_REGISTER, LIVE_SIGN = range(2)  # sign: whether a later (1) or an earlier (-1) time is better; 0: neither
EXPIRY_REGISTER, EXPIRY_AFTER = range(2)
ROOT_GROUP, ROOT_EDGE = range(2)
GROUP_KEYS, GROUP_OBSERVED, GROUP_SYMBOL_BEGIN, GROUP_SYMBOL_END = range(4)

# Columns of the state's tables.
R_STATE, R_PART, R_START, R_DEADLINE, R_NODE, R_DEPTH, R_FIRST, R_BOUND = range(8)
R_ALIVE, R_BORN, R_HASH, R_HASH_NEXT, R_PART_NEXT, R_PART_BACK, R_FRESH_NEXT = range(8, 15)
RUN_WIDTH = 15
P_GROUP, P_HIGH, P_LOW, P_HASH_NEXT, P_RUNS, P_COUNT, P_FRESH = range(7)
PART_WIDTH = 7
N_POSITION, N_EVENT, N_PARENT = range(3)
W_RUN, W_WHAT, W_NEXT = range(3)  # what: an edge, or -1 - block for what ends the run
L_PART, L_PRIMITIVE, L_HEAD, L_HASH_NEXT = range(4)
# Columns of the outputs.
M_EVENT, M_PATTERN, M_NODE, M_BOUND, M_SAME, M_START, M_FIRST = range(7)  # same: another match of event and pattern
MATCH_WIDTH = 7
O_EVENT, O_PATTERN, O_HIGH, O_LOW, O_STATE, O_HIT, O_SYMBOL, O_DEPTH, O_AGE, O_FIRST, O_NODE, O_SPAN, O_BEGUN = range(
    13
)
OBSERVED_WIDTH = 13
# Columns of what is collected for one event: runs that may move, and by which edge; runs that have moved.
C_RUN, C_EDGE = range(2)
Q_STATE, Q_START, Q_NODE, Q_DEPTH, Q_FIRST, Q_BOUND = range(6)
PENDING_WIDTH = 6
# Counters.
RUNS, PARTS, NODES, WAITERS, LISTS, FREE, LIVE, SHED, SERIAL, TODO, SWEPT_RUNS, SWEPT_NODES = range(12)

ALIVE, ENDING = 1, 2  # of runs; 0: gone
UNSET = np.iinfo(np.int64).min
FOREVER = np.iinfo(np.int64).max
MIX_A, MIX_B, MIX_C = np.int64(-7046029254386353131), np.int64(-4417276706812531889), np.int64(1609587929392839161)


class GraphArrays(NamedTuple):
    """States and edges, by `vedette.patterns.graph`."""

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
    roots: Ints
    groups: Ints
    symbols: Ints
    promise: Floats  # by state: the probability that a partial match in it completes; NaN if unknown


class RunState(NamedTuple):
    """All partial matches. The hashes and lists can be rebuilt from the runs (`rebuilt`)."""

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


class RunEvents(NamedTuple):
    """A batch, in order."""

    number: Ints
    time: Ints
    start: Ints
    primitive: NDArray[np.int32]
    key: Ints
    keyed: NDArray[np.bool_]
    value: Ints
    known: NDArray[np.bool_]


class RunOutputs(NamedTuple):
    """Rows of matches with their variables, and of observations; events are by their place in the batch."""

    matches: Ints
    variables: Ints
    observed: Ints


def empty(registers: int, variables: int) -> RunState:
    """No partial matches."""
    return RunState(
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
