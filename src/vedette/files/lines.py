"""Lines of text, with their numbers, from blocks of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST = 1 << 26  # 64 MiB: a line beyond that is not kept in memory


class Lines(NamedTuple):
    """Some lines that follow one another; `first` is the number of the first one, counted from 1."""

    first: int
    lines: list[bytes]
    too_long: bool = False  # one line, of which only the beginning is here


def split(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[Lines]:
    """Whole lines, without their ends, about a block at a time."""
    number = 1
    rest: list[bytes] = []  # the beginning of a line whose end has not come yet
    held = 0
    skipping = False
    for block in blocks:
        if skipping:
            _, newline, block = block.partition(b"\n")
            if not newline:
                continue
            skipping = False
            number += 1
        cut = block.rfind(b"\n")
        if cut < 0:
            rest.append(block)
            held += len(block)
            if held > longest:
                yield Lines(number, [b"".join(rest)[:200]], True)
                rest, held, skipping = [], 0, True
            continue
        lines = b"".join([*rest, block[:cut]]).split(b"\n")
        yield Lines(number, lines)
        number += len(lines)
        rest, held = [block[cut + 1 :]], len(block) - cut - 1
    last = b"".join(rest)
    if last:
        yield Lines(number, [last])
