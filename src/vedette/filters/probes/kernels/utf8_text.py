"""Reads UTF-8 texts several bytes at a time, and lowers their case."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from vedette.kernels.compile import inlined, kernel

# Constants for eight bytes at once.
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS = np.uint64(0x8080808080808080)
_FROM_A = np.uint64((0x80 - ord("A")) * 0x0101010101010101)
_AFTER_Z = np.uint64((0x7F - ord("Z")) * 0x0101010101010101)

if config.DISABLE_JIT:

    def four_bytes(text: NDArray[np.uint8], place: Any) -> Any:
        """The bytes from `place` on as a little-endian integer."""
        return np.uint64(int.from_bytes(text[place : place + 4].tobytes(), "little"))

    def eight_bytes(text: NDArray[np.uint8], place: Any) -> Any:
        """The bytes from `place` on as a little-endian integer."""
        return np.uint64(int.from_bytes(text[place : place + 8].tobytes(), "little"))

else:

    def _load_code(bits: int) -> Any:
        """LLVM code that loads a little-endian word from any address."""
        word = ir.IntType(bits)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(builder.inttoptr(arguments[0], word.as_pointer()))
            loaded.align = 1
            return builder.zext(loaded, ir.IntType(64)) if bits < 64 else loaded

        return types.uint64(types.uintp), generate

    @intrinsic
    def _load32(typingctx: Any, address: Any) -> Any:
        return _load_code(32)

    @intrinsic
    def _load64(typingctx: Any, address: Any) -> Any:
        return _load_code(64)

    @inlined
    def four_bytes(text: NDArray[np.uint8], place: Any) -> Any:
        """The bytes from `place` on as a little-endian integer."""
        return _load32(np.uintp(text.ctypes.data + place))

    @inlined
    def eight_bytes(text: NDArray[np.uint8], place: Any) -> Any:
        """The bytes from `place` on as a little-endian integer."""
        return _load64(np.uintp(text.ctypes.data + place))


@kernel
def lowered_ascii(text: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], bool]:
    """The text with A to Z lowered, eight bytes at a time, and whether it is all ASCII."""
    words = np.empty((text.size + 7) // 8, np.uint64)
    whole = text.size // 8
    seen = np.uint64(0)
    for word in range(words.size):
        if word < whole:
            eight = eight_bytes(text, 8 * word)
        else:
            eight = np.uint64(0)
            for place in range(8 * whole, text.size):
                eight |= np.uint64(text[place]) << np.uint64(8 * (place - 8 * whole))
        seen |= eight
        # The upper bit of a byte says whether it is at least "A" (or beyond "Z"); no sum carries into the next byte.
        low = eight & _LOW_BITS
        upper = ((low + _FROM_A) ^ (low + _AFTER_Z)) & ~eight & _HIGH_BITS
        words[word] = eight | (upper >> np.uint64(2))
    return words.view(np.uint8)[: text.size], (seen & _HIGH_BITS) == np.uint64(0)


@kernel
def beyond_ascii(text: NDArray[np.uint8], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of the values that are not all ASCII; value v is `text[start[v] : start[v + 1]]`."""
    found = np.empty(start.size - 1, np.int64)
    count = 0
    for value in range(start.size - 1):
        place, high = start[value], start[value + 1]
        seen = np.uint64(0)
        while place + 8 <= high:
            seen |= eight_bytes(text, place)
            place += 8
        while place < high:
            seen |= np.uint64(text[place])
            place += 1
        if seen & _HIGH_BITS:
            found[count] = value
            count += 1
    return found[:count]
