"""What differs between the versions of Spark that Vedette runs on, all of it in one place.

What a Spark can do is asked of its modules where that is possible: platforms take parts of newer versions into theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.pandas import types as pandas_types
from pyspark.sql.types import DataType, StructField, StructType

from vedette.errors import NotSupported
from vedette.spark.worker_check import in_worker

# Functions of columns that get and give Arrow came with 4.1.
_arrow_udf: Final[Any] = getattr(pandas_functions, "arrow_udf", None)

# ---------------------------------------------------------------- types


_NAMES_THE_ZONE: Final = "timezone" in pandas_types.to_arrow_type.__annotations__  # since 4.2; UTC before


def to_arrow_type(stored: DataType) -> Any:
    """The Arrow type as which Spark sends a type, times in UTC; PySparkException where it sends none."""
    zone: dict[str, Any] = {"timezone": "UTC"} if _NAMES_THE_ZONE else {}
    return pandas_types.to_arrow_type(stored, **zone)


def to_arrow_schema(stored: StructType) -> Any:
    """The Arrow schema as which Spark sends rows, times in UTC."""
    zone: dict[str, Any] = {"timezone": "UTC"} if _NAMES_THE_ZONE else {}
    return pandas_types.to_arrow_schema(stored, **zone)


# ---------------------------------------------------------------- functions over columns


def with_answers(
    events: DataFrame,
    carried: Sequence[Column],
    name: str,
    function: Callable[[Iterator[Any]], Iterator[Any]],
    arguments: Sequence[Column],
    kind: DataType | str,
) -> DataFrame:
    """The `carried` columns, which have names, and what the function says of the arguments, row by row.

    The function gets batches, each a column or a tuple of columns, and gives columns, cut in any way. Where Spark has
    no functions of columns in Arrow, the carried columns cross to Python and back, too.
    """
    if _arrow_udf is not None:
        # Else Spark may call it twice, once to see whether there is anything.
        made = _arrow_udf(in_worker(function), kind).asNondeterministic()
        return events.select(*carried, made(*arguments).alias(name))
    rows = events.select(*carried, *(each.alias(f"_argument{number}") for number, each in enumerate(arguments)))
    own = list(rows.schema)[: len(carried)]
    for field in own:
        _check_crossing(field)
    if isinstance(kind, str):
        kind = events.sparkSession.createDataFrame([], kind).schema
    told = StructType([*own, StructField(name, kind)])
    return rows.mapInArrow(in_worker(_beside(function, len(carried), told.names)), told)


def _check_crossing(field: StructField) -> None:
    try:
        to_arrow_type(field.dataType)
    except PySparkException as error:
        raise NotSupported(
            f"the column {field.name!r} of type {field.dataType.simpleString()} cannot be kept: before Spark 4.1, what "
            f"is kept crosses to Python\nHint: leave it out with keep=[…], or cast it"
        ) from error


def _beside(
    function: Callable[[Iterator[Any]], Iterator[Any]], carried: int, names: Sequence[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function over whole rows: what it says stands beside the carried columns."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: deque[tuple[int, list[pa.Array]]] = deque()  # rows that the function has not spoken of yet

        def arguments() -> Iterator[tuple[pa.Array, ...]]:
            for batch in batches:
                if batch.num_rows:
                    waiting.append((batch.num_rows, batch.columns[:carried]))
                    yield tuple(batch.columns[carried:])

        for told in function(arguments()):
            begin = 0
            while begin < len(told):
                rows, columns = waiting.popleft()
                size = min(rows, len(told) - begin)
                if size < rows:
                    waiting.appendleft((rows - size, [column.slice(size) for column in columns]))
                kept = [column.slice(0, size) for column in columns]
                yield pa.RecordBatch.from_arrays([*kept, told.slice(begin, size)], list(names))
                begin += size

    return run


def function_of_pairs(function: Callable[[Any, Any], Any], kind: DataType) -> Callable[[Column, Column], Column]:
    """A function of Spark from one that gets two columns of texts in Arrow, and gives a column without nulls."""
    if _arrow_udf is not None:
        made = _arrow_udf(function, kind)
    else:
        import pandas as pd  # type: ignore[import-untyped]

        def over(first: Any, second: Any) -> Any:
            return function(*(pa.array(each, pa.string(), from_pandas=True) for each in (first, second))).to_pandas()

        over.__annotations__ = {"first": pd.Series, "second": pd.Series, "return": pd.Series}  # Spark looks at these
        wrapping: Any = pandas_functions.pandas_udf  # Spark has a type of its own for each kind
        made = wrapping(over, kind)
    # Otherwise Spark could compute it for more rows than conditions before it let through.
    calling: Callable[[Column, Column], Column] = made.asNondeterministic()
    return calling


_MANY_AT_ONCE: Final = "k" in functions.min_by.__annotations__  # since 4.2


def first_by(values: Column, order: Column, most: int) -> Column:
    """The values with the smallest orders, as an aggregate; only the first of them where Spark cannot find several."""
    if _MANY_AT_ONCE:
        return functions.min_by(values, order, most)
    return functions.array_compact(functions.array(functions.min_by(values, order)))
