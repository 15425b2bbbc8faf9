"""What runs in Spark's Python workers: columns in, for every event one text that names its matches out.

A text is what crosses back fastest. It is the labels of the subscriptions, all of one width or separated by SEPARATOR;
a label is the id, or the id, BETWEEN and the subscriber. An event that breaks the schema has the text REJECTED and the
reason. An event without matches has none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vedette.errors import NotSupported, VedetteError
from vedette.kernels.labels import Joined, Labels, joined, padded
from vedette.kernels.rows import Rows
from vedette.matching.matcher import Matcher
from vedette.matching.view import PIECE
from vedette.schema.encode import Encoded
from vedette.spark.snapshots import Shipped, opened

SEPARATOR, BETWEEN, REJECTED, ESCAPE = "\x1f", "\x1e", "\x1d", "\x1b"
# What stands for these characters in labels that contain one of them; ESCAPE itself is the first to be replaced.
ESCAPES = {ESCAPE: f"{ESCAPE}e", SEPARATOR: f"{ESCAPE}s", BETWEEN: f"{ESCAPE}b", REJECTED: f"{ESCAPE}r"}

_GATHERED = 16 << 20  # bytes of events that wait for more to be matched with
_FIRST_SLICE = 64  # events that are matched before it is known how many matches they have
_MATCHES = 4_000_000  # at a time, about: more cost memory and gain nothing
_MOST_TEXT = 32 << 20  # bytes of one array that goes back; Arrow's limit is 2 GiB
_LONGEST = (1 << 31) - 1
_MOST_PADDING = 16  # bytes of a label, on average: as dear as finding the end of one that has a separator
_KEPT = 4  # sets of labels that a process keeps


@dataclass(frozen=True, slots=True)
class Task:
    """All that travels to a worker."""

    shipped: Shipped
    names: tuple[str, ...]  # of the columns that it gets
    subscribers: bool  # are wanted in labels
    escaped: bool  # some label has one of the characters that mean something
    width: int | None = None  # of all labels, in bytes, and texts are binary; None: SEPARATOR stands between them


def matching(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all its batches: each a column, or a tuple of columns."""

    # Spark tells by these hints what kind of function it is.
    def texts(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        try:
            worker = _Worker(task)
            for batch in gathered(batches, task.names):
                yield from worker.texts(batch)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return texts


def gathered(batches: Iterator[Any], names: Sequence[str]) -> Iterator[Any]:
    """As many events at a time as the index is fastest with, in one batch: Spark hands in fewer."""
    parts: list[Any] = []
    events = size = 0
    for columns in batches:
        part = pa.RecordBatch.from_arrays(list(columns) if isinstance(columns, tuple) else [columns], list(names))
        parts.append(part)
        events, size = events + part.num_rows, size + part.nbytes
        if events + part.num_rows > PIECE or size > _GATHERED:
            yield pa.concat_batches(parts)
            parts, events, size = [], 0, 0
    if parts:
        yield pa.concat_batches(parts)


class _Worker:
    """Matches batch after batch, in slices that are as large as their matches allow."""

    def __init__(self, task: Task) -> None:
        self._matcher = opened(task.shipped)
        self._labels = labels_kept(task.shipped, task.subscribers, task.escaped)
        self._width = task.width
        self._slice = _FIRST_SLICE

    def texts(self, batch: Any) -> Iterator[Any]:
        """The texts of all events of a batch, in one array or several."""
        begin = 0
        while begin < batch.num_rows:
            events = batch.slice(begin, self._slice)
            begin += events.num_rows
            encoded = self._matcher.encode(events, rejects=[])
            rows = self._matcher.match_rows(encoded)
            # So many more at once, at most, if they are like these; and not many times more at a stroke.
            most = max(64, int(_MATCHES * events.num_rows / max(1, len(rows.subscription))))
            self._slice = min(most, 8 * self._slice)
            yield from with_rejects(texts_of(rows, self._labels, self._width), encoded)


def texts_of(rows: Rows, labels: Labels, width: int | None) -> Iterator[Any]:
    """The texts of all events, in one array or several."""
    matched = np.diff(rows.start) > 0
    begin = 0
    if width is None:
        parts, kind = joined(rows, labels, ord(SEPARATOR), _MOST_TEXT), pa.string()
    else:
        parts, kind = padded(rows, labels, width, _MOST_TEXT), pa.binary()
    for part in parts:
        size = len(part.ends) - 1
        yield _array(part, matched[begin : begin + size], kind)
        begin += size


def _array(part: Joined, matched: Any, kind: Any) -> Any:
    if len(part.text) > _LONGEST:
        raise NotSupported(
            f"one event matches so many subscriptions that their ids are {len(part.text):,} bytes\n"
            "Hint: leave subscriptions out that match everything, or give them shorter ids"
        )
    bits = np.packbits(matched, bitorder="little")
    return pa.Array.from_buffers(kind, len(matched), [pa.py_buffer(each) for each in (bits, part.ends, part.text)])


def with_rejects(arrays: Iterator[Any], encoded: Encoded) -> Iterator[Any]:
    """The texts, and why some events have no place among them."""
    if not encoded.rejects:
        yield from arrays
        return
    reasons = {one.row: f"{REJECTED}{_plain(f'attribute {one.attribute!r}: {one.reason}')}" for one in encoded.rejects}
    begin = 0
    for array in arrays:
        found = [reasons.get(row) for row in range(begin, begin + len(array))]
        begin += len(array)
        yield pc.coalesce(pa.array(found, pa.string()).cast(array.type), array)


def _plain(reason: str) -> str:
    """A reason without the characters that mean something; it quotes values as they are."""
    for character in ESCAPES:
        reason = reason.replace(character, "?")
    return reason


# ---------------------------------------------------------------- labels


@functools.lru_cache(maxsize=_KEPT)
def labels_kept(shipped: Shipped, subscribers: bool, escaped: bool) -> Labels:
    """What stands for every subscription, kept for the next task."""
    return labels_of(opened(shipped), subscribers, escaped)


def labels_of(matcher: Matcher, subscribers: bool, escaped: bool) -> Labels:
    """What stands for every subscription; the ids as they are mapped, if that is all."""
    texts = matcher.ids
    names = matcher.segment.records.table.column(2) if subscribers else None
    if escaped:
        texts, names = _escaped(texts), None if names is None else _escaped(names)
    if names is not None:
        both = pc.binary_join_element_wise(texts, names, pa.scalar(BETWEEN, pa.large_string()))
        texts = pc.coalesce(both, texts)
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None:
        return Labels(_read_only(np.zeros(1, np.int64)), _read_only(np.zeros(0, np.uint8)))
    where = np.frombuffer(offsets, np.int64, len(texts) + 1, texts.offset * 8)
    return Labels(_read_only(where), _read_only(np.frombuffer(data, np.uint8)))


def label_of(id_: str, subscriber: str | None, escaped: bool) -> str:
    """What stands for one subscription, whose subscriber is wanted, if there is one."""
    if escaped:
        for character, written in ESCAPES.items():
            id_ = id_.replace(character, written)
            subscriber = None if subscriber is None else subscriber.replace(character, written)
    return id_ if subscriber is None else f"{id_}{BETWEEN}{subscriber}"


def label_width(matcher: Matcher, subscribers: bool) -> int | None:
    """How wide all labels are made, with spaces; None if they are too different for that, or one ends with a space."""
    width = total = 0
    for column in (matcher.ids, matcher.segment.records.table.column(2))[: 1 + subscribers]:
        sizes = pc.binary_length(column)
        width += (pc.max(sizes).as_py() or 0) + 1
        total += (pc.sum(sizes).as_py() or 0) + len(column)
        if pc.any(pc.ends_with(column, " ")).as_py():
            return None
    return width if width * len(matcher) <= total + _MOST_PADDING * len(matcher) else None


def needs_escapes(matcher: Matcher) -> bool:
    """Some id or subscriber has one of the characters that mean something."""
    for column in (matcher.ids, matcher.segment.records.table.column(2)):
        data = column.buffers()[2]
        raw = b"" if data is None else data.to_pybytes()
        if any(character.encode() in raw for character in ESCAPES):
            return True
    return False


def _escaped(texts: Any) -> Any:
    for character, written in ESCAPES.items():
        texts = pc.replace_substring(texts, character, written)
    return texts


def _read_only(array: Any) -> Any:
    """Kernels are compiled for one kind of array, and what is mapped must not be written to."""
    array.flags.writeable = False
    return array
