"""Where events come from: how each kind of source is read, and how its events become outcomes."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from vedette.errors import PipelineError
from vedette.schema.columns import Column as ColumnRead
from vedette.schema.schema import Schema
from vedette.spark.columns import sent_columns, whole_columns
from vedette.spark.kept import kept_type
from vedette.spark.line_task import WHOLE, CsvReader, LineReader, LineTask, Reader, RecordReader
from vedette.spark.lines import BINDINGS, match_csv, match_lines, match_records
from vedette.spark.match import match
from vedette.spark.operators.lines import LineFilters
from vedette.spark.operators.match import Ready
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.raw import RawTask, ReadChunk
from vedette.spark.patterns.table_reader import NAME, OWN, TableReader
from vedette.spark.patterns.tasks import carried_as, sent_as
from vedette.spark.pipeline.config import (
    CsvSource,
    DeltaSource,
    JdbcSource,
    JsonlSource,
    KafkaSource,
    ParquetSource,
    Pipeline,
    RateSource,
)
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.mistakes import meant
from vedette.spark.pipeline.routing import named
from vedette.spark.pipeline.sinks.database import driver_of
from vedette.spark.snapshots import Shipped
from vedette.spark.types import schema_of

_OPEN = Schema({}, closed=False)
_LARGEST_CSV = 1 << 30  # bytes of one file: it crosses as a whole
_LARGEST_GZIP = 1 << 28  # the same; larger ones are left to Spark
_DIGITS = 32
_FILE = "path string, modificationTime timestamp, length bigint, content binary"  # Spark's own; a stream must say it


class Source(ABC):
    """Where events come from."""

    def __init__(self, given: Schema | None) -> None:
        self.given = given  # the schema of the pipeline file

    @abstractmethod
    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """What is there, or a stream of what comes."""

    @abstractmethod
    def schema(self, spark: SparkSession) -> Schema:
        """The schema that subscriptions are read by."""

    @abstractmethod
    def outcomes(
        self,
        batch: DataFrame,
        shipped: Shipped,
        keep: Sequence[str],
        schema: Schema,
        *,
        read: Accumulator[int] | None = None,
        operators: Ready | None = None,
    ) -> DataFrame:
        """Matches, and rows that are set aside; `read` hears how many events there were, where `counts_itself`.

        With `operators`, filters that call some are matched besides, and outcomes have `bindings` behind the head.
        """

    @abstractmethod
    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """PipelineError if an attribute that notifications are to carry cannot be there, as far as that is known."""

    @abstractmethod
    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, RawTask, list[DataType]]:
        """What patterns are followed over: rows, how a worker reads them, and the types of what is kept.

        `whole`: operators look at events, and may see all of them.
        """

    counts_itself = False  # else the rows of a batch are its events


def source_of(pipeline: Pipeline) -> Source:
    """The source that a pipeline file describes."""
    config, given = pipeline.source, pipeline.schema_given
    if isinstance(config, JsonlSource):
        return _Lines(config, given)
    if isinstance(config, CsvSource):
        return _CsvFiles(config, given)
    if isinstance(config, KafkaSource):
        return _Records(config, given)
    return _Table(config, given)


# ---------------------------------------------------------------- what Vedette reads itself


class _Raw(Source):
    """Rows that are parsed in the workers: nothing is known of them before, unless a schema is given."""

    counts_itself = True

    def __init__(self, given: Schema | None, matching: Callable[..., DataFrame]) -> None:
        super().__init__(given)
        self._matching = matching

    def schema(self, spark: SparkSession) -> Schema:
        """The given one; else attributes have the types that subscriptions expect of them."""
        return _OPEN if self.given is None else self.given

    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """Any row may have any attribute."""

    def outcomes(
        self,
        batch: DataFrame,
        shipped: Shipped,
        keep: Sequence[str],
        schema: Schema,
        *,
        read: Accumulator[int] | None = None,
        operators: Ready | None = None,
    ) -> DataFrame:
        lines = None
        if operators is not None:
            lines = LineFilters(operators.filters, caller(operators.calling, batch.sparkSession))
        return self._matching(batch, shipped, keep=keep, schema=self.given, read=read, operators=lines)

    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, RawTask, list[DataType]]:
        """The rows as they are: they are parsed in the worker."""
        kept = [kept_type(path, self.given) for path in keep]
        types = tuple(to_arrow_type(type_, timezone="UTC") for type_ in kept)
        return events, RawTask(functools.partial(_read_by, self._reader()), tuple(keep), types, self.given), kept

    def _reader(self) -> Callable[[], Reader]:
        raise NotImplementedError


def _read_by(reader: Callable[[], Reader]) -> Callable[[Any], Iterator[ReadChunk]]:
    made = reader()
    return lambda batch: (ReadChunk(*each) for each in made.read(batch))


class _Lines(_Raw):
    def __init__(self, config: JsonlSource, given: Schema | None) -> None:
        super().__init__(given, functools.partial(match_lines, numbers=_is_one_file(config.path)))
        self._config = config

    def _reader(self) -> Callable[[], Reader]:
        return functools.partial(LineReader, LineTask(None, (), self.given, _is_one_file(self._config.path)))

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        # A gzip file cannot be cut anyway. Spark would stop at a damaged one; read by us, it is set aside.
        is_whole = F.col("_metadata.file_name").endswith(".gz") & (F.col("_metadata.file_size") <= _LARGEST_GZIP)
        # Lines end where the local engine ends them; a carriage return alone ends none.
        lines: DataFrame = (
            _reader(spark, self._config, streaming=streaming)
            .format("text")
            .option("lineSep", "\n")
            .load(self._config.path)
            .where(~is_whole)
            .select(F.col("value").cast("binary"), *_place(F.col("_metadata.file_block_start")))
        )
        files = _whole_files(spark, self._config, streaming=streaming).where(is_whole)
        return lines.unionAll(files.select(F.col("content").alias("value"), *_place(F.lit(WHOLE))))


class _CsvFiles(_Raw):
    def __init__(self, config: CsvSource, given: Schema | None) -> None:
        super().__init__(given, functools.partial(match_csv, numbers=_is_one_file(config.path)))
        self._config = config

    def _reader(self) -> Callable[[], Reader]:
        return functools.partial(CsvReader, LineTask(None, (), self.given, _is_one_file(self._config.path)))

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        files = _whole_files(spark, self._config, streaming=streaming)
        too_large = F.raise_error(
            F.concat(
                F.col("path"),
                F.lit(f" is larger than {_LARGEST_CSV >> 20} MiB, and a CSV file is read as a whole\n"),
                F.lit("Hint: cut it into several files, each with the header"),
            )
        )
        fits = F.when(F.col("length") > _LARGEST_CSV, too_large).otherwise(F.lit(True))
        return files.where(fits).select("content", F.col("_metadata.file_path").alias("path"))


class _Records(_Raw):
    def __init__(self, config: KafkaSource, given: Schema | None) -> None:
        super().__init__(given, match_records)
        self._config = config

    def _reader(self) -> Callable[[], Reader]:
        return RecordReader

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        config = self._config
        options = {
            "startingOffsets": config.starting,
            **config.options,
            **{name: value.get_secret_value() for name, value in config.secret_options().items()},
            "kafka.bootstrap.servers": ",".join(config.servers),
            "subscribe": ",".join(config.topics),
        }
        if streaming and config.max_offsets_per_trigger is not None:
            options["maxOffsetsPerTrigger"] = str(config.max_offsets_per_trigger)
        if not streaming:
            options["startingOffsets"] = "earliest"  # what is there, as a whole, begins at its beginning
        reader: Any = spark.readStream if streaming else spark.read
        records: DataFrame = reader.format("kafka").options(**options).load()
        return records.select("value", "topic", "partition", "offset")


# ---------------------------------------------------------------- tables of Spark


class _Table(Source):
    def __init__(self, config: ParquetSource | DeltaSource | JdbcSource | RateSource, given: Schema | None) -> None:
        super().__init__(given)
        self._config = config

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        config = self._config
        if isinstance(config, ParquetSource):
            reader: Any = _reader(spark, config, streaming=streaming)
            if streaming:
                reader = reader.schema(_stored(spark, config))
            return reader.parquet(config.path)  # type: ignore[no-any-return]
        if isinstance(config, DeltaSource):
            return _delta(spark, config, streaming=streaming)
        if isinstance(config, JdbcSource):
            return _database(spark, config)
        return spark.readStream.format("rate").option("rowsPerSecond", config.rows_per_second).load()

    def schema(self, spark: SparkSession) -> Schema:
        """That of the table; what is given counts more."""
        own = schema_of(self._columns(spark))
        if self.given is None:
            return own
        return Schema({**own, **self.given}, closed=False, mixed=self.given.mixed)

    def check_kept(self, spark: SparkSession, keep: Sequence[str]) -> None:
        """Every one is a column, or in one, or in the given schema: then it may come yet."""
        if not keep:
            return
        stored, given = spark.createDataFrame([], self._columns(spark)), self.given or _OPEN
        unknown = [path for path in keep if _found(stored, path) is None and given.type_of(path) is None]
        if unknown:
            known = list(dict.fromkeys([*stored.columns, *schema_of(stored.schema)]))
            raise PipelineError("\n".join(_not_kept(path, known) for path in unknown))

    def _columns(self, spark: SparkSession) -> StructType:
        if isinstance(self._config, ParquetSource):
            return _stored(spark, self._config)
        return self.read(spark, streaming=isinstance(self._config, RateSource)).schema

    def outcomes(
        self,
        batch: DataFrame,
        shipped: Shipped,
        keep: Sequence[str],
        schema: Schema,
        *,
        read: Accumulator[int] | None = None,
        operators: Ready | None = None,
    ) -> DataFrame:
        # Only a schema that somebody wrote can be broken: then rows are carried along, to be shown if they are.
        row = F.struct("*") if self.given is not None else F.lit(None).cast("struct<none:string>")
        carried = [self._event(batch).alias("_event"), row.alias("_row")]
        kept = [_kept(batch, path).alias(f"_{number}") for number, path in enumerate(keep)]
        found = match(
            batch,
            shipped if operators is None else operators,
            keep=[*carried, *kept],
            subscribers=True,
            rejects="keep",
            id=None if operators is None else self._event(batch),
        )
        rejected = F.col("reason").isNotNull()
        return found.select(
            F.when(~rejected, F.col("_event")).alias("event"),
            "subscription",
            "subscriber",
            F.when(~rejected, F.lit("match")).alias("kind"),
            F.when(~rejected, F.col("version")).alias("version"),
            *([] if operators is None else [F.col(BINDINGS)]),
            *(F.when(~rejected, F.col(f"_{number}")).alias(path) for number, path in enumerate(keep)),
            F.when(rejected, F.col("_event")).alias("place"),
            "reason",
            F.when(rejected, F.to_json("_row")).alias("raw"),
        )

    def raw(
        self, events: DataFrame, keep: Sequence[str], *, whole: bool = False
    ) -> tuple[DataFrame, RawTask, list[DataType]]:
        """All columns that patterns may look at (they may change), under numbers; what events are called and kept."""
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
            (F.lit(None).cast("string") if own is None else own).alias(OWN),
            self._event(events).alias(NAME),
            *(_kept(events, path).alias(carried_as(number)) for number, path in enumerate(keep)),
        )
        kept = [rows.schema[carried_as(number)].dataType for number in range(len(keep))]
        types = tuple(to_arrow_type(type_, timezone="UTC") for type_ in kept)
        reader = functools.partial(TableReader, tuple(each.name for each in sent), tuple(keep))
        return rows, RawTask(reader, tuple(keep), types, None), kept

    def _own_id(self, batch: DataFrame) -> Column | None:
        """The id that events have of their own, as text."""
        wanted = getattr(self._config, "id", None) or "id"
        if wanted not in batch.columns or isinstance(batch.schema[wanted].dataType, StructType | ArrayType | MapType):
            return None
        stored = batch.schema[wanted].dataType
        return F.lower(F.hex(named(wanted))) if isinstance(stored, BinaryType) else named(wanted).cast("string")

    def _event(self, batch: DataFrame) -> Column:
        """The id of an event, as text; a digest of the row where it has none."""
        digest = F.substring(F.sha2(F.to_json(F.struct("*")), 256), 1, _DIGITS)
        wanted = getattr(self._config, "id", None)
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
    near = meant(path, known)
    hint = f'did you mean "{near}"?' if near else f"take it out; there are {shortened(', '.join(known), 200)}"
    return f'`keep`: the source has no column "{shortened(path)}"\nHint: {hint}'


def _stored(spark: SparkSession, config: ParquetSource) -> StructType:
    try:
        return spark.read.parquet(config.path).schema
    except AnalysisException as error:
        raise PipelineError(
            f"{config.path} does not say which columns its events have: {str(error).splitlines()[0]}\n"
            "Hint: a stream of Parquet files begins with at least one file there"
        ) from None


def _delta(spark: SparkSession, config: DeltaSource, *, streaming: bool) -> DataFrame:
    reader: Any = (spark.readStream if streaming else spark.read).format("delta").options(**config.options)
    if streaming and config.max_files_per_trigger is not None:
        reader = reader.option("maxFilesPerTrigger", config.max_files_per_trigger)
    return reader.load(config.path) if config.path is not None else reader.table(config.table)  # type: ignore[no-any-return]


def _database(spark: SparkSession, config: JdbcSource) -> DataFrame:
    options: dict[str, Any] = {**config.options, "url": config.url}
    options |= {"query": config.query} if config.query is not None else {"dbtable": config.table}
    driver = config.driver or driver_of(config.url)
    for name, value in (("driver", driver), ("user", config.user), ("fetchsize", config.fetch_size)):
        if value is not None:
            options[name] = value
    if config.password is not None:
        options["password"] = config.password.get_secret_value()
    if (part := config.partition) is not None:
        options |= {
            "partitionColumn": part.column,
            "lowerBound": str(part.lower),
            "upperBound": str(part.upper),
            "numPartitions": part.count,
        }
    return spark.read.format("jdbc").options(**options).load()


def _reader(spark: SparkSession, config: JsonlSource | CsvSource | ParquetSource, *, streaming: bool) -> Any:
    if not streaming:
        return spark.read
    reader = spark.readStream
    if config.max_files_per_trigger is not None:
        reader = reader.option("maxFilesPerTrigger", config.max_files_per_trigger)
    return reader


def _whole_files(spark: SparkSession, config: JsonlSource | CsvSource, *, streaming: bool) -> DataFrame:
    reader = _reader(spark, config, streaming=streaming)
    found: DataFrame = reader.format("binaryFile").schema(_FILE).load(config.path)
    return found


def _place(block: Column) -> tuple[Column, Column]:
    return F.col("_metadata.file_path").alias("path"), block.cast("long").alias("block")


def _is_one_file(path: str) -> bool:
    found = local(path)
    return found is not None and found.is_file()
