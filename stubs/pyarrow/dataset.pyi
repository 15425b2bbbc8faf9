"""Folders of files as one table."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import overload

from pyarrow import RecordBatch, Schema, Table
from pyarrow.compute import Expression as Expression
from pyarrow.fs import FileSystem

class Dataset:
    @property
    def schema(self) -> Schema: ...
    def count_rows(self) -> int: ...
    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        batch_size: int = ...,
        batch_readahead: int = ...,
        fragment_readahead: int = ...,
    ) -> Iterator[RecordBatch]: ...
    def to_table(self, columns: Sequence[str] | None = None) -> Table: ...

class InMemoryDataset(Dataset): ...

class RowGroupInfo:
    id: int
    @property
    def num_rows(self) -> int: ...
    @property
    def total_byte_size(self) -> int: ...

class ParquetFileFragment:
    @property
    def partition_expression(self) -> Expression: ...
    @property
    def path(self) -> str: ...
    @property
    def physical_schema(self) -> Schema: ...
    @property
    def row_groups(self) -> list[RowGroupInfo]: ...

class ParquetFileFormat:
    def __init__(self) -> None: ...
    def make_fragment(
        self,
        file: str,
        filesystem: FileSystem | None = None,
        partition_expression: Expression | None = None,
        row_groups: Sequence[int] | None = None,
    ) -> ParquetFileFragment: ...

class FileSystemDataset(Dataset):
    """Of Parquet files, the only ones that are opened as a dataset here."""

    def __init__(
        self,
        fragments: Sequence[ParquetFileFragment],
        schema: Schema,
        format: ParquetFileFormat,
        filesystem: FileSystem | None = None,
    ) -> None: ...
    @property
    def files(self) -> list[str]: ...
    def get_fragments(self) -> Iterator[ParquetFileFragment]: ...

@overload
def dataset(source: Table) -> InMemoryDataset: ...
@overload
def dataset(
    source: str | PathLike[str],
    schema: Schema | None = None,
    format: str | None = None,
    partitioning: str | None = None,
) -> FileSystemDataset: ...
