"""Many literal strings looked for at once, in UTF-8 bytes: Aho and Corasick's automaton, entered through a hash.

States are the prefixes of the literals, numbered breadth first, so that the children of a state stand side by
side and failure links point to smaller numbers (Aho and Corasick 1975, §3). All literals of one machine have at
least `gram` bytes. States shallower than that are never visited: as long as no literal is under way, every
position is asked whether some literal may begin with the `gram` bytes there (one bit, in the processor's cache),
and if so the hash of these bytes leads right to the state of depth `gram`. From there on it is the automaton,
with its failure links and its linear time, until it falls back to a shallow state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

# Where a literal has to stand in a value for its targets to be reported.
ANYWHERE, AT_START, AT_END, WHOLE = range(4)
MODES = 4

# A gram is held in 64 bits.
LONGEST_GRAM = 8

# Columns of `Machine.nodes`.
FIRST, FAIL, EDGES, INNER = range(4)

# Bits of the filter: 64 per gram, but no more than stay in a core's cache (512 kB).
FILTER_BITS_PER_GRAM = 6
MOST_FILTER_BITS = 22

_MIX_LOW = np.uint64(0x9E3779B1)
_MIX_HIGH = np.uint64(0x85EBCA77)
_LOW = np.uint64(0xFFFFFFFF)


class Literals(NamedTuple):
    """Distinct byte strings in ascending order, none empty, and where each of them reports to."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]  # literals + 1
    target_start: NDArray[np.int64]  # literals * MODES + 1: one run of targets for each mode
    targets: NDArray[np.int32]


class Machine(NamedTuple):
    """The automaton.

    `nodes` has for each state its first child, its failure link, its edges (the number of children times 256, plus
    the byte of the first one) and its nearest ending: the longest suffix of the state that is a literal reported
    ANYWHERE, or -1. From an ending `shorter` leads on to the next one. A failure link to a shallow state, one of
    fewer than `gram` bytes, is -1 minus its depth.
    """

    filter: NDArray[np.uint64]  # one bit per hash of a gram
    grams: NDArray[np.uint64]  # open addressing: the gram in a slot ...
    entries: NDArray[np.int32]  # ... and the state of depth `gram` it leads to, or -1
    nodes: NDArray[np.int32]  # [states, 4]
    labels: NDArray[np.uint8]  # the byte that leads to a state
    literal: NDArray[np.int32]  # the literal that ends exactly in a state, or -1
    shorter: NDArray[np.int32]
    target_start: NDArray[np.int64]
    targets: NDArray[np.int32]
    longest: NDArray[np.int64]  # for each mode the length of the longest literal reported so, or -1; then `gram`


class Hits(NamedTuple):
    """(value, target) pairs."""

    value: NDArray[np.int32]
    target: NDArray[np.int32]


@kernel
def mixed(gram: Any) -> Any:
    """A hash of 32 bits of which the upper ones are good; products of 32 bits, so that nothing overflows."""
    return (((gram & _LOW) * _MIX_LOW) ^ ((gram >> np.uint64(32)) * _MIX_HIGH)) & _LOW


@kernel
def build(literals: Literals, gram: Any) -> Machine:
    """The automaton of the literals, none of which is shorter than `gram` bytes (1 to LONGEST_GRAM)."""
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
    return Machine(
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


@kernel
def _grow_trie(
    literals: Literals,
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
    """Failure links and nearest endings, in breadth-first order."""
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
    """The filter and the hash table from grams to the states of depth `gram`."""
    gram_size = levels.size - 1
    # Children stand side by side: those of one level end where the children of its last state do.
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
    """The gram one byte further on: the new byte comes in at the top."""
    return (gram >> np.uint64(8)) | (np.uint64(byte) << np.uint64(8 * (size - 1)))


@kernel
def _longest(literals: Literals, gram: Any) -> NDArray[np.int64]:
    longest = np.full(MODES + 1, -1, np.int64)
    longest[MODES] = gram
    for number in range(literals.start.size - 1):
        length = literals.start[number + 1] - literals.start[number]
        for mode in range(MODES):
            place = number * MODES + mode
            if literals.target_start[place + 1] > literals.target_start[place]:
                longest[mode] = max(longest[mode], length)
    return longest


@kernel
def scan(machine: Machine, text: NDArray[np.uint8], start: NDArray[np.int64], once: bool) -> Hits:
    """The targets of the literals found in each value; value v is `text[start[v] : start[v + 1]]`.

    With `once` a literal is reported once per value and mode; without, as often as it is found, which saves
    the notes on what has been seen, for a single short value the greater part of the work.
    """
    values = start.size - 1
    found_value = np.empty(max(64, values), np.int32)
    found_place = np.empty(max(64, values), np.int32)
    count = 0
    value = values
    if machine.longest[AT_START] >= 0 or machine.longest[WHOLE] >= 0:
        value = 0
    while value < values:
        value, count = _scan_starts(machine, text, start, value, found_value, found_place, count)
        if value < values:
            found_value = _doubled(found_value)
            found_place = _doubled(found_place)
    if machine.longest[ANYWHERE] >= 0 or machine.longest[AT_END] >= 0:
        value = 0
    seen = np.full(machine.shorter.size if once else 0, -1, np.int32)
    while value < values:
        value, count = _scan_inside(machine, text, start, value, seen, found_value, found_place, count)
        if value < values:
            seen[:] = -1  # the value that did not fit is scanned again
            found_value = _doubled(found_value)
            found_place = _doubled(found_place)
    return _with_targets(machine.target_start, machine.targets, found_value[:count], found_place[:count])


@kernel
def _doubled(array: NDArray[np.int32]) -> NDArray[np.int32]:
    larger = np.empty(2 * array.size, np.int32)
    larger[: array.size] = array
    return larger


@kernel
def _with_targets(
    target_start: NDArray[np.int64], targets: NDArray[np.int32], value: NDArray[np.int32], place: NDArray[np.int32]
) -> Hits:
    """What is found, as the targets it is reported to."""
    total = 0
    for hit in range(place.size):
        total += target_start[place[hit] + 1] - target_start[place[hit]]
    hit_value = np.empty(total, np.int32)
    hit_target = np.empty(total, np.int32)
    count = 0
    for hit in range(place.size):
        for number in range(target_start[place[hit]], target_start[place[hit] + 1]):
            hit_value[count] = value[hit]
            hit_target[count] = targets[number]
            count += 1
    return Hits(hit_value, hit_target)


@kernel
def _hash_shift(size: Any) -> Any:
    """How far a hash is shifted to address a table whose size is a power of two."""
    shift = 32
    while size > 1:
        shift -= 1
        size >>= 1
    return np.uint64(shift)


# The two loops below call no helpers: each call would count references to the arrays it is given, which costs more
# than the work itself. They stop when the room for what they find runs out, and return the first value that is not
# done and how much was found before it. A place is a literal's number times MODES, plus the mode.


@kernel
def _scan_starts(
    machine: Machine,
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    first_value: Any,
    found_value: NDArray[np.int32],
    found_place: NDArray[np.int32],
    count: Any,
) -> tuple[int, int]:
    """The literals that values begin with, and those that they are."""
    grams, entries, nodes = machine.grams, machine.entries, machine.nodes
    labels, literal, target_start = machine.labels, machine.literal, machine.target_start
    size = machine.longest[MODES]
    top = np.uint64(8 * (size - 1))
    slot_shift = _hash_shift(entries.size)
    slot_mask = entries.size - 1
    for value in range(first_value, start.size - 1):
        place = start[value]
        high = start[value + 1]
        if high - place < size:
            continue
        before = count
        gram = np.uint64(0)
        for _ in range(size):
            gram = (gram >> np.uint64(8)) | (np.uint64(text[place]) << top)
            place += 1
        hashed = (((gram & _LOW) * _MIX_LOW) ^ ((gram >> np.uint64(32)) * _MIX_HIGH)) & _LOW
        slot = np.int64(hashed >> slot_shift)
        state = entries[slot]
        while state >= 0 and grams[slot] != gram:
            slot = (slot + 1) & slot_mask
            state = entries[slot]
        while state >= 0:
            ending = np.int64(literal[state])
            if ending >= 0:
                for mode in (AT_START, WHOLE):
                    where = ending * MODES + mode
                    if target_start[where + 1] > target_start[where] and (mode == AT_START or place == high):
                        if count >= found_value.size:
                            return value, before
                        found_value[count] = value
                        found_place[count] = where
                        count += 1
            if place == high:
                break
            child = np.int64(nodes[state, FIRST])
            after = child + (nodes[state, EDGES] >> 8)
            while child < after and labels[child] != text[place]:
                child += 1
            state = np.int32(child if child < after else -1)
            place += 1
    return start.size - 1, count


@kernel
def _scan_inside(
    machine: Machine,
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    first_value: Any,
    seen: NDArray[np.int32],
    found_value: NDArray[np.int32],
    found_place: NDArray[np.int32],
    count: Any,
) -> tuple[int, int]:
    """The literals anywhere in values, and at their ends."""
    bits, grams, entries, nodes = machine.filter, machine.grams, machine.entries, machine.nodes
    labels, literal, shorter = machine.labels, machine.literal, machine.shorter
    inside, at_end, size = machine.longest[ANYWHERE], machine.longest[AT_END], machine.longest[MODES]
    top = np.uint64(8 * (size - 1))
    bit_shift = _hash_shift(bits.size * 64)
    slot_shift = _hash_shift(entries.size)
    slot_mask = entries.size - 1
    room = found_value.size
    once = seen.size > 0
    for value in range(first_value, start.size - 1):
        place = start[value]
        high = start[value + 1]
        if inside < 0:
            place = max(place, high - at_end)
        before = count
        gram = np.uint64(0)
        ready = place + size - 1  # the first position whose byte completes a gram
        while True:
            while place < min(ready, high):
                gram = (gram >> np.uint64(8)) | (np.uint64(text[place]) << top)
                place += 1
            # No literal is under way: look for a position where one may begin.
            state = np.int32(-1)
            while place < high:
                gram = (gram >> np.uint64(8)) | (np.uint64(text[place]) << top)
                place += 1
                hashed = (((gram & _LOW) * _MIX_LOW) ^ ((gram >> np.uint64(32)) * _MIX_HIGH)) & _LOW
                bit = hashed >> bit_shift
                if (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1):
                    slot = np.int64(hashed >> slot_shift)
                    state = entries[slot]
                    while state >= 0 and grams[slot] != gram:
                        slot = (slot + 1) & slot_mask
                        state = entries[slot]
                    if state >= 0:
                        break
            if state < 0:
                break
            while True:
                ending = nodes[state, INNER]
                # Where a literal has been seen in this value, its suffixes have been too.
                while ending >= 0 and not (once and seen[ending] == value):
                    if once:
                        seen[ending] = value
                    if count >= room:
                        return value, before
                    found_value[count] = value
                    found_place[count] = ending * MODES + ANYWHERE
                    count += 1
                    ending = shorter[ending]
                if place == high:
                    break
                byte = text[place]
                after = np.int32(-1)
                while state >= 0:
                    edges = nodes[state, EDGES]
                    if (edges & 255) == byte and edges > 255:
                        after = nodes[state, FIRST]
                        break
                    if edges > 511:
                        child = nodes[state, FIRST] + np.int32(1)
                        end = nodes[state, FIRST] + (edges >> 8)
                        while child < end and labels[child] < byte:
                            child += np.int32(1)
                        if child < end and labels[child] == byte:
                            after = child
                            break
                    state = nodes[state, FAIL]
                if after < 0:
                    break
                gram = (gram >> np.uint64(8)) | (np.uint64(byte) << top)
                state = after
                place += 1
            if place == high:
                while at_end >= 0 and state >= 0:
                    ending = literal[state]
                    if ending >= 0:
                        if count >= room:
                            return value, before
                        found_value[count] = value
                        found_place[count] = ending * MODES + AT_END
                        count += 1
                    state = nodes[state, FAIL]
                break
            # A literal may begin in the bytes of the shallow state that is left: their grams come first.
            ready = place + (size - 1) - (-1 - state)
    return start.size - 1, count
