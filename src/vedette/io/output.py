"""Write matches and rejects to files, atomically."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vedette.engine.outcomes import OutcomeDetails, Outcomes
from vedette.errors import FileError
from vedette.io.byte_sources import source_format
from vedette.io.chunks import RejectedRow
from vedette.io.row_details import TYPES, columns, ending, escaped, line_ends
from vedette.io.subscription_rows import RejectedSubscription

FORMATS = ("jsonl", "parquet")
_SLICE = 1 << 20  # rows that are made into text at once
_ROW_GROUP = 1 << 17
_MATCH = ', "kind": "match"}\n'
_SCHEMA = pa.schema([("event", pa.string()), ("subscription", pa.string()), ("kind", pa.string())])


class OutputTarget:
    """A file that appears under its name only when it is complete (gzipped if named `.gz`); `-` is standard output."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self._partial: Path | None = None
        self._path: Path | None = None
        self.stream: IO[bytes]
        if str(target) == "-":
            self.stream = sys.stdout.buffer
            return
        self._path = Path(target).resolve()
        try:
            if self._path.exists() and not self._path.is_file():  # a pipe or device cannot be replaced
                self.stream = self._path.open("wb")
                return
            self._partial = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.partial")
            self.stream = self._partial.open("xb")
            if self._path.suffix == ".gz":
                self.stream.close()
                self.stream = gzip.GzipFile(self._partial, "wb", 6)  # type: ignore[assignment]
        except OSError as error:
            why = error.strerror or str(error)
            raise FileError(
                f"cannot write {target}: {why}\nHint: check that the folder is there and writable"
            ) from None

    def finish(self) -> None:
        """Show the complete file under its name."""
        self.stream.flush()
        if self._path is not None:
            self.stream.close()
        if self._path is not None and self._partial is not None:
            self._partial.replace(self._path)

    def abandon(self) -> None:
        """Remove the incomplete file."""
        if self._path is not None:
            self.stream.close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)


@contextlib.contextmanager
def written(place: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream whose contents become a file at the end of the `with` block; after an error, there is no file."""
    target = OutputTarget(place)
    try:
        yield target.stream
        target.finish()
    except BaseException:
        target.abandon()
        raise


class _Writer:
    """Writes to a target, which is finished at the end of the `with` block, or abandoned after an error."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self._target = OutputTarget(target)
        self.count = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
            return
        try:
            self._flush()
            self._target.finish()
        except BaseException:
            self._abandon()
            raise

    def _flush(self) -> None:
        """Write buffered data."""

    def _abandon(self) -> None:
        self._target.abandon()


class MatchWriter(_Writer, ABC):
    """Writes `{"event": …, "subscription": …, "kind": "match"}`, many at a time; with details where there are any.

    The origin of a subscription is `origin`: an object, in Parquet its JSON text.
    """

    # Set before anything is written:
    details: Sequence[str] = ()  # the columns of details that some rows may have
    origins: Mapping[str, str] = {}  # id of a subscription -> its origin as JSON, if it has one

    def tell(self, outcomes: Outcomes) -> None:
        """Write the outcomes of a step, with all details."""
        if len(outcomes):
            self.write(*outcomes.dictionaries(), outcomes.in_detail())

    @abstractmethod
    def write(self, events: Any, subscriptions: Any, details: OutcomeDetails | None = None) -> None:
        """Write event ids and subscription ids, one of each a row: Arrow arrays of strings, best as dictionaries."""


def match_writer(target: str | os.PathLike[str], *, format: str | None = None) -> MatchWriter:
    """A writer of JSON lines or Parquet, as `output_format` says."""
    return _ParquetMatches(target) if output_format(target, format) == "parquet" else _JsonMatches(target)


def output_format(target: str | os.PathLike[str], format: str | None = None) -> str:
    """The given format, or that of the name's ending; JSON lines for standard output (`-`). FileError otherwise."""
    found = format or ("jsonl" if str(target) == "-" else source_format(Path(target)) or "jsonl")
    if found not in FORMATS:
        raise FileError(f"cannot write {found}\nHint: the output is one of {', '.join(FORMATS)}")
    return found


class _JsonMatches(MatchWriter):
    def __init__(self, target: str | os.PathLike[str]) -> None:
        super().__init__(target)
        self._beginnings = _JsonIds('{"event": ', ', "subscription": ')
        self._ends = _JsonIds("", _MATCH)

    def write(self, events: Any, subscriptions: Any, details: OutcomeDetails | None = None) -> None:
        events, subscriptions = _dictionary(events), _dictionary(subscriptions)
        if self.origins and not self._ends.others:
            self._ends.others = {id_: _MATCH[:-2] + str(ending(origin)) for id_, origin in self.origins.items()}
        beginnings, ends = self._beginnings.of(events.dictionary), self._ends.of(subscriptions.dictionary)
        for begin in range(0, len(events), _SLICE):
            some = subscriptions.slice(begin, _SLICE)
            last = ends.take(some.indices)
            if details is not None:
                last = self._with_details(last, some, details.part(begin, begin + len(some)))
            rows = pc.binary_join_element_wise(
                beginnings.take(events.indices.slice(begin, _SLICE)), last, pa.scalar("", pa.large_string())
            )
            # The texts of an Arrow array lie in memory one after the other, without gaps.
            if len(rows):
                text = rows.buffers()[2]
                assert text is not None
                self._target.stream.write(memoryview(text))
        self.count += len(events)

    def _with_details(self, ends: pa.Array, subscriptions: pa.DictionaryArray, details: OutcomeDetails) -> pa.Array:
        """The part of lines after the event, with details for the rows that have any."""
        if not len(details.row):
            return ends
        texts = line_ends(subscriptions.take(pa.array(details.row)).cast(pa.large_string()), details, self.origins)
        places = np.arange(len(ends))
        places[details.row] = len(ends) + np.arange(len(texts))
        return pa.concat_arrays([ends, texts]).take(pa.array(places))


class _JsonIds:
    """JSON strings of the distinct ids with text around; cached, as subscriptions stay the same."""

    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after
        self.others: dict[str, str] = {}  # what stands after some of them instead
        self._last: tuple[pa.Array, pa.Array] | None = None

    def of(self, ids: pa.Array) -> pa.Array:
        """One encoded text per id."""
        if self._last is not None and _same_memory(self._last[0], ids):
            return self._last[1]
        before = pa.scalar(f'{self._before}"', pa.large_string())
        after: pa.Scalar | pa.Array = pa.scalar(f'"{self._after}', pa.large_string())
        if self.others:
            each = (self.others.get(id_, self._after) for id_ in ids.to_pylist())
            after = pa.array([f'"{text}' for text in each], pa.large_string())
        wrapped = pc.binary_join_element_wise(before, escaped(ids), after, pa.scalar("", pa.large_string()))
        self._last = ids, wrapped
        return wrapped


def _same_memory(one: pa.Array, other: pa.Array) -> bool:
    if one.type != other.type or len(one) != len(other) or one.offset != other.offset:
        return False
    places = [[None if buffer is None else buffer.address for buffer in each.buffers()] for each in (one, other)]
    return places[0] == places[1]


class _ParquetMatches(MatchWriter):
    def __init__(self, target: str | os.PathLike[str]) -> None:
        super().__init__(target)
        self._opened: Any = None
        self._known: tuple[pa.Array, pa.Array] | None = None  # ids, and where each comes from
        self._held: list[Any] = []
        self._size = 0

    @property
    def _schema(self) -> Any:
        last = [pa.field("origin", pa.string())] if self.origins else []
        return pa.schema([*_SCHEMA, *(pa.field(name, TYPES[name]) for name in self.details), *last])

    @property
    def _writer(self) -> Any:
        if self._opened is None:
            # Dictionaries are written as they are; without the Arrow schema they read back as plain strings.
            self._opened = pq.ParquetWriter(self._target.stream, self._schema, store_schema=False)
        return self._opened

    def write(self, events: Any, subscriptions: Any, details: OutcomeDetails | None = None) -> None:
        size = len(events)
        cells = [events.cast(pa.string()), subscriptions.cast(pa.string()), *columns(size, details, self.details)]
        if self.origins:
            cells.append(self._told(_dictionary(subscriptions)))
        self._held.append(pa.table(cells, schema=self._schema))
        self._size += size
        self.count += size
        if self._size >= _ROW_GROUP:
            table = pa.concat_tables(self._held)
            whole = self._size - self._size % _ROW_GROUP
            self._write_groups(table.slice(0, whole))
            self._held, self._size = [table.slice(whole)], self._size - whole

    def _told(self, subscriptions: pa.DictionaryArray) -> pa.Array:
        ids = subscriptions.dictionary
        if self._known is None or not _same_memory(self._known[0], ids):  # those of one engine stay the same
            self._known = ids, pa.array([self.origins.get(id_) for id_ in ids.to_pylist()], pa.string())
        return self._known[1].take(subscriptions.indices)

    def _write_groups(self, table: pa.Table) -> None:
        """Write row groups; the bytes depend on the rows alone, not on how many came at a time."""
        for begin in range(0, table.num_rows, _ROW_GROUP):
            self._writer.write_table(table.slice(begin, _ROW_GROUP).combine_chunks(), _ROW_GROUP)

    def _flush(self) -> None:
        if self._size:
            self._write_groups(pa.concat_tables(self._held))
        self._writer.close()

    def _abandon(self) -> None:
        if self._opened is not None:
            self._opened.is_open = False  # else it would complain, when it is forgotten, that its stream is closed
        super()._abandon()


def _dictionary(ids: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A dictionary array over strings, without nulls in the dictionary."""
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.unify_dictionaries() if pa.types.is_dictionary(ids.type) else ids
        ids = ids.combine_chunks()
    return ids if isinstance(ids, pa.DictionaryArray) else ids.dictionary_encode()


class RejectWriter(_Writer):
    """Writes `{"line": …, "reason": …, "raw": …}` (`row` instead of `line` where there are no lines) as JSON lines."""

    def write(self, rejects: Iterable[RejectedRow | RejectedSubscription]) -> None:
        """Write rejects in the given order."""
        for reject in rejects:
            self._target.stream.write(orjson.dumps(_record(reject)) + b"\n")
            self.count += 1


def _record(reject: RejectedRow | RejectedSubscription) -> dict[str, Any]:
    place = {"row": reject.row} if isinstance(reject, RejectedRow) and reject.line is None else {"line": reject.line}
    return {**place, "reason": reject.reason, "raw": reject.raw}
