"""Matches whole values, as UTF-8 bytes, against compiled LIKE patterns that have wildcards inside."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

# Operations besides the bytes 0 .. 255, which match themselves.
ONE_CHARACTER = 256
ANY_TEXT = 257

# Columns of the table that describes UTF-8 characters by their first byte.
_LENGTH, _SECOND_LOW, _SECOND_HIGH = range(3)


class WildcardPrograms(NamedTuple):
    """Program p is `operations[start[p] : start[p + 1]]`."""

    start: NDArray[np.int64]
    operations: NDArray[np.int16]


def _first_bytes() -> NDArray[np.uint8]:
    """For every first byte: the length of the character, and the range of its second byte (RFC 3629, §4)."""
    table = np.zeros((256, 3), np.uint8)
    table[:, _LENGTH] = 1
    for first in range(0xC2, 0xF5):
        length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        low = {0xE0: 0xA0, 0xF0: 0x90}.get(first, 0x80)
        high = {0xED: 0x9F, 0xF4: 0x8F}.get(first, 0xBF)
        table[first] = (length, low, high)
    return table


_FIRST_BYTES = _first_bytes()


@kernel
def character_length(text: NDArray[np.uint8], place: Any, high: Any) -> Any:
    """The number of bytes of the character at `place`; a byte that is not UTF-8 is a character of its own."""
    first = text[place]
    length = np.int64(_FIRST_BYTES[first, _LENGTH])
    if length == 1 or place + length > high:
        return 1
    if text[place + 1] < _FIRST_BYTES[first, _SECOND_LOW] or text[place + 1] > _FIRST_BYTES[first, _SECOND_HIGH]:
        return 1
    for later in range(place + 2, place + length):
        if text[later] < 0x80 or text[later] > 0xBF:
            return 1
    return length


@kernel
def like(
    programs: WildcardPrograms,
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    value: NDArray[np.int32],
    program: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Whether value `value[i]`, which is `text[start[v] : start[v + 1]]`, satisfies `program[i]`, for every i.

    The text between two `%` is matched at the first position where it can be: only the last `%` ever has to be
    extended.
    """
    operations = programs.operations
    holds = np.zeros(value.size, np.bool_)
    for pair in range(value.size):
        place = start[value[pair]]
        high = start[value[pair] + 1]
        step = programs.start[program[pair]]
        end = programs.start[program[pair] + 1]
        after_any = np.int64(-1)  # the operation behind the last ANY_TEXT ...
        taken_up_to = np.int64(0)  # ... and where the text that it matches ends so far
        while place < high or step < end:
            operation = np.int64(operations[step]) if step < end else np.int64(-1)
            if operation == ANY_TEXT:
                step += 1
                if step == end:
                    place = high
                    break
                after_any = step
                taken_up_to = place
            elif place < high and operation == text[place]:
                step += 1
                place += 1
            elif place < high and operation == ONE_CHARACTER:
                step += 1
                place += 1 if text[place] < 0x80 else character_length(text, place, high)
            elif after_any >= 0 and taken_up_to < high:
                first = operations[after_any]
                taken_up_to += 1 if text[taken_up_to] < 0x80 else character_length(text, taken_up_to, high)
                if first < 0x80:
                    while taken_up_to < high and text[taken_up_to] != first:
                        taken_up_to += 1
                place = taken_up_to
                step = after_any
            else:
                break
        holds[pair] = place == high and step == end
    return holds
