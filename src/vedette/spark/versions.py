"""What differs between the versions of Spark that Vedette runs on, all of it in one place.

What a Spark can do is asked of its modules where that is possible: platforms take parts of newer versions into theirs.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import orjson
import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession, functions, types
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.pandas import types as pandas_types
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import DataType, StructField, StructType

from vedette.errors import NotSupported
from vedette.spark.worker_check import in_worker

__all__ = [
    "StatefulProcessor",
    "VariantType",
    "apply_in_arrow",
    "arrow_function",
    "check_states",
    "connected",
    "first_by",
    "from_arrow",
    "function_of_pairs",
    "interrupt",
    "is_column",
    "is_frame",
    "recent_progress",
    "tagged",
    "to_arrow",
    "to_arrow_schema",
    "to_arrow_type",
    "with_answers",
]

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


if TYPE_CHECKING:
    from pyspark.sql.types import VariantType
else:
    VariantType = getattr(types, "VariantType", type("VariantType", (), {}))  # since 4.0


# ---------------------------------------------------------------- tables


_SINCE_4: Final = hasattr(DataFrame, "toArrow")
_BATCH: Final = "batch"


def is_frame(given: object) -> TypeGuard[DataFrame]:
    """Whether it is a DataFrame, of a session here or of Spark Connect, which had classes of its own before 4.0."""
    return isinstance(given, DataFrame) or _is_of_connect(given, "DataFrame")


def is_column(given: object) -> TypeGuard[Column]:
    """Whether it is a Column of Spark, of whatever session."""
    return isinstance(given, Column) or _is_of_connect(given, "Column")


def connected(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, whose Spark runs elsewhere."""
    return _is_of_connect(spark, "SparkSession")


def _is_of_connect(given: object, name: str) -> bool:
    kind = type(given)
    return kind.__name__ == name and kind.__module__.startswith("pyspark.sql.connect.")


def from_arrow(spark: SparkSession, table: Any) -> DataFrame:
    """A DataFrame of an Arrow table, with its types."""
    if _SINCE_4:
        return spark.createDataFrame(table)
    fields = [(field.name, pandas_types.from_arrow_type(field.type), field.nullable) for field in table.schema]
    parts = [(bytearray(_written(batch)),) for batch in table.combine_chunks().to_batches()]
    packed = spark.createDataFrame(parts, f"{_BATCH} binary")
    return packed.mapInArrow(_opened, StructType([StructField(*field) for field in fields]))


def to_arrow(frame: DataFrame) -> Any:
    """All rows of a DataFrame, as an Arrow table here."""
    if _SINCE_4:
        return frame.toArrow()
    empty = to_arrow_schema(frame.schema).empty_table()
    packed = frame.mapInArrow(_packed, f"{_BATCH} binary").collect()
    return pa.concat_tables([empty, *(pa.Table.from_batches([_read(row[0])]).cast(empty.schema) for row in packed)])


def _written(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _read(written: bytes) -> Any:
    with pa.ipc.open_stream(written) as stream:
        return stream.read_next_batch()


def _opened(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from map(_read, batch.column(0).to_pylist())


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([_written(batch)], pa.binary())], [_BATCH])


def apply_in_arrow(groups: GroupedData, function: Callable[[Any], Any], columns: StructType | str) -> DataFrame:
    """The function over each group, an Arrow table of columns without nulls."""
    if _SINCE_4:
        return groups.applyInArrow(function, columns)

    def over(rows: Any) -> Any:
        return function(pa.Table.from_pandas(rows, preserve_index=False)).to_pandas()

    return groups.applyInPandas(over, columns)


# ---------------------------------------------------------------- streams, and jobs


if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
elif importlib.util.find_spec("pyspark.sql.streaming.stateful_processor") is not None:
    StatefulProcessor = importlib.import_module("pyspark.sql.streaming.stateful_processor").StatefulProcessor
else:
    StatefulProcessor = object


def check_states() -> None:
    """NotSupported unless an operator on a stream can keep state as patterns need it."""
    if StatefulProcessor is object:
        raise NotSupported(
            "patterns over a stream need transformWithState, which came with Spark 4.0, and this is Spark "
            f"{pyspark.__version__}\n"
            "Hint: follow them over tables, in a newer runtime, or in the service (`vedette serve`)"
        )


def recent_progress(query: StreamingQuery) -> list[dict[str, Any]]:
    """What Spark tells of the last micro-batches; before 4.0 as it is, then as objects that have it as a text."""
    return [orjson.loads(each.json) if hasattr(each, "json") else each for each in query.recentProgress]


@contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Jobs that this thread starts inside the context have the tag, which `interrupt` takes."""
    # Before 4.0 only sessions of Connect had tags; else the context had them.
    if _SINCE_4 or connected(spark):
        add, remove = spark.addTag, spark.removeTag
    else:
        add, remove = spark.sparkContext.addJobTag, spark.sparkContext.removeJobTag
    add(tag)
    try:
        yield
    finally:
        remove(tag)


def interrupt(spark: SparkSession, tag: str) -> None:
    """End the jobs that have the tag."""
    if _SINCE_4 or connected(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


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


def arrow_function(function: Callable[[Iterator[Any]], Iterator[Any]], kind: DataType | str) -> Any:
    """A function of Spark over a column, in batches of Arrow: one that SQL can call by a name, too."""
    if _arrow_udf is None:
        raise NotSupported(
            f"functions of SQL over whole events need Spark 4.1, and this is Spark {pyspark.__version__}\n"
            "Hint: vedette.spark.match(events, subscriptions).createOrReplaceTempView(…) is a view for SQL"
        )

    def over(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:  # Spark sees by these what kind of function it is
        yield from function(batches)

    return _arrow_udf(over, kind)


def function_of_pairs(function: Callable[[Any, Any], Any], kind: DataType) -> Callable[[Column, Column], Column]:
    """A function of Spark from one that gets two columns of texts in Arrow, and gives a column without nulls."""
    if _arrow_udf is not None:
        made = _arrow_udf(function, kind)
    else:
        import pandas as pd

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
