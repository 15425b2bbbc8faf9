"""What a pipeline file may say about its source, one model per `type`.

The events of `LINES` are read by Vedette's own readers, row by row, so that bad ones can be set aside; those of
`TABLES` are tables of Spark. Files and Delta tables, Kafka and rate can stream; JDBC cannot.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from vedette.spark.pipeline.fields import (
    Bound,
    Options,
    Part,
    Place,
    Positive,
    Server,
    Text,
    Topic,
    Variable,
    Variables,
    secret,
)


class _Files(Part):
    path: Place
    """A file, a folder, or a pattern such as `events/*.gz`; a stream needs a folder or a pattern."""
    max_files_per_trigger: Positive | None = None
    """Streams only: at most so many files in one micro-batch."""


class JsonlSource(_Files):
    """JSON lines: one event a line."""

    type: Literal["jsonl"]


class CsvSource(_Files):
    """CSV with a header."""

    type: Literal["csv"]


class ParquetSource(_Files):
    """Parquet files."""

    type: Literal["parquet"]
    id: Text | None = None
    """The column that is an event's id. Default: `id`, if there is such a column, or else a digest of the row."""


class DeltaSource(Part):
    """A Delta table, by its folder or by its name in the catalog: one of the two."""

    type: Literal["delta"]
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


class KafkaSource(Part):
    """Topics of Kafka whose values are JSON objects."""

    type: Literal["kafka"]
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
    options_env: Variables = Field(default_factory=dict)
    """Options whose values are secrets: option = the environment variable that holds it."""

    def secret_options(self) -> dict[str, SecretStr]:
        """The options of `options_env` with their values."""
        return {option: secret(variable) for option, variable in self.options_env.items()}


class JdbcPartition(Part):
    """How a table is read in several parts at once."""

    column: Text
    """A column of numbers, dates or times, better an indexed one."""
    lower: Bound
    """About where its values begin (no row is left out)."""
    upper: Bound
    """About where they end."""
    count: Positive
    """How many parts."""


class JdbcSource(Part):
    """A table of a database or the answer to a query. It is read as a whole: batch only."""

    type: Literal["jdbc"]
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
    password_env: Variable | None = None
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
        """What `password_env` holds."""
        return None if self.password_env is None else secret(self.password_env)


class RateSource(Part):
    """Made-up events (`timestamp`, `value`: 0, 1, 2, …), for trials. It never ends: continuous only."""

    type: Literal["rate"]
    rows_per_second: Positive = 1
    """How many events a second."""


SourceConfig: TypeAlias = Annotated[
    JsonlSource | CsvSource | ParquetSource | DeltaSource | KafkaSource | JdbcSource | RateSource,
    Field(discriminator="type"),
]

SOURCES = (JsonlSource, CsvSource, ParquetSource, DeltaSource, KafkaSource, JdbcSource, RateSource)
LINES = ("jsonl", "csv", "kafka")
TABLES = ("parquet", "delta", "jdbc", "rate")
