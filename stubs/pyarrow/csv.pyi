"""CSV files."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import IO

from pyarrow import DataType, NativeFile, Schema, Table

class InvalidRow:
    @property
    def expected_columns(self) -> int: ...
    @property
    def actual_columns(self) -> int: ...
    @property
    def number(self) -> int | None: ...
    @property
    def text(self) -> str: ...

class ReadOptions:
    def __init__(
        self,
        *,
        use_threads: bool | None = None,
        block_size: int | None = None,
        skip_rows: int | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None: ...

class ParseOptions:
    def __init__(
        self,
        *,
        newlines_in_values: bool | None = None,
        invalid_row_handler: Callable[[InvalidRow], str] | None = None,
    ) -> None: ...

class ConvertOptions:
    null_values: list[str]
    def __init__(
        self,
        *,
        column_types: Schema | Mapping[str, DataType] | None = None,
        null_values: Sequence[str] | None = None,
        strings_can_be_null: bool | None = None,
        quoted_strings_can_be_null: bool | None = None,
        check_utf8: bool | None = None,
        include_columns: Sequence[str] | None = None,
    ) -> None: ...

def read_csv(
    input_file: str | PathLike[str] | NativeFile | IO[bytes],
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> Table: ...
