"""Read events from Parquet: a file, or a folder of files as Spark writes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from vedette.errors import FileError
from vedette.io.byte_sources import InputSource
from vedette.io.chunks import EventChunk, table_ids
from vedette.schema.arrays import plain
from vedette.schema.python_values import python_values
from vedette.schema.values import json_text


class ParquetEvents:
    """A data set whose files are read in the order of their names."""

    def __init__(self, source: InputSource, columns: Collection[str] | None = None) -> None:
        self.source = source
        self.dataset = _opened(source)
        self.schema = self.dataset.schema
        self.total = self.dataset.count_rows() if source.path is not None else None
        self.done = 0
        self.columns = None if columns is None else _chosen(self.schema, columns)

    @property
    def progress(self) -> float | None:
        """The part that has been read, from 0 to 1."""
        return self.done / self.total if self.total else None

    def chunks(self, chunk: int) -> Iterator[EventChunk]:
        """Chunks of at most `chunk` rows."""
        for read in table_chunks(self.batches(chunk), chunk):
            self.done += len(read)
            yield read

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """All rows, in record batches of at most `size`."""
        return read_batches(self.dataset, self.columns, size, self.source.name)


def read_batches(dataset: ds.Dataset, columns: list[str] | None, size: int, name: str) -> Iterator[pa.RecordBatch]:
    """The rows of a data set, or of a part of one, in record batches; FileError if they cannot be read."""
    try:
        # Little is read ahead, so that memory stays bounded.
        yield from dataset.to_batches(columns=columns, batch_size=size, batch_readahead=2, fragment_readahead=1)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, error) from None


def table_chunks(batches: Iterable[pa.RecordBatch], chunk: int, row: int = 0) -> Iterator[EventChunk]:
    """Record batches as chunks of at most `chunk` events, the first of which is row number `row`."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= chunk:
            table = pa.Table.from_batches(held)
            for begin in range(0, size - size % chunk, chunk):
                yield _chunk(table.slice(begin, chunk), row + begin)
            row += size - size % chunk
            rest = table.slice(size - size % chunk)
            held, size = rest.to_batches(), rest.num_rows
    if size:
        yield _chunk(pa.Table.from_batches(held), row)


def _chunk(table: pa.Table, row: int) -> EventChunk:
    rows = np.arange(row, row + table.num_rows, dtype=np.int64)
    return EventChunk(table, table_ids(table), rows, None, [], lambda place: _row_text(table, place))


def _chosen(schema: pa.Schema, columns: Collection[str]) -> list[str]:
    """The columns to read; at least one, for a table without columns has no rows either."""
    chosen = [name for name in schema.names if name == "id" or name in columns]
    if not chosen:
        plain_first = sorted(schema, key=lambda field: bool(pa.types.is_nested(field.type)))
        chosen = [field.name for field in plain_first[:1]]
    return chosen


def _opened(source: InputSource) -> ds.Dataset:
    dataset = _dataset(source)
    try:
        _check_names(dataset.schema)
    except UnicodeDecodeError as error:
        raise _unreadable(source.name, error) from None
    return dataset


def _check_names(fields: Iterable[pa.Field]) -> None:
    """Check that names are text, also those of nested fields."""
    for field in fields:
        if field.name and pa.types.is_nested(field.type):
            _check_names(field.type.field(place) for place in range(field.type.num_fields))


def _dataset(source: InputSource) -> ds.Dataset:
    try:
        if source.path is None:
            return ds.dataset(_in_memory(source))
        if source.path.is_file():
            return ds.dataset(str(source.path), format="parquet")
        dataset = ds.dataset(str(source.path), format="parquet", partitioning="hive")
        if not dataset.files:
            raise FileError(f"{source.name} holds no Parquet file\nHint: check the path")
        return _unified(source, dataset)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(source.name, error) from None


def _unified(source: InputSource, dataset: ds.FileSystemDataset) -> ds.Dataset:
    """A common schema: files of a folder may have different columns."""
    schema = dataset.schema
    for fragment in dataset.get_fragments():
        try:
            schema = pa.unify_schemas([schema, fragment.physical_schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise FileError(
                f"{source.name}: the columns of {fragment.path} contradict those of the others ({_first_line(error)})\n"
                f"Hint: put files of one kind into one folder"
            ) from None
    return ds.dataset(str(source.path), schema=schema, format="parquet", partitioning="hive")


def _in_memory(source: InputSource) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(pa.BufferReader(source.read()))


def _unreadable(name: str, error: Exception) -> FileError:
    return FileError(
        f"{name} cannot be read as Parquet ({_first_line(error)})\n"
        f"Hint: check that it is a complete Parquet file, or say which format it has"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _row_text(table: pa.Table, place: int) -> str:
    row = table.slice(place, 1)
    return json_text({name: python_values(plain(row.column(name)))[0] for name in row.column_names})
