"""Passes many arrays to a kernel at once, as addresses.

Unpacking an array at the border between Python and a kernel costs about 0.2 us; an index has over a dozen of them,
and a single event should be matched in a few microseconds. So they are described once, by one array of addresses and
lengths, which stays valid as long as the arrays themselves are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray, config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from vedette.kernels.compile import inlined


def addresses_of(arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Address and number of elements of each array (contiguous ones only)."""
    if any(not array.flags.c_contiguous for array in arrays):
        raise ValueError("only contiguous arrays have an address that says it all")
    return np.array([[array.ctypes.data, array.size] for array in arrays], np.int64)


if config.DISABLE_JIT:
    import ctypes

    def array_at(addresses: NDArray[np.int64], number: int, dtype: Any) -> NDArray[Any]:
        """The array described by a row of `addresses`, flat."""
        address, size = int(addresses[number, 0]), int(addresses[number, 1])
        buffer = (ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address)
        return np.frombuffer(buffer, dtype)

else:

    @intrinsic
    def _pointer(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), generate

    @inlined
    def array_at(addresses: NDArray[np.int64], number: int, dtype: Any) -> NDArray[Any]:
        """The array described by a row of `addresses`, flat."""
        return carray(_pointer(addresses[number, 0]), (addresses[number, 1],), dtype)
