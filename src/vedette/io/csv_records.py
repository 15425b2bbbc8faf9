"""Split CSV text into records: lines, unless a quoted field contains the end of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LONGEST = 1 << 23  # 8 MiB: a quote that is not closed within that is taken for a slip
_NEWLINE = 10
_RETURN = 13
# A quote opens a field only at its beginning; a doubled one inside is a literal quote.
_LINE_END = re.compile(rb"\r\n?|\n")
_QUOTED = re.compile(rb'(?:\A|(?<=[,\r\n]))"[^"]*(?:""[^"]*)*("|\Z)')


class RecordBlock(NamedTuple):
    """Complete records, one after the other."""

    text: bytes  # ends with a line end
    start: NDArray[np.int64]  # of every record that is not blank, in `text`
    end: NDArray[np.int64]  # without its line end
    line: NDArray[np.int64]  # its first line, counted from 1
    first: int  # the line in which the text begins
    unclosed: bool = False  # one line only, in which a quote is opened and never closed

    def __len__(self) -> int:
        return len(self.start)

    def raw(self, place: int) -> str:
        """The text of a record."""
        return self._octets(place).rstrip(b"\r").decode("utf-8", "replace")

    def readable(self) -> tuple[bytes, NDArray[np.int64]]:
        """The records that are UTF-8 text without an open quote, and their indexes."""
        places = np.arange(0 if self.unclosed else len(self))
        if not len(places) or _is_utf8(self.text):
            return self.text, places
        places = np.array([place for place in places.tolist() if _is_utf8(self._octets(place))], np.int64)
        return b"".join(self._octets(place) + b"\n" for place in places.tolist()), places

    def _octets(self, place: int) -> bytes:
        return self.text[self.start[place] : self.end[place]]


def split_records(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[RecordBlock]:
    """The records of a CSV text, about a block at a time. A line ends with LF, CR LF, or CR alone."""
    line = 1
    text = b""
    for block, is_last in _with_end(blocks):
        text += block
        while text:
            records, lines = _whole(text, line)
            if records is not None:
                yield records
                text, line = text[len(records.text) :], line + lines
            elif is_last or len(text) > longest:
                yield (records := _one_line(text, line))
                text, line = text[len(records.text) :], line + 1
            else:
                break


def _one_line(text: bytes, line: int) -> RecordBlock:
    """The first line of a text in which a quote is never closed."""
    found = _LINE_END.search(text)
    end, cut = found.span() if found is not None else (len(text), len(text))
    return RecordBlock(text[:cut], np.array([0]), np.array([end]), np.array([line]), line, unclosed=True)


def _with_end(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each block, and whether it is the last one, which gets a line end if it has none."""
    held: bytes | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    if held is not None:
        yield held if held.endswith(b"\n") else held + b"\n", True


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _quoted_spans(text: bytes) -> list[tuple[int, int]]:
    """Quoted fields that contain a line end; an unclosed one reaches to the end of the text."""
    if b'"' not in text:
        return []
    spans = []
    for field in _QUOTED.finditer(text):
        begin, end = field.span()
        if not field.group(1):
            end = len(text) + 1
        if text.find(b"\n", begin, end) >= 0 or text.find(b"\r", begin, end) >= 0:
            spans.append((begin, end))
    return spans


def _line_ends(text: bytes) -> NDArray[np.int64]:
    """Where lines end: the last byte of each line end. A CR at the very end may be half of one: it does not count."""
    octets = np.frombuffer(text, np.uint8)
    if b"\r" not in text:
        return np.flatnonzero(octets == _NEWLINE)
    alone = octets == _RETURN
    alone[:-1] &= octets[1:] != _NEWLINE
    alone[-1] = False
    return np.flatnonzero((octets == _NEWLINE) | alone)


def _whole(text: bytes, line: int) -> tuple[RecordBlock | None, int]:
    """The complete records at the beginning of the text, and their number of lines; None if there is none."""
    spans = _quoted_spans(text)
    newlines = end = _line_ends(text)
    if spans:
        begins, closes = np.array(spans).T
        field = np.searchsorted(begins, newlines) - 1  # the last field that begins before
        end = newlines[(field < 0) | (newlines >= closes[field])]
    if not len(end):
        return None, 0
    text = text[: int(end[-1]) + 1]
    octets = np.frombuffer(text, np.uint8)
    start = np.concatenate([[0], end[:-1] + 1])
    blank = (end == start) | ((end == start + 1) & (octets[start] == _RETURN))
    start, end = start[~blank], end[~blank]
    lines = int(np.searchsorted(newlines, len(text)))
    return RecordBlock(text, start, end, line + np.searchsorted(newlines, start), line), lines


def records_of(text: bytes, first: int, *, unclosed: bool) -> RecordBlock:
    """Records from their text, after it was sent elsewhere."""
    if not unclosed:
        # A CR at the end of the text is a line end only if something else than LF follows.
        records, _ = _whole(text + b" ", first)
        if records is not None:
            return records
    return _one_line(text, first)
