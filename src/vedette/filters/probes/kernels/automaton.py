"""Searches UTF-8 bytes for many literal strings at once: Aho and Corasick's automaton, entered through a hash.

States are the prefixes of the literals, numbered breadth first, so that the children of a state are neighbours
and failure links point to smaller numbers (Aho and Corasick 1975, §3). All literals of one machine have at
least `gram` bytes. States shallower than that are never visited: as long as no literal is in progress, every
position is tested for the `gram` bytes with which some literal may begin (one bit, in the processor's cache),
and if so the hash of these bytes leads right to the state of depth `gram`. From there on it is the automaton,
with its failure links and its linear time, until it falls back to a shallow state.

`vedette.filters.probes.kernels.automaton_build` makes the automaton.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.kernels.utf8_text import eight_bytes, four_bytes
from vedette.kernels.compile import kernel

# Modes: where in a value a literal must be found for its targets to be reported.
ANYWHERE, AT_START, AT_END, WHOLE = range(4)
MODES = 4

# Up to this length a single value may report a literal several times.
BRIEF = 256

# Columns of `Automaton.nodes`.
FIRST, FAIL, EDGES, INNER = range(4)

MIX_LOW = np.uint64(0x9E3779B1)
MIX_HIGH = np.uint64(0x85EBCA77)
LOW_BITS = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
# The position of a bit in words of 64.
SIX = np.uint64(6)
IN_WORD = np.uint64(63)


class Automaton(NamedTuple):
    """The automaton.

    `nodes` has for each state its first child, its failure link, its edges (the number of children times 256, plus
    the byte of the first one) and its nearest ending: the longest suffix of the state that is a literal reported
    ANYWHERE, or -1. From an ending, `shorter` leads to the next one. A failure link to a shallow state, one of
    fewer than `gram` bytes, is -1 minus its depth.
    """

    filter: NDArray[np.uint64]  # one bit per hash of a gram
    grams: NDArray[np.uint64]  # open addressing: the gram in a slot ...
    entries: NDArray[np.int32]  # ... and the state of depth `gram` it leads to, or -1
    nodes: NDArray[np.int32]  # [states, 4]
    labels: NDArray[np.uint8]  # the byte that leads to a state
    literal: NDArray[np.int32]  # the literal that a state spells, or -1
    shorter: NDArray[np.int32]
    target_start: NDArray[np.int64]  # literals * MODES + 1: one run of targets for each mode
    targets: NDArray[np.int32]
    longest: NDArray[np.int64]  # for each mode the length of the longest literal reported in it, or -1; then `gram`


class LiteralHits(NamedTuple):
    """(value, target) pairs."""

    value: NDArray[np.int32]
    target: NDArray[np.int32]


@kernel
def mixed(gram: Any) -> Any:
    """A 32-bit hash whose upper bits are well mixed; made of 32-bit products, so that nothing overflows."""
    return (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> np.uint64(32)) * MIX_HIGH)) & LOW_BITS


# ---------------------------------------------------------------- one array for all

# A call from Python pays for every array that it passes, so a machine is passed as one: first, for each of its arrays,
# the word it begins at and its length, then the arrays themselves.


@kernel
def sealed(machine: Automaton) -> NDArray[np.uint64]:
    """Pack the machine into one array."""
    sizes = np.array(
        [
            machine.filter.size,
            machine.grams.size,
            machine.entries.size,
            machine.nodes.size,
            machine.labels.size,
            machine.literal.size,
            machine.shorter.size,
            machine.target_start.size,
            machine.targets.size,
            machine.longest.size,
        ]
    )
    per_word = np.array([1, 1, 2, 2, 8, 2, 2, 1, 2, 1])
    words = (sizes + per_word - 1) // per_word
    image = np.zeros(2 * sizes.size + words.sum(), np.uint64)
    place = 2 * sizes.size
    for number in range(sizes.size):
        image[2 * number] = place
        image[2 * number + 1] = sizes[number]
        place += words[number]
    parts = _parts(image)
    parts.filter[:] = machine.filter
    parts.grams[:] = machine.grams
    parts.entries[:] = machine.entries
    parts.nodes[:] = machine.nodes
    parts.labels[:] = machine.labels
    parts.literal[:] = machine.literal
    parts.shorter[:] = machine.shorter
    parts.target_start[:] = machine.target_start
    parts.targets[:] = machine.targets
    parts.longest[:] = machine.longest
    return image


@kernel
def _parts(image: NDArray[np.uint64]) -> Automaton:
    """Unpack the machine from its one array."""
    return Automaton(
        _part(image, 0, 1),
        _part(image, 1, 1),
        _part(image, 2, 2).view(np.int32)[: image[5]],
        _part(image, 3, 2).view(np.int32)[: image[7]].reshape(-1, 4),
        _part(image, 4, 8).view(np.uint8)[: image[9]],
        _part(image, 5, 2).view(np.int32)[: image[11]],
        _part(image, 6, 2).view(np.int32)[: image[13]],
        _part(image, 7, 1).view(np.int64),
        _part(image, 8, 2).view(np.int32)[: image[17]],
        _part(image, 9, 1).view(np.int64),
    )


@kernel
def _part(image: NDArray[np.uint64], number: int, per_word: int) -> NDArray[np.uint64]:
    first = np.int64(image[2 * number])
    return image[first : first + (np.int64(image[2 * number + 1]) + per_word - 1) // per_word]


# ---------------------------------------------------------------- scanning


@kernel
def scan(image: NDArray[np.uint64], text: NDArray[np.uint8], start: NDArray[np.int64]) -> LiteralHits:
    """The targets of the literals found in each value, each once; value v is `text[start[v] : start[v + 1]]`."""
    machine = _parts(image)
    return _scan(machine, text, start, True)


@kernel
def scan_one(image: NDArray[np.uint64], text: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The targets of the literals found in a single value, ascending, each once."""
    machine = _parts(image)
    start = np.zeros(2, np.int64)
    start[1] = text.size
    # Remembering what has been seen takes longer than scanning a short value.
    found = np.sort(_scan(machine, text, start, text.size > BRIEF).target)
    count = 0
    for place in range(found.size):
        if place == 0 or found[place] != found[count - 1]:
            found[count] = found[place]
            count += 1
    return found[:count]


@kernel
def _scan(machine: Automaton, text: NDArray[np.uint8], start: NDArray[np.int64], once: bool) -> LiteralHits:
    """Scan; with `once`, a literal is reported once per value and mode, otherwise as often as it is found."""
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
) -> LiteralHits:
    """Replace the literals found by the targets that they are reported to."""
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
    return LiteralHits(hit_value, hit_target)


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
# done and how much was found before it. A `place` is a literal's number times MODES, plus the mode.


@kernel
def _scan_starts(
    machine: Automaton,
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    first_value: Any,
    found_value: NDArray[np.int32],
    found_place: NDArray[np.int32],
    count: Any,
) -> tuple[int, int]:
    """Find the literals that values begin with, and those that are whole values."""
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
        hashed = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> np.uint64(32)) * MIX_HIGH)) & LOW_BITS
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
    machine: Automaton,
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    first_value: Any,
    seen: NDArray[np.int32],
    found_value: NDArray[np.int32],
    found_place: NDArray[np.int32],
    count: Any,
) -> tuple[int, int]:
    """Find the literals anywhere in values, and at their ends."""
    bits, grams, entries, nodes = machine.filter, machine.grams, machine.entries, machine.nodes
    labels, literal, shorter = machine.labels, machine.literal, machine.shorter
    inside, at_end, size = machine.longest[ANYWHERE], machine.longest[AT_END], machine.longest[MODES]
    top = np.uint64(8 * (size - 1))
    bit_shift = _hash_shift(bits.size * 64)
    slot_shift = _hash_shift(entries.size)
    slot_mask = entries.size - 1
    room = found_value.size
    once = seen.size > 0
    narrow = size <= 4
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * size)
    for value in range(first_value, start.size - 1):
        place = start[value]
        high = start[value + 1]
        if inside < 0:
            place = max(place, high - at_end)
        before = count
        # The last position at which four grams can be tested at once, and the next one be read, inside of the text.
        last_four = min(high - size, text.size - 9) - 3
        gram = np.uint64(0)
        ready = place + size - 1  # the first position whose byte completes a gram
        while True:
            while place < min(ready, high):
                gram = (gram >> np.uint64(8)) | (np.uint64(text[place]) << top)
                place += 1
            # No literal is in progress: look for a position where one may begin.
            state = np.int32(-1)
            while place < high and state < 0:
                first = place - (size - 1)  # of the gram that the byte here completes
                if first <= last_four:
                    while first <= last_four:
                        if narrow:
                            hashed = ((four_bytes(text, first) & mask) * MIX_LOW) & LOW_BITS
                            hashed1 = ((four_bytes(text, first + 1) & mask) * MIX_LOW) & LOW_BITS
                            hashed2 = ((four_bytes(text, first + 2) & mask) * MIX_LOW) & LOW_BITS
                            hashed3 = ((four_bytes(text, first + 3) & mask) * MIX_LOW) & LOW_BITS
                        else:
                            gram = eight_bytes(text, first) & mask
                            hashed = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> HALF) * MIX_HIGH)) & LOW_BITS
                            gram = eight_bytes(text, first + 1) & mask
                            hashed1 = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> HALF) * MIX_HIGH)) & LOW_BITS
                            gram = eight_bytes(text, first + 2) & mask
                            hashed2 = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> HALF) * MIX_HIGH)) & LOW_BITS
                            gram = eight_bytes(text, first + 3) & mask
                            hashed3 = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> HALF) * MIX_HIGH)) & LOW_BITS
                        hashed >>= bit_shift
                        hashed1 >>= bit_shift
                        hashed2 >>= bit_shift
                        hashed3 >>= bit_shift
                        if (
                            (bits[hashed >> SIX] >> (hashed & IN_WORD))
                            | (bits[hashed1 >> SIX] >> (hashed1 & IN_WORD))
                            | (bits[hashed2 >> SIX] >> (hashed2 & IN_WORD))
                            | (bits[hashed3 >> SIX] >> (hashed3 & IN_WORD))
                        ) & np.uint64(1):
                            break
                        first += 4
                    place = first + (size - 1)
                    gram = (eight_bytes(text, first) & (mask >> np.uint64(8))) << np.uint64(8)
                one_by_one = min(place + 4, high)
                while place < one_by_one:
                    gram = (gram >> np.uint64(8)) | (np.uint64(text[place]) << top)
                    place += 1
                    hashed = (((gram & LOW_BITS) * MIX_LOW) ^ ((gram >> HALF) * MIX_HIGH)) & LOW_BITS
                    bit = hashed >> bit_shift
                    if (bits[bit >> SIX] >> (bit & IN_WORD)) & np.uint64(1):
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
                # If a literal has been seen in this value, so have its suffixes.
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
