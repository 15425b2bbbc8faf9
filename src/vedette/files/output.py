"""Matches and rejects into files: complete, or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vedette.errors import FileError
from vedette.files.chunks import RejectedEvent
from vedette.files.notices import COLUMNS, COLUMNS_OF_FILTERS, Notices, ending
from vedette.files.sources import source_format
from vedette.files.subscriptions import RejectedSubscription

FORMATS = ("jsonl", "parquet")
_SLICE = 1 << 20  # rows that are made into text at once
_ROW_GROUP = 1 << 17
_UNSAFE = r'[\x00-\x1f"\\]'
_MATCH = ', "kind": "match"}\n'
_SCHEMA = pa.schema([("event", pa.string()), ("subscription", pa.string()), ("kind", pa.string())])


class Target:
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
        """All is written: let the file be seen."""
        self.stream.flush()
        if self._path is not None:
            self.stream.close()
        if self._path is not None and self._partial is not None:
            self._partial.replace(self._path)

    def abandon(self) -> None:
        """Leave nothing behind."""
        if self._path is not None:
            self.stream.close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)


@contextlib.contextmanager
def written(place: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """What is written to the stream within the `with` block is a file at its end; where that fails, nothing is."""
    target = Target(place)
    try:
        yield target.stream
        target.finish()
    except BaseException:
        target.abandon()
        raise


class _Writer:
    """Writes to a target, which is finished at the end of the `with` block, or abandoned if that fails."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self._target = Target(target)
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
        """Write what is still held back."""

    def _abandon(self) -> None:
        self._target.abandon()


class MatchWriter(_Writer, ABC):
    """Writes `{"event": …, "subscription": …, "kind": "match"}`, many at a time; of some matches more.

    Where a subscription comes from is `origin`: an object, in Parquet its JSON text.
    """

    # Set before anything is written:
    with_notices = False  # some subscriptions are patterns
    with_bindings = False  # some filters have variables
    origins: Mapping[str, str] = {}  # id of a subscription -> where it comes from, as JSON, if there is more to tell

    @abstractmethod
    def write(self, events: Any, subscriptions: Any, notices: Notices | None = None) -> None:
        """Event ids and subscription ids, one of each a row: Arrow arrays of strings, best as dictionaries."""


def match_writer(target: str | os.PathLike[str], *, format: str | None = None) -> MatchWriter:
    """A writer of JSON lines or Parquet, as `output_format` says."""
    return _ParquetMatches(target) if output_format(target, format) == "parquet" else _JsonMatches(target)


def output_format(target: str | os.PathLike[str], format: str | None = None) -> str:
    """What is given, or what the name's ending says; standard output (`-`) gets JSON lines. FileError for all else."""
    found = format or ("jsonl" if str(target) == "-" else source_format(Path(target)) or "jsonl")
    if found not in FORMATS:
        raise FileError(f"cannot write {found}\nHint: the output is one of {', '.join(FORMATS)}")
    return found


class _JsonMatches(MatchWriter):
    def __init__(self, target: str | os.PathLike[str]) -> None:
        super().__init__(target)
        self._beginnings = _Wrapped('{"event": ', ', "subscription": ')
        self._ends = _Wrapped("", _MATCH)

    def write(self, events: Any, subscriptions: Any, notices: Notices | None = None) -> None:
        events, subscriptions = _dictionary(events), _dictionary(subscriptions)
        if self.origins and not self._ends.others:
            self._ends.others = {id_: _MATCH[:-2] + str(ending(origin)) for id_, origin in self.origins.items()}
        beginnings, ends = self._beginnings.of(events.dictionary), self._ends.of(subscriptions.dictionary)
        for begin in range(0, len(events), _SLICE):
            some = subscriptions.slice(begin, _SLICE)
            last = ends.take(some.indices)
            if notices is not None:
                last = self._with_notices(last, some, notices.part(begin, begin + len(some)))
            rows = pc.binary_join_element_wise(
                beginnings.take(events.indices.slice(begin, _SLICE)), last, pa.scalar("", pa.large_string())
            )
            # The texts of an Arrow array lie in memory one after the other, without gaps.
            if len(rows):
                self._target.stream.write(memoryview(rows.buffers()[2]))
        self.count += len(events)

    def _with_notices(self, ends: Any, subscriptions: Any, notices: Notices) -> Any:
        """What a line says after its event, with more in it where there is more to tell."""
        if not len(notices.rows):
            return ends
        ids = subscriptions.take(pa.array(notices.rows)).to_pylist()
        texts = [
            f"{orjson.dumps(id_).decode()}, {notice.json(self.origins.get(id_))}"
            for id_, notice in zip(ids, notices.notices, strict=True)
        ]
        places = np.arange(len(ends))
        places[notices.rows] = len(ends) + np.arange(len(texts))
        return pa.concat_arrays([ends, pa.array(texts, pa.large_string())]).take(pa.array(places))


class _Wrapped:
    """JSON strings of the distinct ids with a text around; kept for the next time, as subscriptions stay the same."""

    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after
        self.others: dict[str, str] = {}  # what stands after some of them instead
        self._last: tuple[Any, Any] | None = None

    def of(self, ids: Any) -> Any:
        """One text an id."""
        if self._last is not None and _same_memory(self._last[0], ids):
            return self._last[1]
        if pc.any(pc.match_substring_regex(ids, _UNSAFE)).as_py():
            quoted = pa.array([orjson.dumps(id_).decode()[1:-1] for id_ in ids.to_pylist()], pa.large_string())
        else:
            quoted = ids.cast(pa.large_string())
        before, after = (pa.scalar(text, pa.large_string()) for text in (f'{self._before}"', f'"{self._after}'))
        if self.others:
            each = (self.others.get(id_, self._after) for id_ in ids.to_pylist())
            after = pa.array([f'"{text}' for text in each], pa.large_string())
        wrapped = pc.binary_join_element_wise(before, quoted, after, pa.scalar("", pa.large_string()))
        self._last = ids, wrapped
        return wrapped


def _same_memory(one: Any, other: Any) -> bool:
    if one.type != other.type or len(one) != len(other) or one.offset != other.offset:
        return False
    places = [[None if buffer is None else buffer.address for buffer in each.buffers()] for each in (one, other)]
    return places[0] == places[1]


class _ParquetMatches(MatchWriter):
    def __init__(self, target: str | os.PathLike[str]) -> None:
        super().__init__(target)
        self._opened: Any = None
        self._held: list[Any] = []
        self._size = 0

    @property
    def _beyond(self) -> tuple[tuple[str, Any], ...]:
        """The columns after `kind`, but for `origin`, which is the last."""
        if self.with_notices:
            return COLUMNS
        return COLUMNS_OF_FILTERS if self.with_bindings else ()

    @property
    def _schema(self) -> Any:
        last = [pa.field("origin", pa.string())] if self.origins else []
        return pa.schema([*_SCHEMA, *(pa.field(*column) for column in self._beyond), *last])

    @property
    def _writer(self) -> Any:
        if self._opened is None:
            # Dictionaries are written as they are; without the Arrow schema they read back as plain strings.
            self._opened = pq.ParquetWriter(self._target.stream, self._schema, store_schema=False)
        return self._opened

    def write(self, events: Any, subscriptions: Any, notices: Notices | None = None) -> None:
        size = len(events)
        columns = [events.cast(pa.string()), subscriptions.cast(pa.string())]
        if not self._beyond:
            columns.append(pa.repeat("match", size))
        else:
            columns += (notices or Notices(np.zeros(0, np.int64), ())).columns(size, self._beyond)
        if self.origins:
            columns.append(self._told(_dictionary(subscriptions)))
        self._held.append(pa.table(columns, schema=self._schema))
        self._size += size
        self.count += size
        if self._size >= _ROW_GROUP:
            table = pa.concat_tables(self._held)
            whole = self._size - self._size % _ROW_GROUP
            self._write_groups(table.slice(0, whole))
            self._held, self._size = [table.slice(whole)], self._size - whole

    def _told(self, subscriptions: Any) -> Any:
        told = pa.array([self.origins.get(id_) for id_ in subscriptions.dictionary.to_pylist()], pa.string())
        return told.take(subscriptions.indices)

    def _write_groups(self, table: Any) -> None:
        """The bytes depend on the rows alone, not on how many came at a time."""
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


def _dictionary(ids: Any) -> Any:
    """A dictionary array over strings, without nulls in the dictionary."""
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.unify_dictionaries() if pa.types.is_dictionary(ids.type) else ids
        ids = ids.combine_chunks()
    return ids if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()


class RejectWriter(_Writer):
    """Writes `{"line": …, "reason": …, "raw": …}` (`row` instead of `line` where there are no lines) as JSON lines."""

    def write(self, rejects: Iterable[RejectedEvent | RejectedSubscription]) -> None:
        """Rejects in the order in which they are to stand."""
        for reject in rejects:
            self._target.stream.write(orjson.dumps(_record(reject)) + b"\n")
            self.count += 1


def _record(reject: RejectedEvent | RejectedSubscription) -> dict[str, Any]:
    place = {"row": reject.row} if isinstance(reject, RejectedEvent) and reject.line is None else {"line": reject.line}
    return {**place, "reason": reject.reason, "raw": reject.raw}
