"""Events from CSV files with a header.

Types are those of a given schema, or else Arrow's own inference over the whole file (integers, floats, booleans,
dates, times; a mixture is text). An empty cell is missing. A row with too few or too many fields, or with a cell
that its column's type cannot hold, is rejected; the others go through.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from vedette.errors import FileError
from vedette.io.byte_sources import InputSource
from vedette.io.chunks import EventChunk
from vedette.io.csv_records import RecordBlock, split_records
from vedette.io.csv_rows import CsvRows, arrow_type
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.schema import Schema


class CsvEvents(CsvRows):
    """A CSV file: its header, the types of its columns, its rows."""

    def __init__(self, source: InputSource, schema: Schema | None = None) -> None:
        self.source = source
        self._records = CsvRecords(source)
        super().__init__(self._records.names)
        if schema is not None:
            self.types = {name: arrow_type(schema.type_of(name), schema.takes_all(name)) for name in self.names}

    def infer(self) -> Schema:
        """Infer the schema from all rows of a file; from the first rows if they can be read only once."""
        if self.types is None:
            seen: dict[str, Any] = dict.fromkeys(self.names, pa.null())
            if self.source.read_twice:
                for records in CsvRecords(self.source):
                    _widen(seen, self.guess(records))
            else:
                first = self._records.peek()
                if first is not None:
                    _widen(seen, self.guess(first))
            self.types = {name: pa.string() if _is_odd(stored) else stored for name, stored in seen.items()}
        return infer_arrow(pa.schema(list(self.types.items())))

    def again(self) -> CsvRecords:
        """The records of all rows, from the first one; the source is read again for it."""
        return CsvRecords(self.source)

    def chunks(self, chunk: int) -> Iterator[EventChunk]:
        """Chunks of at most `chunk` rows, good and bad."""
        self.infer()
        row = 0
        for records in self._records:
            yield from self.chunks_of(records, row, chunk)
            row += len(records)


class CsvRecords:
    """The records below the header."""

    def __init__(self, source: InputSource) -> None:
        self._records = split_records(source.blocks())
        self._held: list[RecordBlock] = []
        first = next(self._records, None)
        if first is None or not len(first):
            raise FileError(f"{source.name} is empty\nHint: a CSV file begins with a line of column names")
        self.names = _header(source, first.raw(0))
        rest = _below_header(first)
        self.header_size = len(first.text) - len(rest.text)  # in bytes
        if len(rest):
            self._held.append(rest)

    def __iter__(self) -> Iterator[RecordBlock]:
        held, self._held = self._held, []
        yield from held
        yield from self._records

    def peek(self) -> RecordBlock | None:
        """The first records, without consuming them."""
        if not self._held:
            self._held.extend([first] if (first := next(self._records, None)) is not None else [])
        return self._held[0] if self._held else None


def _header(source: InputSource, text: str) -> list[str]:
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


def _below_header(first: RecordBlock) -> RecordBlock:
    if len(first) == 1:
        nothing = np.zeros(0, np.int64)
        return RecordBlock(b"", nothing, nothing, nothing, first.first)
    begin = int(first.start[1])
    start, end, line = (numbers[1:] for numbers in (first.start, first.end, first.line))
    return RecordBlock(first.text[begin:], start - begin, end - begin, line, int(line[0]))


def _widen(seen: dict[str, Any], guessed: Mapping[str, Any]) -> None:
    for name, stored in guessed.items():
        seen[name] = _common(seen[name], stored)


def _common(one: Any, other: Any) -> Any:
    """The common type of both cells."""
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
    """Whether Arrow inferred a type that is of no use: a time of day, a column without values."""
    return bool(pa.types.is_time(stored) or pa.types.is_null(stored) or pa.types.is_binary(stored))
