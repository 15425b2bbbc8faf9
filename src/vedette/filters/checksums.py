"""Checksums of files, block by block: zlib's CRC-32, gigabytes a second, which detects every single flipped bit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

BLOCK: Final = 1 << 18  # bytes per checksum: a block stays in the CPU cache between reading and summing


def block_sums(path: Path, block: int = BLOCK) -> list[int]:
    """The checksum of every block of a file; the last may be shorter."""
    return [zlib.crc32(piece) for piece in _pieces(path, block)]


def whole_sum(path: Path) -> int:
    """The checksum of a whole file."""
    found = 0
    for piece in _pieces(path, BLOCK):
        found = zlib.crc32(piece, found)
    return found


def wrong_blocks(path: Path, sums: Sequence[int], block: int) -> Iterator[tuple[int, int]]:
    """The first and last byte of every block whose checksum differs."""
    begin = number = 0
    for number, piece in enumerate(_pieces(path, block), 1):
        if number > len(sums) or zlib.crc32(piece) != sums[number - 1]:
            yield begin, begin + len(piece) - 1
        begin += len(piece)
    if number < len(sums):  # the file was truncated while it was read
        yield begin, begin + block - 1


def _pieces(path: Path, size: int) -> Iterator[memoryview]:
    """A file in pieces that share one buffer. Read, not mapped: an unreadable sector raises, not ends the process."""
    buffer = memoryview(bytearray(size))
    with path.open("rb", buffering=0) as file:
        filled = 0
        while found := file.readinto(buffer[filled:]):
            filled += found
            if filled == size:
                yield buffer
                filled = 0
        if filled:
            yield buffer[:filled]
