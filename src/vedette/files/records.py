"""CSV text cut into records: lines, unless a quoted field holds the end of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LONGEST = 1 << 23  # 8 MiB: a quote that is not closed within that is taken for a slip
_NEWLINE = 10
_RETURN = 13
# A quote opens a field only at its beginning; a doubled one inside stands for itself.
_QUOTED = re.compile(rb'(?:\A|(?<=[,\r\n]))"[^"]*(?:""[^"]*)*("|\Z)')


class Records(NamedTuple):
    """Whole records, one after the other."""

    text: bytes  # ends with a line end
    start: NDArray[np.int64]  # of every record that is not blank, in `text`
    end: NDArray[np.int64]  # without its line end
    line: NDArray[np.int64]  # its first line, counted from 1
    unclosed: bool = False  # one line only, in which a quote is opened and never closed

    def __len__(self) -> int:
        return len(self.start)

    def raw(self, place: int) -> str:
        """The text of a record."""
        return self.text[self.start[place] : self.end[place]].rstrip(b"\r").decode("utf-8", "replace")


def split_records(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[Records]:
    """The records of a CSV text, about a block at a time."""
    line = 1
    text = b""
    for block, is_last in _with_end(blocks):
        text += block
        while text:
            records = _whole(text, line)
            if records is not None:
                yield records
                text, line = text[len(records.text) :], line + records.text.count(b"\n")
            elif is_last or len(text) > longest:
                head, _, text = text.partition(b"\n")
                head += b"\n"
                yield Records(head, np.array([0]), np.array([len(head) - 1]), np.array([line]), unclosed=True)
                line += 1
            else:
                break


def _with_end(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each block and whether it is the last one, which then ends with a line end."""
    held: bytes | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    if held is not None:
        yield held if held.endswith(b"\n") else held + b"\n", True


def _quoted_spans(text: bytes) -> list[tuple[int, int]]:
    """Quoted fields that hold a line end; an unclosed one reaches to the end of the text."""
    if b'"' not in text:
        return []
    spans = []
    for field in _QUOTED.finditer(text):
        begin, end = field.span()
        if not field.group(1):
            end = len(text) + 1
        if end > len(text) or text.find(b"\n", begin, end) >= 0:
            spans.append((begin, end))
    return spans


def _whole(text: bytes, line: int) -> Records | None:
    """The whole records at the beginning of the text; None if not even the first one is."""
    spans = _quoted_spans(text)
    last = text.rfind(b"\n")
    for begin, close in reversed(spans):
        if last >= close:
            break
        if last >= begin:
            last = text.rfind(b"\n", 0, begin)
    if last < 0:
        return None
    text = text[: last + 1]
    octets = np.frombuffer(text, np.uint8)
    newlines = end = np.flatnonzero(octets == _NEWLINE)
    if spans:
        begins, closes = np.array(spans).T
        field = np.searchsorted(begins, newlines) - 1  # the last field that begins before
        end = newlines[(field < 0) | (newlines >= closes[field])]
    start = np.concatenate([[0], end[:-1] + 1])
    blank = (end == start) | ((end == start + 1) & (octets[start] == _RETURN))
    start, end = start[~blank], end[~blank]
    return Records(text, start, end, line + np.searchsorted(newlines, start))
