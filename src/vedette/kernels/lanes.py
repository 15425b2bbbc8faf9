"""Vector instructions: interval tests of 16 or 64 ranks at a time, and writing out those that passed.

LLVM's vector types give exactly these instructions (load, subtract, compare, take the mask), which the loop
vectoriser does not: its code took more than twice as long for 64 lanes on an AVX-512 machine.
Without the compiler (NUMBA_DISABLE_JIT=1) plain NumPy does the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from vedette.kernels.compile import inlined

LANES = 64
FEW_LANES = 16


def _mask_code(lanes: int) -> Any:
    """LLVM code that tests `lanes` int32 values at an address against `uint32(x - low) <= width`."""
    vector = ir.VectorType(ir.IntType(32), lanes)

    def splat(builder: Any, value: Any) -> Any:
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one, undefined, ir.Constant(vector, [0] * lanes))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, low, width = arguments
        values = builder.load(builder.inttoptr(address, vector.as_pointer()))
        values.align = 4
        passed = builder.icmp_unsigned("<=", builder.sub(values, splat(builder, low)), splat(builder, width))
        return (
            builder.zext(builder.bitcast(passed, ir.IntType(lanes)), ir.IntType(64))
            if lanes < 64
            else (builder.bitcast(passed, ir.IntType(lanes)))
        )

    return types.uint64(types.uintp, types.int32, types.uint32), generate


if config.DISABLE_JIT:

    def within64(values: NDArray[np.int32], at: int, low: Any, width: Any) -> Any:
        """Bit i is set when values[at + i] passes, for 64 values of a flat array."""
        return _interpreted(values, at, low, width, LANES)

    def within16(values: NDArray[np.int32], at: int, low: Any, width: Any) -> Any:
        """Bit i is set when values[at + i] passes, for 16 values of a flat array."""
        return _interpreted(values, at, low, width, FEW_LANES)

    def _interpreted(values: NDArray[np.int32], at: int, low: Any, width: Any, lanes: int) -> Any:
        offset = (values[at : at + lanes].astype(np.int64) - int(low)) & 0xFFFFFFFF
        bits = np.packbits(offset <= (int(width) & 0xFFFFFFFF), bitorder="little")
        return np.uint64(int.from_bytes(bits.tobytes(), "little"))

    def lowest_bit(mask: Any) -> Any:
        """The position of the lowest set bit."""
        value = int(mask)
        return (value & -value).bit_length() - 1

    def bits_set(mask: Any) -> Any:
        """The number of set bits."""
        return int(mask).bit_count()

    def compress16(values: NDArray[np.int32], at: int, mask: Any, out: NDArray[np.int32], count: int) -> None:
        """Write those of 16 values whose bit is set, one after the other."""
        chosen = [values[at + i] for i in range(FEW_LANES) if int(mask) >> i & 1]
        out[count : count + len(chosen)] = chosen

    def fill16(value: Any, out: NDArray[np.int32], count: int) -> None:
        """Write a value 16 times."""
        out[count : count + FEW_LANES] = value

    def passes(rank: Any, low: Any, width: Any) -> Any:
        """Whether one rank passes one predicate."""
        return (int(rank) - int(low)) & 0xFFFFFFFF <= int(width) & 0xFFFFFFFF

else:

    @intrinsic
    def _mask64(typingctx: Any, address: Any, low: Any, width: Any) -> Any:
        return _mask_code(LANES)

    @intrinsic
    def _mask16(typingctx: Any, address: Any, low: Any, width: Any) -> Any:
        return _mask_code(FEW_LANES)

    @intrinsic
    def _trailing_zeros(typingctx: Any, mask: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate

    @intrinsic
    def _ones(typingctx: Any, mask: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def _compress(typingctx: Any, source: Any, mask: Any, target: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), FEW_LANES)
        bits = ir.VectorType(ir.IntType(1), FEW_LANES)
        pointer = ir.IntType(32).as_pointer()

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source_, mask_, target_ = arguments
            values = builder.load(builder.inttoptr(source_, vector.as_pointer()))
            values.align = 4
            chosen = builder.bitcast(builder.trunc(mask_, ir.IntType(FEW_LANES)), bits)
            store = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [vector, pointer, bits]),
                "llvm.masked.compressstore.v16i32",
            )
            builder.call(store, [values, builder.inttoptr(target_, pointer), chosen])
            return context.get_dummy_value()

        return types.void(types.uintp, types.uint64, types.uintp), generate

    @intrinsic
    def _fill(typingctx: Any, value: Any, target: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), FEW_LANES)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            one = builder.insert_element(undefined, arguments[0], ir.Constant(ir.IntType(32), 0))
            all_ = builder.shuffle_vector(one, undefined, ir.Constant(vector, [0] * FEW_LANES))
            store = builder.store(all_, builder.inttoptr(arguments[1], vector.as_pointer()))
            store.align = 4
            return context.get_dummy_value()

        return types.void(types.int32, types.uintp), generate

    @inlined
    def bits_set(mask: Any) -> Any:
        """The number of set bits."""
        return _ones(np.uint64(mask))

    @inlined
    def compress16(values: NDArray[np.int32], at: int, mask: Any, out: NDArray[np.int32], count: int) -> None:
        """Write those of 16 values whose bit is set, one after the other, without a branch."""
        _compress(np.uintp(values.ctypes.data + 4 * at), np.uint64(mask), np.uintp(out.ctypes.data + 4 * count))

    @inlined
    def fill16(value: Any, out: NDArray[np.int32], count: int) -> None:
        """Write a value 16 times."""
        _fill(np.int32(value), np.uintp(out.ctypes.data + 4 * count))

    @inlined
    def within64(values: NDArray[np.int32], at: int, low: Any, width: Any) -> Any:
        """Bit i is set when values[at + i] passes, for 64 values of a flat array."""
        return _mask64(np.uintp(values.ctypes.data + 4 * at), np.int32(low), np.uint32(width))

    @inlined
    def within16(values: NDArray[np.int32], at: int, low: Any, width: Any) -> Any:
        """Bit i is set when values[at + i] passes, for 16 values of a flat array."""
        return _mask16(np.uintp(values.ctypes.data + 4 * at), np.int32(low), np.uint32(width))

    @inlined
    def lowest_bit(mask: Any) -> Any:
        """The position of the lowest set bit."""
        return _trailing_zeros(np.uint64(mask))

    @inlined
    def passes(rank: Any, low: Any, width: Any) -> Any:
        """Whether one rank passes one predicate."""
        return np.uint32(np.uint32(rank) - np.uint32(low)) <= np.uint32(width)
