"""Readers of sources: how each kind is read, and how its events are matched."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import SecretStr
from pyspark.accumulators import Accumulator
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from vedette.engine.engine import Engine
from vedette.errors import PipelineError
from vedette.schema.columns import Column as ColumnRead
from vedette.schema.schema import Schema
from vedette.spark.dataframe_match import Wanted, matched
from vedette.spark.engines import Sent
from vedette.spark.lines import BINDINGS, kept_type, match_rows, rows_before
from vedette.spark.patterns.coding import Reading
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.findings import similar_name
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.routing import named
from vedette.spark.pipeline.source_tables import file_reader
from vedette.spark.readers import (
    CALLED,
    ID,
    WHOLE,
    CsvReader,
    LineReader,
    Reader,
    RecordReader,
    TableReader,
    carried_as,
    sent_as,
)
from vedette.spark.types import schema_of
from vedette.spark.versions import to_arrow_type
from vedette.spark.worker_columns import sent_columns, whole_columns

_OPEN = Schema({}, closed=False)
_LARGEST_CSV = 1 << 30  # bytes of one file: it crosses as a whole
_LARGEST_GZIP = 1 << 28  # the same; larger ones are left to Spark
_DIGITS = 32
_FILE = "path string, modificationTime timestamp, length bigint, content binary"  # Spark's own; a stream must say it


class Source(ABC):
    """Reads the events of a source, and matches them."""

    def __init__(self, given: Schema | None) -> None:
        self.given = given  # the schema of the pipeline file

    @abstractmethod
    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """The present events, or a stream of those that come."""

    @abstractmethod
    def schema(self, spark: SparkSession) -> Schema:
        """The schema that subscriptions are read by."""

    @abstractmethod
    def outcomes(
        self,
        batch: DataFrame,
        engine: Engine,
        keep: Sequence[str],
        *,
        read: Accumulator[int] | None = None,
    ) -> DataFrame:
        """Matches, and rows that are set aside; `read` counts the events, where `counts_itself`."""

    @abstractmethod
    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """PipelineError if an attribute to be kept in notifications cannot exist, as far as that is known."""

    @abstractmethod
    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, Reading, list[DataType]]:
        """What patterns are followed over: rows, how a worker reads them, and the types of what is kept.

        `whole`: operators look at events, and may see all of them.
        """

    counts_itself = False  # else the rows of a batch are its events


# ---------------------------------------------------------------- what Vedette reads itself


class _Raw(Source):
    """Rows that are parsed in the workers: nothing is known of them before, unless a schema is given."""

    counts_itself = True

    def schema(self, spark: SparkSession) -> Schema:
        """The given schema; else attributes have the types that subscriptions expect."""
        return _OPEN if self.given is None else self.given

    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """Nothing to check: any row may have any attribute."""

    def outcomes(
        self,
        batch: DataFrame,
        engine: Engine,
        keep: Sequence[str],
        *,
        read: Accumulator[int] | None = None,
    ) -> DataFrame:
        sent = Sent.of(engine, batch.sparkSession)
        return match_rows(batch, self._reader(batch), sent, keep=keep, schema=self.given, read=read)

    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, Reading, list[DataType]]:
        """The rows as they are, to be parsed in the worker."""
        kept = [kept_type(path, self.given) for path in keep]
        types = tuple(to_arrow_type(type_) for type_ in kept)
        return events, Reading(self._reader(), tuple(keep), types, self.given, refusing=True), kept

    def _reader(self, batch: DataFrame | None = None) -> Callable[[], Reader]:
        """The reader of rows in a worker; for a `batch` whose rows are counted, with what is known of these."""
        raise NotImplementedError


class LineSource(_Raw):
    """JSON lines."""

    def __init__(self, path: str, given: Schema | None, *, max_files: int | None = None) -> None:
        super().__init__(given)
        self._path = path
        self._max_files = max_files

    def _reader(self, batch: DataFrame | None = None) -> Callable[[], Reader]:
        before = None if batch is None else rows_before(batch)  # Spark cuts files anywhere: lines are counted first
        return functools.partial(LineReader, _is_one_file(self._path), before)

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        # A gzip file cannot be cut anyway. Spark would stop at a damaged one; read by us, it is set aside.
        is_whole = F.col("_metadata.file_name").endswith(".gz") & (F.col("_metadata.file_size") <= _LARGEST_GZIP)
        # Lines end where the local engine ends them; a carriage return alone ends none.
        lines: DataFrame = (
            file_reader(spark, self._max_files, streaming=streaming)
            .format("text")
            .option("lineSep", "\n")
            .load(self._path)
            .where(~is_whole)
            .select(F.col("value").cast("binary"), *_place(F.col("_metadata.file_block_start")))
        )
        files = _whole_files(spark, self._path, self._max_files, streaming=streaming).where(is_whole)
        return lines.unionAll(files.select(F.col("content").alias("value"), *_place(F.lit(WHOLE))))


class CsvFileSource(_Raw):
    """Files of CSV."""

    def __init__(self, path: str, given: Schema | None, *, max_files: int | None = None) -> None:
        super().__init__(given)
        self._path = path
        self._max_files = max_files

    def _reader(self, batch: DataFrame | None = None) -> Callable[[], Reader]:
        return functools.partial(CsvReader, self.given, _is_one_file(self._path))

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        files = _whole_files(spark, self._path, self._max_files, streaming=streaming)
        too_large = F.raise_error(
            F.concat(
                F.col("path"),
                F.lit(f" is larger than {_LARGEST_CSV >> 20} MiB, and a CSV file is read as a whole\n"),
                F.lit("Hint: cut it into several files, each with the header"),
            )
        )
        fits = F.when(F.col("length") > _LARGEST_CSV, too_large).otherwise(F.lit(True))
        return files.where(fits).select("content", F.col("_metadata.file_path").alias("path"))


class RecordSource(_Raw):
    """Records of Kafka."""

    def __init__(
        self,
        given: Schema | None,
        *,
        servers: Sequence[str],
        topics: Sequence[str],
        starting: str = "earliest",
        max_offsets: int | None = None,
        options: Mapping[str, str] | None = None,
        secrets: Mapping[str, SecretStr] | None = None,
    ) -> None:
        super().__init__(given)
        self._servers = servers
        self._topics = topics
        self._starting = starting
        self._max_offsets = max_offsets
        self._options = dict(options or {})
        self._secrets = dict(secrets or {})

    def _reader(self, batch: DataFrame | None = None) -> Callable[[], Reader]:
        return RecordReader

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        options = {
            "startingOffsets": self._starting,
            **self._options,
            **{name: value.get_secret_value() for name, value in self._secrets.items()},
            "kafka.bootstrap.servers": ",".join(self._servers),
            "subscribe": ",".join(self._topics),
        }
        if streaming and self._max_offsets is not None:
            options["maxOffsetsPerTrigger"] = str(self._max_offsets)
        if not streaming:
            options["startingOffsets"] = "earliest"  # what is there, as a whole, begins at its beginning
        reader: Any = spark.readStream if streaming else spark.read
        records: DataFrame = reader.format("kafka").options(**options).load()
        return records.select("value", "topic", "partition", "offset")


# ---------------------------------------------------------------- tables of Spark


class StoredTable(Protocol):
    """What Spark reads as a table; where it has an `id`, that is the column by which events are called."""

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """What is there, or a stream of what comes."""

    def columns(self, spark: SparkSession) -> StructType:
        """The columns that `read` gives, known before anything is read."""


class TableSource(Source):
    """A table of Spark, which knows its columns."""

    def __init__(self, table: StoredTable, given: Schema | None) -> None:
        super().__init__(given)
        self._table = table

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        return self._table.read(spark, streaming=streaming)

    def schema(self, spark: SparkSession) -> Schema:
        """That of the table; what is given counts more."""
        own = schema_of(self._table.columns(spark))
        if self.given is None:
            return own
        return Schema({**own, **self.given}, closed=False, mixed=self.given.mixed)

    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """PipelineError unless each is a column, or in one, or in the given schema: then it may come yet."""
        if not keep:
            return
        stored = spark.createDataFrame([], self._table.columns(spark))
        given = _OPEN if self.given is None else self.given
        unknown = [path for path in keep if _found(stored, path) is None and given.type_of(path) is None]
        if unknown:
            known = list(dict.fromkeys([*stored.columns, *schema_of(stored.schema)]))
            raise PipelineError("\n".join(_not_kept(path, known) for path in unknown))

    def outcomes(
        self,
        batch: DataFrame,
        engine: Engine,
        keep: Sequence[str],
        *,
        read: Accumulator[int] | None = None,
    ) -> DataFrame:
        # Only a schema that somebody wrote can be broken: then rows are carried along, to be shown if they are.
        row = F.struct("*") if self.given is not None else F.lit(None).cast("struct<none:string>")
        carried = [self._event(batch), row]
        kept = [_kept(batch, path) for path in keep]
        wanted = Wanted([*carried, *kept], subscribers=True, rejects=True, id=self._event(batch))
        found = matched(batch, engine, wanted)
        names = ["_event", "_row", *(f"_{number}" for number in range(len(keep)))]
        found = found.toDF(*names, *found.columns[len(names) :])
        rejected = F.col("reason").isNotNull()
        return found.select(
            F.when(~rejected, F.col("_event")).alias("event"),
            "subscription",
            "subscriber",
            F.when(~rejected, F.lit("match")).alias("kind"),
            F.when(~rejected, F.col("version")).alias("version"),
            *(F.col(name) for name in found.columns if name == BINDINGS),
            *(F.when(~rejected, F.col(f"_{number}")).alias(path) for number, path in enumerate(keep)),
            F.when(rejected, F.col("_event")).alias("place"),
            "reason",
            F.when(rejected, F.to_json("_row")).alias("raw"),
        )

    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, Reading, list[DataType]]:
        """All columns that patterns may read (they may change), by numbers; names of events; columns to keep."""
        schema = self.schema(events.sparkSession)
        read = [
            ColumnRead(path, type_)
            for path in schema
            if (type_ := schema.type_of(path)) is not None and not path.endswith(".*")
        ]

        def field(number: int) -> Column:
            return named(events.columns[number])

        if whole:
            sent = whole_columns(set(events.columns), events.schema, field)
        else:
            sent, _ = sent_columns(read, schema, events.schema, field)
        own = self._own_id(events)
        rows = events.select(
            *(each.column.alias(sent_as(number)) for number, each in enumerate(sent)),
            (F.lit(None).cast("string") if own is None else own).alias(ID),
            self._event(events).alias(CALLED),
            *(_kept(events, path).alias(carried_as(number)) for number, path in enumerate(keep)),
        )
        kept = [rows.schema[carried_as(number)].dataType for number in range(len(keep))]
        types = tuple(to_arrow_type(type_) for type_ in kept)
        reader = functools.partial(TableReader, tuple(each.name for each in sent), len(keep))
        return rows, Reading(reader, tuple(keep), types, refusing=True), kept

    def _own_id(self, batch: DataFrame) -> Column | None:
        """The id that events have of their own, as text."""
        wanted = getattr(self._table, "id", None) or "id"
        if wanted not in batch.columns or isinstance(batch.schema[wanted].dataType, StructType | ArrayType | MapType):
            return None
        stored = batch.schema[wanted].dataType
        return F.lower(F.hex(named(wanted))) if isinstance(stored, BinaryType) else named(wanted).cast("string")

    def _event(self, batch: DataFrame) -> Column:
        """The id of an event, as text; a digest of the row where it has none."""
        digest = F.substring(F.sha2(F.to_json(F.struct("*")), 256), 1, _DIGITS)
        wanted = getattr(self._table, "id", None)
        if wanted is None and "id" not in batch.columns:
            return digest
        name = wanted or "id"
        if name not in batch.columns:
            raise PipelineError(
                f"the source has no column {name!r} to be the id of events\n"
                f"Hint: its columns are {', '.join(batch.columns)}"
            )
        own = self._own_id(batch)
        return digest if own is None else F.coalesce(own, digest)


def _kept(batch: DataFrame, path: str) -> Column:
    column = _found(batch, path)
    return F.lit(None).cast("string") if column is None else column


def _found(rows: DataFrame, path: str) -> Column | None:
    if path in rows.columns:
        return named(path)
    try:
        rows.select(F.col(path))
    except AnalysisException:
        return None
    return F.col(path)


def _not_kept(path: str, known: Sequence[str]) -> str:
    near = similar_name(path, known)
    hint = f'did you mean "{near}"?' if near else f"take it out; there are {shortened(', '.join(known), 200)}"
    return f'`keep`: the source has no column "{shortened(path)}"\nHint: {hint}'


def _whole_files(spark: SparkSession, path: str, max_files: int | None, *, streaming: bool) -> DataFrame:
    reader = file_reader(spark, max_files, streaming=streaming)
    found: DataFrame = reader.format("binaryFile").schema(_FILE).load(path)
    return found


def _place(block: Column) -> tuple[Column, Column]:
    return F.col("_metadata.file_path").alias("path"), block.cast("long").alias("block")


def _is_one_file(path: str) -> bool:
    found = local(path)
    return found is not None and found.is_file()
