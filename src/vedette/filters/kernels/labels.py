"""Joins the labels of each event's matches into one text per event: separated, or padded to one width.

Labels are stored one after another: label n is `data[offsets[n] : offsets[n + 1]]`. A match costs nothing but its
bytes in the text, so the lower bound is copying them: sixteen at a time, even if fewer are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from vedette.filters.kernels.match_rows import MatchRows
from vedette.kernels.compile import inlined, kernel

_WIDE = 16
PAD = 32  # a space: pads labels that are too short


class Labels(NamedTuple):
    """Texts by number; read-only, since they may be mapped from a file."""

    offsets: NDArray[np.int64]  # labels + 1
    data: NDArray[np.uint8]


class JoinedTexts(NamedTuple):
    """The text of event e of a part is `text[ends[e] : ends[e + 1]]`."""

    ends: NDArray[np.int32]
    text: NDArray[np.uint8]


if config.DISABLE_JIT:

    def _copy(source: NDArray[np.uint8], begin: int, target: NDArray[np.uint8], place: int) -> None:
        target[place : place + _WIDE] = source[begin : begin + _WIDE]

else:

    @intrinsic
    def _copy_at(typingctx: Any, source: Any, target: Any) -> Any:
        """Copy sixteen bytes from one address to another."""
        wide = ir.VectorType(ir.IntType(8), _WIDE).as_pointer()

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], wide), align=1)
            builder.store(value, builder.inttoptr(arguments[1], wide), align=1)
            return context.get_dummy_value()

        return types.void(types.uintp, types.uintp), generate

    @inlined
    def _copy(source: NDArray[np.uint8], begin: int, target: NDArray[np.uint8], place: int) -> None:
        _copy_at(np.uintp(source.ctypes.data + begin), np.uintp(target.ctypes.data + place))


@kernel
def _measure(rows: MatchRows, labels: Labels, ends: NDArray[np.int64]) -> None:
    """Set ends[e + 1] to where the text of event e ends, if all are written one after another."""
    start, subscription, offsets = rows.start, rows.subscription, labels.offsets
    end = np.int64(0)
    ends[0] = end
    for e in range(start.size - 1):
        for i in range(start[e], start[e + 1]):
            number = subscription[i]
            end += offsets[number + 1] - offsets[number] + 1
        if start[e + 1] > start[e]:
            end -= 1  # no separator after the last one
        ends[e + 1] = end


@kernel
def _write(
    rows: MatchRows, labels: Labels, separator: np.uint8, first: int, last: int, text: NDArray[np.uint8]
) -> None:
    """Write the texts of events first .. last; `text` has `_WIDE` spare bytes behind them."""
    start, subscription, offsets, data = rows.start, rows.subscription, labels.offsets, labels.data
    place = np.int64(0)
    for e in range(first, last):
        for i in range(start[e], start[e + 1]):
            begin = offsets[subscription[i]]
            size = offsets[subscription[i] + 1] - begin
            if begin + size + _WIDE <= data.size:
                for done in range(0, size, _WIDE):
                    _copy(data, begin + done, text, place + done)
            else:
                for done in range(size):
                    text[place + done] = data[begin + done]
            text[place + size] = separator
            place += size + 1
        if start[e + 1] > start[e]:
            place -= 1


@kernel
def _write_padded(rows: MatchRows, labels: Labels, width: int, first: int, last: int, text: NDArray[np.uint8]) -> None:
    """As `_write`, with labels of one width; bytes written beyond a label are overwritten by the next one."""
    start, subscription, offsets, data = rows.start, rows.subscription, labels.offsets, labels.data
    pad = np.full(_WIDE, PAD, np.uint8)
    place = np.int64(0)
    for i in range(start[first], start[last]):
        begin = offsets[subscription[i]]
        size = offsets[subscription[i] + 1] - begin
        if begin + size + _WIDE <= data.size:
            for done in range(0, size, _WIDE):
                _copy(data, begin + done, text, place + done)
        else:
            for done in range(size):
                text[place + done] = data[begin + done]
        for done in range(size, width, _WIDE):
            _copy(pad, 0, text, place + done)
        place += width


def joined(rows: MatchRows, labels: Labels, separator: int, most: int) -> Iterator[JoinedTexts]:
    """The texts of all events, in parts of at most `most` bytes; a longer text of one event is a part of its own."""
    ends = np.empty(len(rows.start), np.int64)
    _measure(rows, labels, ends)
    for first, last in _parts(ends, most):
        text = np.empty(int(ends[last] - ends[first]) + _WIDE, np.uint8)
        _write(rows, labels, np.uint8(separator), first, last, text)
        yield _part(ends, first, last, text)


def padded(rows: MatchRows, labels: Labels, width: int, most: int) -> Iterator[JoinedTexts]:
    """As `joined`, without separators; labels shorter than `width` are padded with spaces, none is longer."""
    ends = rows.start * width
    for first, last in _parts(ends, most):
        text = np.empty(int(ends[last] - ends[first]) + _WIDE, np.uint8)
        _write_padded(rows, labels, width, first, last, text)
        yield _part(ends, first, last, text)


def _parts(ends: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    first, events = 0, len(ends) - 1
    while first < events:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + most, "right")) - 1)
        yield first, last
        first = last


def _part(ends: NDArray[np.int64], first: int, last: int, text: NDArray[np.uint8]) -> JoinedTexts:
    return JoinedTexts((ends[first : last + 1] - ends[first]).astype(np.int32), text[: len(text) - _WIDE])
