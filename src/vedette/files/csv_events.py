"""Events from CSV, with a header.

Types are those of a given schema, or else Arrow's own inference over the whole file (integers, floats, booleans,
dates, times; a mixture is text). An empty cell is missing. A row with too few or too many fields, or with a cell
that its column's type cannot hold, is rejected; the others go through.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vedette.errors import FileError
from vedette.files.cells import arrow_type, read_cell
from vedette.files.chunks import EventChunk, RejectedEvent, table_ids
from vedette.files.records import Records, split_records
from vedette.files.sources import Source
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.schema import Schema

_MARK = b"\xef\xbb\xbf"


class CsvEvents:
    """A CSV file: its header, the types of its columns, its rows."""

    def __init__(self, source: Source, schema: Schema | None = None) -> None:
        self.source = source
        self._records = _Records(source)
        self.names = self._records.names
        self.types: dict[str, Any] | None = None
        if schema is not None:
            self.types = {name: arrow_type(schema.type_of(name), schema.takes_all(name)) for name in self.names}

    def infer(self) -> Schema:
        """The schema of all rows of a file; of the first rows where they can be read only once."""
        if self.types is None:
            seen: dict[str, Any] = dict.fromkeys(self.names, pa.null())
            if self.source.path is not None and self.source.path.is_file():
                for records in _Records(self.source):
                    _widen(seen, self._guess(records))
            else:
                first = self._records.peek()
                if first is not None:
                    _widen(seen, self._guess(first))
            self.types = {name: pa.string() if _is_odd(stored) else stored for name, stored in seen.items()}
        return infer_arrow(pa.schema(list(self.types.items())))

    def chunks(self, chunk: int) -> Iterator[EventChunk]:
        """Chunks of at most `chunk` rows, good and bad."""
        self.infer()
        row = 0
        for records in self._records:
            yield from self._chunks(records, row, chunk)
            row += len(records)

    def _guess(self, records: Records) -> Mapping[str, Any]:
        text, places = records.readable()
        if not len(places):
            return {}
        table = self._parse(text, {}, [])
        return dict(zip(table.column_names, table.schema.types, strict=True))

    def _parse(
        self, text: bytes, types: Mapping[str, Any], strays: list[tuple[int, int]], only: str | None = None
    ) -> Any:
        """The rows with the right number of fields; of the others, number (from 0) and fields go to `strays`."""

        def skip(stray: Any) -> str:
            strays.append((stray.number - 1, stray.actual_columns))
            return "skip"

        if text.startswith(_MARK):  # Arrow would drop it, but only a file begins with one, not a part of it
            text = b"\n" + text
        return pa_csv.read_csv(
            io.BytesIO(text),
            pa_csv.ReadOptions(use_threads=False, column_names=self.names, block_size=max(1, len(text))),
            pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            pa_csv.ConvertOptions(
                column_types=types, check_utf8=False, include_columns=None if only is None else [only]
            ),
        )

    def _chunks(self, records: Records, row: int, chunk: int) -> Iterator[EventChunk]:
        size = len(records)
        text, places = records.readable()
        stray = "a quote is opened and never closed" if records.unclosed else "the row is not UTF-8 text"
        reasons = dict.fromkeys(_without(np.arange(size), places).tolist(), stray)
        if len(places):
            strays: list[tuple[int, int]] = []
            table, broken = self._typed(text, strays)
            reasons |= {int(places[at]): f"{fields} fields instead of {len(self.names)}" for at, fields in strays}
            good = _without(places, places[[at for at, _ in strays]])
            reasons |= {int(good[at]): reason for at, reason in broken.items()}
            if broken:
                kept = _without(np.arange(len(good)), np.array(list(broken)))
                table, good = table.take(pa.array(kept)), good[kept]
        else:
            table = pa.table({name: pa.array([], stored) for name, stored in (self.types or {}).items()})
            good = places
        bad = sorted(reasons)
        for begin in range(0, size, chunk):
            end = min(size, begin + chunk)
            first, last = np.searchsorted(good, [begin, end])
            rejects = [
                RejectedEvent(row + place, int(records.line[place]), reasons[place], records.raw(place))
                for place in bad[bisect_left(bad, begin) : bisect_left(bad, end)]
            ]
            yield _chunk(table.slice(first, last - first), good[first:last], records, row, rejects)

    def _typed(self, text: bytes, strays: list[tuple[int, int]]) -> tuple[Any, dict[int, str]]:
        """The table, and those of its rows that have a cell which does not fit, with the reason."""
        types = self.types or {}
        plain = {name: pa.string() if _is_read_here(stored) else stored for name, stored in types.items()}
        broken: dict[int, str] = {}
        columns: dict[str, Any] = {}
        try:
            table = self._parse(text, plain, strays)
            doubtful = [name for name, stored in types.items() if plain[name] != stored]
        except pa.ArrowInvalid:
            strays.clear()
            table = self._parse(text, dict.fromkeys(self.names, pa.string()), strays)
            doubtful = [name for name, stored in types.items() if not pa.types.is_string(stored)]
        for name in self.names:
            column = table.column(name)
            if name in doubtful:
                columns[name] = self._column(name, text, column, broken)
            else:
                columns[name] = _without_empty(column) if pa.types.is_string(column.type) else column
        return pa.table(columns), broken

    def _column(self, name: str, text: bytes, column: Any, broken: dict[int, str]) -> Any:
        """A column in which some cell may not fit."""
        stored = (self.types or {})[name]
        if not _is_read_here(stored):
            try:
                return self._parse(text, {name: stored}, [], only=name).column(name)
            except pa.ArrowInvalid:
                pass
        encoded = column.combine_chunks().dictionary_encode()
        values: list[Any] = []
        reasons: dict[int, str] = {}
        for code, cell in enumerate(encoded.dictionary.cast(pa.binary()).to_pylist()):
            try:
                values.append(read_cell(cell.decode(), stored))
            except ValueError as error:
                values.append(None)
                reasons[code] = f"column {name!r}: {error}"
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for place in np.flatnonzero(np.isin(codes, list(reasons))).tolist():
            broken.setdefault(place, reasons[int(codes[place])])
        return pa.array(values, stored).take(encoded.indices)


class _Records:
    """The records below the header."""

    def __init__(self, source: Source) -> None:
        self._records = split_records(source.blocks())
        self._held: list[Records] = []
        first = next(self._records, None)
        if first is None or not len(first):
            raise FileError(f"{source.name} is empty\nHint: a CSV file begins with a line of column names")
        self.names = _header(source, first.raw(0))
        rest = _below_header(first)
        if len(rest):
            self._held.append(rest)

    def __iter__(self) -> Iterator[Records]:
        held, self._held = self._held, []
        yield from held
        yield from self._records

    def peek(self) -> Records | None:
        """The first records, which stay to be read."""
        if not self._held:
            self._held.extend([first] if (first := next(self._records, None)) is not None else [])
        return self._held[0] if self._held else None


def _header(source: Source, text: str) -> list[str]:
    try:
        names = next(csv.reader([text]), [])
    except csv.Error as error:
        raise FileError(f"{source.name}: the header cannot be read ({error})\nHint: mend the first line") from None
    names = [name.strip() or f"column{place}" for place, name in enumerate(names, 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileError(
            f"{source.name}: the header has {', '.join(map(repr, twice))} twice\n"
            f"Hint: give every column a name of its own"
        )
    return names


def _below_header(first: Records) -> Records:
    if len(first) == 1:
        nothing = np.zeros(0, np.int64)
        return Records(b"", nothing, nothing, nothing)
    begin = int(first.start[1])
    return Records(first.text[begin:], first.start[1:] - begin, first.end[1:] - begin, first.line[1:])


def _chunk(
    table: Any, places: NDArray[np.int64], records: Records, row: int, rejects: list[RejectedEvent]
) -> EventChunk:
    rows = places + row
    return EventChunk(
        table,
        table_ids(table, rows),
        rows,
        records.line[places],
        rejects,
        lambda place: records.raw(int(places[place])),
    )


def _without(places: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.setdiff1d(places, others, assume_unique=True) if len(others) else places


def _widen(seen: dict[str, Any], guessed: Mapping[str, Any]) -> None:
    for name, stored in guessed.items():
        seen[name] = _common(seen[name], stored)


def _common(one: Any, other: Any) -> Any:
    """The type that holds the cells of both."""
    types = pa.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if (types.is_timestamp(one) or types.is_date(one)) and (types.is_timestamp(other) or types.is_date(other)):
        zones = {stored.tz for stored in (one, other) if types.is_timestamp(stored)}
        if len(zones) == 1 and not (zones != {None} and (types.is_date(one) or types.is_date(other))):
            units = [stored.unit for stored in (one, other) if types.is_timestamp(stored)]
            return pa.timestamp("ns" if "ns" in units else "s", zones.pop())
    return pa.string()


def _is_odd(stored: Any) -> bool:
    """Inferred by Arrow, but of no use: a time of day, a column without values."""
    return bool(pa.types.is_time(stored) or pa.types.is_null(stored) or pa.types.is_binary(stored))


def _is_read_here(stored: Any) -> bool:
    """Types whose cells Arrow's CSV reader does not know."""
    return bool(pa.types.is_list(stored))


def _without_empty(column: Any) -> Any:
    """An empty cell is missing."""
    empty = pc.equal(pc.binary_length(column), 0)
    return pc.if_else(empty, pa.scalar(None, column.type), column) if pc.any(empty).as_py() else column
