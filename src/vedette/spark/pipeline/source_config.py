"""Models of the sources that come with Vedette: their tables in the pipeline file, and checks of these.

JSON lines, CSV and Kafka are read by Vedette's own readers, row by row, so that bad ones can be set aside; the others
are tables of Spark. Files and Delta tables, Kafka and rate can stream; JDBC cannot.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, SecretStr

from vedette.schema.schema import Schema
from vedette.spark.pipeline.fields import (
    Bound,
    EnvironmentVariable,
    EnvironmentVariables,
    Options,
    PipelineTable,
    Place,
    Positive,
    Server,
    Text,
    Topic,
    secret,
)
from vedette.spark.pipeline.findings import PipelineMistake, exactly_one
from vedette.spark.pipeline.kinds import Connector, SourceConfig, Where
from vedette.spark.pipeline.locations import is_glob, local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from vedette.spark.pipeline.sources import Source

_OF_STREAMS = {"maxfilespertrigger": "max_files_per_trigger", "checkpointlocation": "checkpoint"}


class FileSource(SourceConfig):
    """Files of a folder of this machine, or of a file system that Hadoop reaches."""

    places: ClassVar = ("path",)
    identity: ClassVar = ("path",)
    streams_only: ClassVar = ("max_files_per_trigger",)

    path: Place
    """A file, a folder, or a pattern such as `events/*.gz`; a stream needs a folder or a pattern."""
    max_files_per_trigger: Positive | None = None
    """Streams only: at most so many files in one micro-batch."""

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: missing files, unless a stream waits for them."""
        yield from _is_there(where, self.path)


class JsonlSource(FileSource):
    """JSON lines: one event a line."""

    def source(self, given: Schema | None) -> Source:
        """The reader, which parses lines in the workers."""
        from vedette.spark.pipeline.sources import LineSource

        return LineSource(self.path, given, max_files=self.max_files_per_trigger)


class CsvSource(FileSource):
    """CSV with a header."""

    def source(self, given: Schema | None) -> Source:
        """The reader, which parses whole files in the workers."""
        from vedette.spark.pipeline.sources import CsvFileSource

        return CsvFileSource(self.path, given, max_files=self.max_files_per_trigger)


class ParquetSource(FileSource):
    """Parquet files."""

    id: Text | None = None
    """The column that is an event's id. Default: `id`, if there is such a column, or else a digest of the row."""

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """By Spark's own reader."""
        from vedette.spark.pipeline.source_tables import file_reader

        reader = file_reader(spark, self.max_files_per_trigger, streaming=streaming)
        if streaming:
            reader = reader.schema(self.columns(spark))
        found: DataFrame = reader.parquet(self.path)
        return found

    def columns(self, spark: SparkSession) -> StructType:
        """The columns of the present files: a stream has to know them first."""
        from vedette.spark.pipeline.source_tables import stored_columns

        return stored_columns(spark, self.path)


class DeltaSource(SourceConfig):
    """A Delta table, by its folder or by its name in the catalog: one of the two."""

    places: ClassVar = ("path",)
    identity: ClassVar = ("path", "table")
    streams_only: ClassVar = ("max_files_per_trigger",)
    spark_options: ClassVar = _OF_STREAMS

    path: Place | None = None
    """The table's folder."""
    table: Text | None = None
    """The table's name in Spark's catalog."""
    id: Text | None = None
    """The column that is an event's id. Default: `id`, if there is such a column, or else a digest of the row."""
    max_files_per_trigger: Positive | None = None
    """Streams only: at most so many files in one micro-batch."""
    options: Options = Field(default_factory=dict)
    """Options of the Delta reader, handed on as they are."""

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: not exactly one of folder and name, a missing folder."""
        yield from exactly_one(where.path, {"path": self.path, "table": self.table})
        if self.path is not None:
            yield from _is_there(where, self.path)

    def connector(self) -> Connector:
        """Spark's connector for Delta."""
        from vedette.spark.pipeline.connectors import DELTA

        return DELTA

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """By Spark's own reader."""
        from vedette.spark.pipeline.source_tables import file_reader

        reader = file_reader(spark, self.max_files_per_trigger, streaming=streaming)
        reader = reader.format("delta").options(**self.options)
        found: DataFrame = reader.load(self.path) if self.path is not None else reader.table(self.table)
        return found


class KafkaSource(SourceConfig):
    """Topics of Kafka whose values are JSON objects."""

    identity: ClassVar = ("topics",)
    streams_only: ClassVar = ("max_offsets_per_trigger",)
    spark_options: ClassVar = {
        "kafka.bootstrap.servers": "servers",
        "subscribe": "topics",
        "startingoffsets": "starting",
        "maxoffsetspertrigger": "max_offsets_per_trigger",
        "checkpointlocation": "checkpoint",
    }

    servers: Annotated[tuple[Server, ...], Field(strict=False, min_length=1)]
    """Brokers to begin with, as host:port: `["localhost:9092"]`."""
    topics: Annotated[tuple[Topic, ...], Field(strict=False, min_length=1)]
    """The topics to read."""
    starting: Literal["earliest", "latest"] = "earliest"
    """Where reading begins; a stream goes on from its checkpoint."""
    max_offsets_per_trigger: Positive | None = None
    """Streams only: at most so many records in one micro-batch."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's Kafka reader, handed on as they are: `{ "kafka.security.protocol" = "SASL_SSL" }`."""
    options_env: EnvironmentVariables = Field(default_factory=dict)
    """Options whose values are secrets: option = the environment variable that holds it."""

    def secret_options(self) -> dict[str, SecretStr]:
        """The options of `options_env` with their values."""
        return {option: secret(variable) for option, variable in self.options_env.items()}

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: a batch from the latest record on, which would read nothing."""
        if self.starting == "latest" and where.streaming is False:
            message = 'a batch that begins at the "latest" record of Kafka reads nothing'
            yield where.mistake("starting", message, 'set starting = "earliest", or a mode that streams')

    def connector(self) -> Connector:
        """Spark's connector for Kafka."""
        from vedette.spark.pipeline.connectors import KAFKA

        return KAFKA

    def source(self, given: Schema | None) -> Source:
        """The reader, which parses records in the workers."""
        from vedette.spark.pipeline.sources import RecordSource

        return RecordSource(
            given,
            servers=self.servers,
            topics=self.topics,
            starting=self.starting,
            max_offsets=self.max_offsets_per_trigger,
            options=self.options,
            secrets=self.secret_options(),
        )


class JdbcPartition(PipelineTable):
    """How a table is read in several parts at once."""

    column: Text
    """A column of numbers, dates or times, better an indexed one."""
    lower: Bound
    """About where its values begin (no row is left out)."""
    upper: Bound
    """About where they end."""
    count: Positive
    """How many parts."""


class JdbcSource(SourceConfig):
    """A table of a database or the answer to a query. It is read as a whole: batch only."""

    identity: ClassVar = ("table", "url", "query")
    spark_options: ClassVar = {
        **{name: name for name in ("url", "query", "user", "driver")},
        **dict.fromkeys(("partitioncolumn", "lowerbound", "upperbound", "numpartitions"), "partition"),
        "dbtable": "table",
        "fetchsize": "fetch_size",
    }

    url: Text
    """`jdbc:postgresql://host/database`, without a password."""
    table: Text | None = None
    """The table to read."""
    query: Text | None = None
    """A SELECT instead of `table`."""
    driver: Text | None = None
    """The driver's Java class. Default: the one that the address suggests."""
    user: Text | None = None
    """Who logs in."""
    password_env: EnvironmentVariable | None = None
    """The environment variable that holds the password."""
    partition: JdbcPartition | None = None
    """How `table` is read in several parts at once."""
    fetch_size: Positive | None = None
    """Rows a round trip."""
    id: Text | None = None
    """The column that is an event's id. Default: `id`, if there is such a column, or else a digest of the row."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's JDBC reader, handed on as they are."""

    @property
    def password(self) -> SecretStr | None:
        """The value of `password_env`."""
        return None if self.password_env is None else secret(self.password_env)

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: not exactly one of table and query, a bad address, a stream."""
        yield from exactly_one(where.path, {"table": self.table, "query": self.query})
        yield from jdbc_address(where, self.url)
        if self.partition is not None and self.query is not None:
            hint = 'write the query as a table: table = "(SELECT …) AS events"'
            yield where.mistake("partition", "`partition` goes with `table`, not with `query`", hint)
        if where.streaming:
            hint = 'set mode = "batch", or let the database write its changes to Kafka'
            yield where.mistake("type", "a database (jdbc) cannot be read as a stream", hint)

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """Read by Spark's own reader."""
        from vedette.spark.pipeline.source_tables import read_jdbc

        password = self.password
        said: dict[str, Any] = {
            "url": self.url,
            "dbtable": self.table,
            "query": self.query,
            "driver": self.driver,
            "user": self.user,
            "fetchsize": self.fetch_size,
            "password": None if password is None else password.get_secret_value(),
        }
        if (part := self.partition) is not None:
            said |= {
                "partitionColumn": part.column,
                "lowerBound": str(part.lower),
                "upperBound": str(part.upper),
                "numPartitions": part.count,
            }
        return read_jdbc(spark, {**self.options, **{name: value for name, value in said.items() if value is not None}})


class RateSource(SourceConfig):
    """Made-up events (`timestamp`, `value`: 0, 1, 2, …), for trials. It never ends: continuous only."""

    rows_per_second: Positive = 1
    """How many events a second."""

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: any mode but continuous, as it never ends."""
        if where.mode not in (None, "continuous"):
            yield where.mistake("type", "the source rate never ends", 'set mode = "continuous"; it is for trials')

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """A stream, always."""
        return spark.readStream.format("rate").option("rowsPerSecond", self.rows_per_second).load()

    def columns(self, spark: SparkSession) -> StructType:
        """The columns of the stream."""
        return self.read(spark, streaming=True).schema


def jdbc_address(where: Where, url: str) -> Iterator[PipelineMistake]:
    """A mistake if it is no address of a database."""
    if not url.startswith("jdbc:"):
        hint = 'it begins with jdbc:, e.g. "jdbc:postgresql://host/database"'
        yield where.mistake("url", f"{where.called('url')} is no JDBC address", hint)


def _is_there(where: Where, place: str) -> Iterator[PipelineMistake]:
    path = local(place)
    if path is None:
        return
    if is_glob(place):
        # Braces are a pattern to Spark alone; and files may come yet where a stream waits for them.
        if where.streaming is False and "{" not in place and next(glob.iglob(place), None) is None:
            yield where.mistake("path", f"{where.called('path')}: no file is like {path}", "check the pattern")
    elif not os.path.lexists(path):
        hint = "make the folder: a stream waits there for files" if where.streaming else "check the path"
        message = f"{where.called('path')}: there is no {path}"
        yield where.mistake("path", message, f"{hint}; it is relative to the pipeline file")
    elif where.streaming and path.is_file():
        message = f"{where.called('path')} is a single file, which cannot be read as a stream"
        yield where.mistake("path", message, 'name the folder that files come to, or set mode = "batch"')
