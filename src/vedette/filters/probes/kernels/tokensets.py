"""Computes the token sets of single values and of lists from the tests that hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel


class TokensOfTests(NamedTuple):
    """Test t belongs to the tokens `tokens[start[t] : start[t + 1]]`."""

    start: NDArray[np.int64]
    tokens: NDArray[np.int32]


class ValueTokenSets(NamedTuple):
    """The set of value v is number `number[v]` (-1: empty): `tokens[start[n] : start[n + 1]]`, ascending."""

    number: NDArray[np.int32]
    start: NDArray[np.int64]
    tokens: NDArray[np.int32]


class ValueTests(NamedTuple):
    """The tests that hold for value v are `tests[start[v] : start[v + 1]]`, each once."""

    start: NDArray[np.int64]
    tests: NDArray[np.int32]


class ElementLists(NamedTuple):
    """The elements of list i are `elements[start[i] : start[i + 1]]`: numbers of distinct values, -1 for null."""

    start: NDArray[np.int64]
    elements: NDArray[np.int32]


class ListTests(NamedTuple):
    """How the tests of elements combine, which tokens they belong to, and how a false token is expressed.

    A token may have a second one, whose number is its own plus the number of tokens. Those of `false_tokens` have
    one that is there when they are false; those `by_absence` have one that is there unless they are false.
    """

    for_all: NDArray[np.bool_]  # by test: every element has to satisfy it, not just some
    null_holds: NDArray[np.bool_]  # by test: a null element satisfies it
    tests: TokensOfTests
    false_tokens: NDArray[np.int32]
    by_absence: NDArray[np.bool_]  # by token


@kernel
def by_value(value: NDArray[np.int32], test: NDArray[np.int32], values: Any) -> ValueTests:
    """Group (value, test) pairs by value."""
    start = np.zeros(values + 1, np.int64)
    for pair in range(value.size):
        start[value[pair] + 1] += 1
    for number in range(values):
        start[number + 1] += start[number]
    ordered = np.empty(test.size, np.int32)
    free = start[:-1].copy()
    for pair in range(value.size):
        ordered[free[value[pair]]] = test[pair]
        free[value[pair]] += 1
    return ValueTests(start, ordered)


@kernel
def sets_of_values(
    value: NDArray[np.int32], test: NDArray[np.int32], tests: TokensOfTests, values: Any, tokens: Any
) -> ValueTokenSets:
    """The tokens of each value, from the (value, test) pairs that hold.

    The pairs are distributed by token and then by value, so that no set has to be sorted.
    """
    token_start = np.zeros(tokens + 1, np.int64)
    room = np.zeros(values + 1, np.int64)
    for pair in range(test.size):
        for entry in range(tests.start[test[pair]], tests.start[test[pair] + 1]):
            token_start[tests.tokens[entry] + 1] += 1
            room[value[pair] + 1] += 1
    for token in range(tokens):
        token_start[token + 1] += token_start[token]
    for each in range(values):
        room[each + 1] += room[each]
    free = token_start[:-1].copy()
    having = np.empty(token_start[tokens], np.int32)
    for pair in range(test.size):
        for entry in range(tests.start[test[pair]], tests.start[test[pair] + 1]):
            token = tests.tokens[entry]
            having[free[token]] = value[pair]
            free[token] += 1
    end = room[:-1].copy()
    dealt = np.empty(having.size, np.int32)
    for token in range(tokens):
        for place in range(token_start[token], token_start[token + 1]):
            each = having[place]
            # Several tests of a token may hold for a value.
            if end[each] == room[each] or dealt[end[each] - 1] != token:
                dealt[end[each]] = token
                end[each] += 1
    number = np.full(values, -1, np.int32)
    start = np.zeros(values + 1, np.int64)
    sets = 0
    count = 0
    for each in range(values):
        if end[each] > room[each]:
            for place in range(room[each], end[each]):
                dealt[count] = dealt[place]
                count += 1
            number[each] = sets
            sets += 1
            start[sets] = count
    return ValueTokenSets(number, start[: sets + 1].copy(), dealt[:count].copy())


@kernel
def sort_piece(array: NDArray[np.int32], first: Any, end: Any) -> None:
    """Sort `array[first:end]`, which is mostly short."""
    if end - first > 32:
        array[first:end] = np.sort(array[first:end])
        return
    for place in range(first + 1, end):
        moved = array[place]
        hole = place
        while hole > first and array[hole - 1] > moved:
            array[hole] = array[hole - 1]
            hole -= 1
        array[hole] = moved


# The truth of a test of a whole list; OR is the maximum.
_FALSE, _UNKNOWN, _TRUE = 0, 1, 2


@kernel
def sets_of_lists(holding: ValueTests, lists: ElementLists, tests: ListTests) -> ValueTokenSets:
    """The tokens that hold for each list, and the tokens that express that others are false.

    SQL's logic, as in Spark's `exists` and `forall`. For an ordinary list only the tests that hold for its elements
    are examined; for lists that are empty or have nulls, all tests are.
    """
    values = lists.start.size - 1
    test_start, test_tokens = tests.tests.start, tests.tests.tokens
    for_all, null_holds = tests.for_all, tests.null_holds
    false_tokens, by_absence = tests.false_tokens, tests.by_absence
    tokens = by_absence.size
    some_for_all = False
    for test in range(for_all.size):
        if for_all[test]:
            some_for_all = True
    satisfied_by = np.zeros(for_all.size, np.int64)  # how many elements satisfy a test
    touched = np.empty(for_all.size, np.int32)
    verdict = np.zeros(tokens, np.int8)
    decided = np.empty(tokens, np.int32)  # the tokens that are not simply false
    number = np.full(values, -1, np.int32)
    start = np.zeros(values + 1, np.int64)
    found = np.empty(max(64, 2 * values), np.int32)
    sets = 0
    count = 0
    for value in range(values):
        nulls = 0
        present = 0
        touches = 0
        for place in range(lists.start[value], lists.start[value + 1]):
            element = lists.elements[place]
            if element < 0:
                nulls += 1
                continue
            present += 1
            for entry in range(holding.start[element], holding.start[element + 1]):
                test = holding.tests[entry]
                if satisfied_by[test] == 0:
                    touched[touches] = test
                    touches += 1
                satisfied_by[test] += 1
        # A test that no element satisfies is false, unless there are nulls, or no elements that could fail it.
        everything = nulls > 0 or (present == 0 and some_for_all)
        decisions = 0
        for turn in range(for_all.size if everything else touches):
            test = turn if everything else touched[turn]
            satisfied = satisfied_by[test]
            if for_all[test]:
                if satisfied < present:
                    continue
                truth = _TRUE if nulls == 0 or null_holds[test] else _UNKNOWN
            elif satisfied > 0 or (nulls > 0 and null_holds[test]):
                truth = _TRUE
            elif nulls > 0:
                truth = _UNKNOWN
            else:
                continue
            for entry in range(test_start[test], test_start[test + 1]):
                token = test_tokens[entry]
                if verdict[token] == _FALSE:
                    decided[decisions] = token
                    decisions += 1
                verdict[token] = max(verdict[token], truth)
        for turn in range(touches):
            satisfied_by[touched[turn]] = 0
        room = count + 2 * decisions + false_tokens.size
        if room > found.size:
            larger = np.empty(2 * room, np.int32)
            larger[:count] = found[:count]
            found = larger
        first = count
        for turn in range(decisions):
            token = decided[turn]
            if verdict[token] == _TRUE:
                found[count] = token
                count += 1
            if by_absence[token]:
                found[count] = token + tokens
                count += 1
        for token in false_tokens:
            if verdict[token] == _FALSE:
                found[count] = token + tokens
                count += 1
        sort_piece(found, first, count)
        for turn in range(decisions):
            verdict[decided[turn]] = _FALSE
        if count > first:
            number[value] = sets
            sets += 1
            start[sets] = count
    return ValueTokenSets(number, start[: sets + 1].copy(), found[:count].copy())


class DistinctLists(NamedTuple):
    """Row r has list `number[r]` (-1: none)."""

    number: NDArray[np.int32]
    lists: ElementLists


_MIX = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def distinct_lists(lists: ElementLists, present: NDArray[np.bool_]) -> DistinctLists:
    """Deduplicate lists, in the order of their first rows."""
    start, elements = lists.start, lists.elements
    rows = start.size - 1
    slots = 16
    while slots < 2 * rows:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    number = np.full(rows, -1, np.int32)
    first_row = np.empty(rows, np.int32)
    count = 0
    size = 0
    for row in range(rows):
        if not present[row]:
            continue
        length = start[row + 1] - start[row]
        hashed = np.uint64(length)
        for place in range(start[row], start[row + 1]):
            hashed = ((hashed ^ np.uint64(elements[place] + 1)) * _MIX) & _LOW
            hashed ^= hashed >> np.uint64(15)
        slot = np.int64(hashed) & (slots - 1)
        while table[slot] >= 0:
            other = start[first_row[table[slot]]]
            same = start[first_row[table[slot]] + 1] - other == length
            for offset in range(length if same else 0):
                if elements[other + offset] != elements[start[row] + offset]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = count
            first_row[count] = row
            count += 1
            size += length
        number[row] = table[slot]
    own_start = np.zeros(count + 1, np.int64)
    own = np.empty(size, np.int32)
    for each in range(count):
        begin = start[first_row[each]]
        length = start[first_row[each] + 1] - begin
        own_start[each + 1] = own_start[each] + length
        own[own_start[each] : own_start[each + 1]] = elements[begin : begin + length]
    return DistinctLists(number, ElementLists(own_start, own))
