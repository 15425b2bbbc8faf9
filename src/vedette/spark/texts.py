"""The fast path of a DataFrame, where operators bind nothing: for every event one text that names its matches.

A text is what crosses back fastest: with 100,000 filters and 16 matches an event, 2.2 times as many events a second as
by `vedette.spark.told` (618,574 against 280,065 on two cores). It is the labels of the subscriptions, all of one width
or separated by SEPARATOR; a label is the id, or the id, BETWEEN and the subscriber. An event that breaks the schema has
the text REJECTED and the reason. An event without matches has none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructType

from vedette.engine.slicing import Slicer
from vedette.errors import NotSupported, VedetteError
from vedette.filters.kernels.labels import JoinedTexts, Labels, joined, padded
from vedette.filters.kernels.match_rows import MatchRows
from vedette.filters.matcher import Matcher
from vedette.filters.subscription_view import PIECE
from vedette.schema.encode import EncodedEvents
from vedette.spark.engines import Sent
from vedette.spark.snapshots import ShippedSnapshot, opened
from vedette.spark.versions import with_answers
from vedette.spark.worker_columns import sent_columns

SEPARATOR, BETWEEN, REJECTED, ESCAPE = "\x1f", "\x1e", "\x1d", "\x1b"
# Replacements of these characters in labels that contain one of them; ESCAPE itself is the first to be replaced.
ESCAPES = {ESCAPE: f"{ESCAPE}e", SEPARATOR: f"{ESCAPE}s", BETWEEN: f"{ESCAPE}b", REJECTED: f"{ESCAPE}r"}

_GATHERED = 16 << 20  # bytes of events that wait for more to be matched with
_FIRST_SLICE = 64  # events that are matched before it is known how many matches they have
_MOST_TEXT = 32 << 20  # bytes of one array that goes back; Arrow's limit is 2 GiB
_LONGEST = (1 << 31) - 1
_MOST_PADDING = 16  # bytes of a label, on average: as dear as finding the end of one that has a separator
_KEPT = 4  # sets of labels that a process keeps


_LABEL: Final = "label"


@dataclass(frozen=True, slots=True)
class Task:
    """All that is sent to a worker."""

    shipped: ShippedSnapshot
    names: tuple[str, ...]  # of the columns that it gets
    subscribers: bool  # are wanted in labels
    escaped: bool  # some label has one of the characters that mean something
    width: int | None = None  # of all labels, in bytes, and texts are binary; None: SEPARATOR stands between them


def matching(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all its batches: each a column, or a tuple of columns."""

    # Spark sees by these type hints what kind of function it is.
    def texts(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        try:
            worker = _Worker(task)
            for batch in gathered(batches, task.names):
                yield from worker.texts(batch)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return texts


def gathered(batches: Iterator[Any], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Batches joined to the size that the index is fastest with: Spark's are smaller."""
    parts: list[pa.RecordBatch] = []
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
    """Matches the batches of a task."""

    def __init__(self, task: Task) -> None:
        self._matcher = opened(task.shipped).filters
        self._labels = labels_kept(task.shipped, task.subscribers, task.escaped)
        self._width = task.width
        self._slicer = Slicer(_FIRST_SLICE)

    def texts(self, batch: pa.RecordBatch) -> Iterator[pa.Array]:
        """The texts of all events of a batch, in one array or several."""
        for _, events in self._slicer.cut(batch):
            # Unlike in the step, matches of an event come in any order, which is quicker.
            encoded = self._matcher.encode(events, rejects=[])
            rows = self._matcher.match_rows(encoded)
            self._slicer.learn(encoded.size, len(rows.subscription))
            yield from with_rejects(texts_of(rows, self._labels, self._width), encoded)


def texts_of(rows: MatchRows, labels: Labels, width: int | None) -> Iterator[pa.Array]:
    """The texts of all events, in one array or several."""
    matched = np.diff(rows.start) > 0
    begin = 0
    kind: pa.DataType
    if width is None:
        parts, kind = joined(rows, labels, ord(SEPARATOR), _MOST_TEXT), pa.string()
    else:
        parts, kind = padded(rows, labels, width, _MOST_TEXT), pa.binary()
    for part in parts:
        size = len(part.ends) - 1
        yield _array(part, matched[begin : begin + size], kind)
        begin += size


def _array(part: JoinedTexts, matched: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    if len(part.text) > _LONGEST:
        raise NotSupported(
            f"one event matches so many subscriptions that their ids are {len(part.text):,} bytes\n"
            "Hint: leave subscriptions out that match everything, or give them shorter ids"
        )
    bits = np.packbits(matched, bitorder="little")
    return pa.Array.from_buffers(kind, len(matched), [pa.py_buffer(each) for each in (bits, part.ends, part.text)])


def with_rejects(arrays: Iterator[pa.Array], encoded: EncodedEvents) -> Iterator[pa.Array]:
    """The texts, with the reasons of events that break the schema."""
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
    """A reason without the control characters of texts; it quotes values as they are."""
    for character in ESCAPES:
        reason = reason.replace(character, "?")
    return reason


# ---------------------------------------------------------------- labels


@functools.lru_cache(maxsize=_KEPT)
def labels_kept(shipped: ShippedSnapshot, subscribers: bool, escaped: bool) -> Labels:
    """The labels of all subscriptions, cached for the next task."""
    return labels_of(opened(shipped).filters, subscribers, escaped)


def labels_of(matcher: Matcher, subscribers: bool, escaped: bool) -> Labels:
    """The labels of all subscriptions; the mapped ids themselves, if nothing else is needed."""
    texts: pa.Array = matcher.ids
    names = matcher.segment.records.table.column(2) if subscribers else None
    if escaped:
        texts, names = _escaped(texts), None if names is None else _escaped(names)
    if names is not None:
        both = pc.binary_join_element_wise(texts, names, pa.scalar(BETWEEN, pa.large_string()))
        texts = pc.coalesce(both, texts)
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None:
        return Labels(_read_only(np.zeros(1, np.int64)), _read_only(np.zeros(0, np.uint8)))
    where = np.frombuffer(memoryview(offsets), np.int64, len(texts) + 1, texts.offset * 8)
    return Labels(_read_only(where), _read_only(np.frombuffer(memoryview(data or b""), np.uint8)))


def label_width(matcher: Matcher, subscribers: bool) -> int | None:
    """The width of labels padded with spaces; None if their lengths differ too much, or one ends with a space."""
    width = total = 0
    for column in (matcher.ids, matcher.segment.records.table.column(2))[: 1 + subscribers]:
        sizes = pc.binary_length(column)
        width += (pc.max(sizes).as_py() or 0) + 1
        total += (pc.sum(sizes).as_py() or 0) + len(column)
        if pc.any(pc.ends_with(column, " ")).as_py():
            return None
    return width if width * len(matcher) <= total + _MOST_PADDING * len(matcher) else None


def needs_escapes(matcher: Matcher) -> bool:
    """Whether some id or subscriber has one of the control characters."""
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
    """Make an array read-only: kernels are compiled for one kind of array, and mapped ones cannot be written."""
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------- what the driver asks for, and reads


def texts_told(
    events: DataFrame,
    stored: StructType,
    matcher: Matcher,
    sent: Sent,
    carried: Sequence[Column],
    *,
    subscribers: bool,
    rejects: bool,
) -> tuple[DataFrame, list[str]]:
    """The `carried` columns, then those of matches, as in `vedette.spark.told`; and the attributes that lead nowhere.

    The columns of `events` go by their numbers, _0, _1, …; the first of them are those of `stored`.
    """
    columns = matcher.segment.codebook.columns
    crossing, nowhere = sent_columns(columns, matcher.schema, stored, lambda number: F.col(f"_{number}"))
    names = tuple(each.name for each in crossing) or ("",)
    arguments = [each.column for each in crossing] or [F.lit(True)]  # Python has to know how many events there are
    escaped = needs_escapes(matcher)
    width = None if escaped else label_width(matcher, subscribers)
    function = matching(Task(sent.snapshot, names, subscribers, escaped, width))
    texts = with_answers(events, carried, "text", function, arguments, StringType() if width is None else BinaryType())
    if not rejects:
        said = F.col("text").cast("string")
        texts = unbroken(texts, said.startswith(REJECTED), F.substring(said, 2, 10_000))
    read = _read(F.col(_LABEL), subscribers, escaped, rejects)
    return _labelled(texts, carried, width, rejects).select(*carried, *read), nowhere


def unbroken(events: DataFrame, breaks: Column, reason: Column) -> DataFrame:
    """The events; the first one that breaks the schema ends the job."""
    said = F.lit('\nHint: rejects="keep" gives such events as rows with a reason')
    broken = F.raise_error(F.concat(F.lit("an event breaks the schema: "), reason, said))
    return events.where(F.when(breaks, broken).otherwise(F.lit(True)))


def _labelled(named: DataFrame, carried: Sequence[Column], width: int | None, rejects: bool) -> DataFrame:
    """A row for every label of a text; a text of a rejected event is one label."""
    text = F.col("text")
    if width is None:
        return named.select(*carried, F.explode(F.split(text, SEPARATOR)).alias(_LABEL))
    # Bytes are cut off by counting. To split a text, Spark decodes it, and encodes every label anew.
    size = F.lit(width)
    if rejects:
        size = F.when(text.cast("string").startswith(REJECTED), F.length(text)).otherwise(size)
    placed = named.select(*carried, text, F.explode(F.sequence(F.lit(1), F.length(text), size)).alias("place"))
    label = F.substr(text, F.col("place"), F.lit(size)).cast("string")
    return placed.select(*carried, F.rtrim(label).alias(_LABEL))


def _read(label: Column, subscribers: bool, escaped: bool, rejects: bool) -> list[Column]:
    """Subscription, subscriber and reason, those that are asked for, from a label."""

    def plain(part: Column) -> Column:
        if escaped:
            for character in reversed(ESCAPES):
                part = F.replace(part, F.lit(ESCAPES[character]), F.lit(character))
        return F.when(~label.startswith(REJECTED), part) if rejects else part

    found = [plain(F.substring_index(label, BETWEEN, 1) if subscribers else label).alias("subscription")]
    if subscribers:
        whose = F.when(F.contains(label, F.lit(BETWEEN)), F.substring_index(label, BETWEEN, -1))
        found.append(plain(whose).alias("subscriber"))
    if rejects:
        found.append(F.when(label.startswith(REJECTED), F.substring(label, 2, 10_000)).alias("reason"))
    return found
