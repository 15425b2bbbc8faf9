"""Parse rows of a CSV file into events, by the types of its columns.

A row with too few or too many fields, or with a cell that its column's type cannot hold, is rejected; the others go
through. An empty cell is missing.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vedette.io.byte_sources import BYTE_ORDER_MARK
from vedette.io.chunks import EventChunk, RejectedRow, table_ids
from vedette.io.csv_records import RecordBlock
from vedette.schema.keys import DENSE, UINT_MAX, read, read_float
from vedette.schema.types import Kind, Type

# What Arrow's reader takes for a missing number, time or boolean.
_MISSING = frozenset(pa_csv.ConvertOptions().null_values)
_WHOLE = re.compile(r"[-+]?[0-9]+\Z")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z|[-+]?inf(inity)?\Z", re.IGNORECASE)
_WIDEST = 64  # characters of an integer of 64 bits, with room for spaces and zeros
_TRUTHS = {"1": True, "true": True, "0": False, "false": False}
_STORED = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.BOOL: pa.bool_()}


def arrow_type(type_: Type | None, takes_all: bool) -> Any:
    """The Arrow type of a column: what is not a number or boolean stays text, and is read when encoded."""
    if type_ is None or takes_all:
        return pa.string()
    stored = _STORED.get(type_.kind, pa.string())
    return pa.list_(stored) if type_.is_list else stored


def read_cell(cell: str, stored: Any) -> Any:
    """The value of a cell, None if it is missing; ValueError, with the reason, if it is not of the type."""
    text, types = cell.strip(), pa.types
    if text in _MISSING:
        return None
    if types.is_list(stored):
        return _read_list(text, stored)
    if types.is_integer(stored):
        return _read_int(text)
    if types.is_floating(stored):
        if _NUMBER.match(text) is None:
            raise ValueError(f"{cell!r} is not a number")
        return float(text)
    if types.is_boolean(stored):
        if text.lower() not in _TRUTHS:
            raise ValueError(f"{cell!r} is not true or false")
        return _TRUTHS[text.lower()]
    if types.is_date(stored):
        return read(Kind.DATE, text)
    if types.is_timestamp(stored):
        moment: dt.datetime = read(Kind.TIMESTAMP, text)
        return moment if stored.tz else moment.replace(tzinfo=None)
    return cell


def exact_cell(cell: str, value: Any) -> Any:
    """The number, or list of numbers, of a cell, with integers of 64 bits exactly; in `value` they are rounded."""
    if isinstance(value, list):
        return _read_list(cell.strip(), pa.list_(pa.float64()))
    return read_float(int(cell)) if len(cell) <= _WIDEST and _WHOLE.match(cell.strip()) else value


def rounded(value: Any) -> Any:
    """The value, with floats in lists instead of integers that no float64 represents."""
    if isinstance(value, list):
        return [float(each) if isinstance(each, int) and not isinstance(each, bool) else each for each in value]
    return value


def _read_int(text: str) -> int:
    number: int = read(Kind.INT, int(text) if _WHOLE.match(text) else _float(text))
    return number


def _float(text: str) -> float:
    if _NUMBER.match(text) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return float(text)


def _read_list(text: str, stored: Any) -> list[Any]:
    kind = next((kind for kind, element in _STORED.items() if element == stored.value_type), Kind.STRING)
    try:
        values = orjson.loads(text)
        if isinstance(values, list):
            return [None if value is None else read(kind, value) for value in values]
    except ValueError:  # orjson's error is one, too
        pass
    raise ValueError(f"{text[:60]!r} is not a JSON list of {kind.value}")


class CsvRows:
    """Parses the records of a CSV file, whose column names and types are known."""

    def __init__(self, names: list[str], types: dict[str, Any] | None = None) -> None:
        self.names = names
        self.types = types

    def chunks_of(
        self, records: RecordBlock, row: int, chunk: int, begin: int = 0, end: int | None = None
    ) -> Iterator[EventChunk]:
        """Chunks of at most `chunk` records, good and bad, from `begin` to `end`; the first of all is row `row`."""
        size = len(records)
        text, places = records.readable()
        stray = "a quote is opened and never closed" if records.unclosed else "the row is not UTF-8 text"
        reasons = dict.fromkeys(_without(np.arange(size), places).tolist(), stray)
        if len(places):
            strays: list[tuple[int, int]] = []
            table, broken = self._typed(text, strays)
            mixed = self._exact(text, table)
            reasons |= {int(places[at]): f"{fields} fields instead of {len(self.names)}" for at, fields in strays}
            good = _without(places, places[[at for at, _ in strays]])
            reasons |= {int(good[at]): reason for at, reason in broken.items()}
            if broken:
                kept = _without(np.arange(len(good)), np.array(list(broken)))
                table, good = table.take(pa.array(kept)), good[kept]
                mixed = {name: [values[place] for place in kept.tolist()] for name, values in mixed.items()}
        else:
            table = pa.table({name: pa.array([], stored) for name, stored in (self.types or {}).items()})
            good, mixed = places, {}
        bad = sorted(reasons)
        for start in range(begin, size if end is None else end, chunk):
            stop = min(size if end is None else end, start + chunk)
            first, last = np.searchsorted(good, [start, stop])
            rejects = [
                RejectedRow(row + place, int(records.line[place]), reasons[place], records.raw(place))
                for place in bad[bisect_left(bad, start) : bisect_left(bad, stop)]
            ]
            part = table.slice(first, last - first)
            events = _beside(part, {name: values[first:last] for name, values in mixed.items()}) if mixed else part
            yield _chunk(part, events, good[first:last], records, row, rejects)

    def guess(self, records: RecordBlock) -> Mapping[str, Any]:
        """The types that Arrow infers from some records."""
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

        if text.startswith(BYTE_ORDER_MARK):  # Arrow would drop it, but only a file begins with one, not a part of it
            text = b"\n" + text
        return pa_csv.read_csv(
            io.BytesIO(text),
            pa_csv.ReadOptions(use_threads=False, column_names=self.names, block_size=max(1, len(text))),
            pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            pa_csv.ConvertOptions(
                column_types=types, check_utf8=False, include_columns=None if only is None else [only]
            ),
        )

    def _typed(self, text: bytes, strays: list[tuple[int, int]]) -> tuple[Any, dict[int, str]]:
        """The table, and those of its rows that have a cell of the wrong type, with the reason."""
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

    def _exact(self, text: bytes, table: pa.Table) -> dict[str, list[Any]]:
        """Columns of floats that contain integers which no float64 represents: all numbers, exactly."""
        found: dict[str, list[Any]] = {}
        for name in table.column_names:
            column = table.column(name)
            stored = column.type
            in_lists = pa.types.is_list(stored)
            if not pa.types.is_floating(stored.value_type if pa.types.is_list(stored) else stored):
                continue
            sizes = np.abs((pc.list_flatten(column) if in_lists else column).to_numpy())
            if ((sizes >= DENSE) & (sizes <= UINT_MAX)).any():
                cells = self._parse(text, {name: pa.string()}, [], only=name).column(name).to_pylist()
                found[name] = [
                    None if value is None else exact_cell(cell, value)
                    for cell, value in zip(cells, column.to_pylist(), strict=True)
                ]
        return found

    def _column(self, name: str, text: bytes, column: Any, broken: dict[int, str]) -> Any:
        """A column in which some cell may be of the wrong type."""
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
        return pa.array([rounded(value) for value in values], stored).take(encoded.indices)


def _beside(table: pa.Table, exact: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The rows as dicts, with these exact numbers instead of the table's."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for name, values in exact.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def _chunk(
    table: pa.Table,
    events: list[dict[str, Any]] | pa.Table,
    places: NDArray[np.int64],
    records: RecordBlock,
    row: int,
    rejects: list[RejectedRow],
) -> EventChunk:
    rows = places + row
    return EventChunk(
        events,
        table_ids(table),
        rows,
        records.line[places],
        rejects,
        lambda place: records.raw(int(places[place])),
    )


def _without(places: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.setdiff1d(places, others, assume_unique=True) if len(others) else places


def _is_read_here(stored: Any) -> bool:
    """Whether cells of a type are parsed here, because Arrow's CSV reader does not know it."""
    return bool(pa.types.is_list(stored))


def _without_empty(column: Any) -> Any:
    """Empty cells become missing values."""
    empty = pc.equal(pc.binary_length(column), 0)
    return pc.if_else(empty, pa.scalar(None, column.type), column) if pc.any(empty).as_py() else column
