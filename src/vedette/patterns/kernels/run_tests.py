"""Tests whether a partial match may take an event: its variables and its time conditions; and the better witness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel
from vedette.patterns.kernels.runs import (
    ABSOLUTE,
    EQ,
    GE,
    GT,
    LE,
    LEFT,
    LT,
    MICROSECONDS,
    N_EVENT,
    N_PARENT,
    N_POSITION,
    NE,
    OF_NOW,
    OP,
    RIGHT,
    SCOPE,
    TEST_BINDS,
    TEST_COLUMN,
    TEST_OP,
    TEST_VARIABLE,
    UNSET,
    Ints,
)


@kernel
def newer(nodes: Ints, one: int, other: int) -> bool:
    """Whether the first of two witnesses has the later events, compared from the last; never depends on chance."""
    while one >= 0 and other >= 0 and one != other:
        if nodes[one, N_EVENT] != nodes[other, N_EVENT]:
            return bool(nodes[one, N_EVENT] > nodes[other, N_EVENT])
        if nodes[one, N_POSITION] != nodes[other, N_POSITION]:
            return bool(nodes[one, N_POSITION] > nodes[other, N_POSITION])
        one, other = nodes[one, N_PARENT], nodes[other, N_PARENT]
    return False


@kernel
def tested(
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
def holds_all(conditions: Ints, begin: int, end: int, times: Ints, of_now: int) -> bool:
    """Whether all time conditions hold whose times are set: of those that use the present event, or of the others."""
    for c in range(begin, end):
        if conditions[c, OF_NOW] != of_now:
            continue
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
