"""Builds the automaton of `vedette.filters.probes.kernels.automaton` from sorted literals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.kernels.automaton import EDGES, FAIL, FIRST, INNER, MODES, Automaton, mixed, sealed
from vedette.kernels.compile import kernel

# A gram is stored in 64 bits.
LONGEST_GRAM = 8

# Bits of the filter: 64 per gram, but no more than fit into a core's cache (512 kB).
FILTER_BITS_PER_GRAM = 6
MOST_FILTER_BITS = 22


class LiteralTable(NamedTuple):
    """Distinct byte strings in ascending order, none empty, and the targets that each of them reports to."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]  # literals + 1
    target_start: NDArray[np.int64]  # literals * MODES + 1: one run of targets for each mode
    targets: NDArray[np.int32]


@kernel
def build(literals: LiteralTable, gram: Any) -> NDArray[np.uint64]:
    """Build the automaton, as one array, of literals that have at least `gram` (1 to LONGEST_GRAM) bytes."""
    size = literals.text.size + 1
    nodes = np.full((size, 4), -1, np.int32)
    labels = np.zeros(size, np.uint8)
    literal = np.full(size, -1, np.int32)
    levels = np.zeros(gram + 1, np.int64)
    states = _grow_trie(literals, nodes, labels, literal, levels)
    nodes = nodes[:states].copy()
    labels = labels[:states].copy()
    literal = literal[:states].copy()
    shorter = np.full(literals.start.size - 1, -1, np.int32)
    _link(nodes, labels, literal, shorter, literals.target_start)
    bits, grams, entries = _index_grams(nodes, labels, levels)
    for state in range(levels[gram], states):
        back = nodes[state, FAIL]
        if back < levels[gram]:
            depth = 0
            while levels[depth + 1] <= back:
                depth += 1
            nodes[state, FAIL] = -1 - depth
    machine = Automaton(
        bits,
        grams,
        entries,
        nodes,
        labels,
        literal,
        shorter,
        literals.target_start,
        literals.targets,
        _longest(literals, gram),
    )
    return sealed(machine)


@kernel
def _grow_trie(
    literals: LiteralTable,
    nodes: NDArray[np.int32],
    labels: NDArray[np.uint8],
    literal: NDArray[np.int32],
    levels: NDArray[np.int64],
) -> int:
    """Number the prefixes of the (sorted) literals breadth first; returns how many there are."""
    text, start = literals.text, literals.start
    # The literals that share the prefix of a state are a range, because they are sorted.
    low = np.empty(nodes.shape[0], np.int32)
    high = np.empty(nodes.shape[0], np.int32)
    low[0] = 0
    high[0] = start.size - 1
    states = 1
    level_end = 1
    depth = 0
    state = 0
    while state < states:
        if state == level_end:
            depth += 1
            if depth < levels.size:
                levels[depth] = state
            level_end = states
        here = low[state]
        stop = high[state]
        if here < stop and start[here + 1] - start[here] == depth:
            literal[state] = here
            here += 1
        first = states
        while here < stop:
            byte = text[start[here] + depth]
            last = here + 1
            while last < stop and text[start[last] + depth] == byte:
                last += 1
            labels[states] = byte
            low[states] = here
            high[states] = last
            states += 1
            here = last
        nodes[state, FIRST] = first
        nodes[state, EDGES] = (states - first) << 8
        if states > first:
            nodes[state, EDGES] |= labels[first]
        state += 1
    return states


@kernel
def _child(nodes: NDArray[np.int32], labels: NDArray[np.uint8], state: Any, byte: Any) -> Any:
    """The child that the byte leads to, or -1."""
    low = nodes[state, FIRST]
    end = low + (nodes[state, EDGES] >> 8)
    high = end
    while low < high:
        middle = (low + high) >> 1
        if labels[middle] < byte:
            low = middle + 1
        else:
            high = middle
    if low < end and labels[low] == byte:
        return np.int32(low)
    return np.int32(-1)


@kernel
def _link(
    nodes: NDArray[np.int32],
    labels: NDArray[np.uint8],
    literal: NDArray[np.int32],
    shorter: NDArray[np.int32],
    target_start: NDArray[np.int64],
) -> None:
    """Set failure links and nearest endings, in breadth-first order."""
    nodes[0, FAIL] = 0
    for state in range(nodes.shape[0]):
        first = nodes[state, FIRST]
        for child in range(first, first + (nodes[state, EDGES] >> 8)):
            target = np.int32(0)
            back = np.int32(state)
            while back > 0:
                back = nodes[back, FAIL]
                found = _child(nodes, labels, back, labels[child])
                if found >= 0:
                    target = found
                    break
            nodes[child, FAIL] = target
            nodes[child, INNER] = nodes[target, INNER]
            ending = literal[child]
            if ending >= 0 and target_start[ending * MODES + 1] > target_start[ending * MODES]:
                shorter[ending] = nodes[target, INNER]
                nodes[child, INNER] = ending


@kernel
def _index_grams(
    nodes: NDArray[np.int32], labels: NDArray[np.uint8], levels: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int32]]:
    """Build the filter, and the hash table from grams to the states of depth `gram`."""
    gram_size = levels.size - 1
    # Children are stored next to each other: those of a level end where the children of its last state do.
    state = levels[gram_size] - 1
    last = nodes[state, FIRST] + (nodes[state, EDGES] >> 8)
    grams_of = np.zeros(last, np.uint64)
    for state in range(levels[gram_size]):
        first = nodes[state, FIRST]
        for child in range(first, first + (nodes[state, EDGES] >> 8)):
            grams_of[child] = _rolled(grams_of[state], labels[child], gram_size)
    count = last - levels[gram_size]
    slot_bits = 4
    while (1 << slot_bits) < 2 * count:
        slot_bits += 1
    filter_bits = min(MOST_FILTER_BITS, slot_bits - 1 + FILTER_BITS_PER_GRAM)
    bits = np.zeros(1 << (filter_bits - 6), np.uint64)
    grams = np.zeros(1 << slot_bits, np.uint64)
    entries = np.full(1 << slot_bits, -1, np.int32)
    mask = (1 << slot_bits) - 1
    for state in range(levels[gram_size], last):
        gram = grams_of[state]
        hashed = mixed(gram)
        bit = hashed >> np.uint64(32 - filter_bits)
        bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        slot = np.int64(hashed >> np.uint64(32 - slot_bits))
        while entries[slot] >= 0:
            slot = (slot + 1) & mask
        grams[slot] = gram
        entries[slot] = state
    return bits, grams, entries


@kernel
def _rolled(gram: Any, byte: Any, size: Any) -> Any:
    """The gram one byte later: the new byte enters at the top."""
    return (gram >> np.uint64(8)) | (np.uint64(byte) << np.uint64(8 * (size - 1)))


@kernel
def _longest(literals: LiteralTable, gram: Any) -> NDArray[np.int64]:
    longest = np.full(MODES + 1, -1, np.int64)
    longest[MODES] = gram
    for number in range(literals.start.size - 1):
        length = literals.start[number + 1] - literals.start[number]
        for mode in range(MODES):
            place = number * MODES + mode
            if literals.target_start[place + 1] > literals.target_start[place]:
                longest[mode] = max(longest[mode], length)
    return longest
