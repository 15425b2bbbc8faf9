"""Split blocks of bytes into numbered lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST = 1 << 26  # 64 MiB: a line beyond that is not kept in memory


class Lines(NamedTuple):
    """Consecutive lines; `first` is the number of the first one, counted from 1."""

    first: int
    lines: list[bytes]
    too_long: bool = False  # one line, of which only the beginning is here


class WholeLines(NamedTuple):
    """Consecutive lines before splitting: with an LF between them, but none at the end."""

    text: bytes
    too_long: bool = False


def split(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[Lines]:
    """Split into complete lines, without their ends, about a block at a time."""
    return numbered(whole_lines(blocks, longest))


def numbered(texts: Iterable[WholeLines]) -> Iterator[Lines]:
    """Lines one by one, with their numbers."""
    number = 1
    for text, too_long in texts:
        lines = text.split(b"\n")
        yield Lines(number, lines, too_long)
        number += len(lines)


def whole_lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[WholeLines]:
    """Blocks of bytes cut again at line ends; about a block at a time."""
    rest: list[bytes] = []  # the beginning of a line whose end has not come yet
    held = 0
    skipping = False
    for block in blocks:
        if skipping:
            _, newline, block = block.partition(b"\n")
            if not newline:
                continue
            skipping = False
        cut = block.rfind(b"\n")
        if cut < 0:
            rest.append(block)
            held += len(block)
        else:
            yield WholeLines(b"".join([*rest, block[:cut]]))
            rest, held = [block[cut + 1 :]], len(block) - cut - 1
        if held > longest:
            yield WholeLines(b"".join(rest)[:200], True)
            rest, held, skipping = [], 0, True
    last = b"".join(rest)
    if last:
        yield WholeLines(last)
