"""What a pipeline file may say about its sinks and its quarantine, one model per `type`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from vedette.spark.pipeline.durations import Duration
from vedette.spark.pipeline.fields import (
    Length,
    Options,
    Part,
    Place,
    Positive,
    Server,
    Text,
    Texts,
    Topic,
    Variable,
    Variables,
    WebAddress,
    secret,
)


class _Sink(Part):
    # Not `Text`: names become parts of paths and keys of the ledger.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")] | None = None
    """What messages and the ledger call it. Default: its type, numbered from the second of a type on."""
    subscribers: Annotated[Texts, Field(min_length=1)] | None = None
    """Only notifications of these subscribers; patterns such as `ops-*` too. Default: all."""
    subscriptions: Annotated[Texts, Field(min_length=1)] | None = None
    """Only notifications of these subscriptions, likewise; with both keys, both must hold. Default: all."""


class _Folder(_Sink):
    path: Place
    """The folder that is written."""
    if_exists: Literal["error", "replace"] = "error"
    """Batch only: what happens if the folder is there already."""


class ParquetSink(_Folder):
    """A folder of Parquet files. Exactly once."""

    type: Literal["parquet"]


class JsonlSink(_Folder):
    """A folder of JSON lines. Exactly once."""

    type: Literal["jsonl"]


class ConsoleSink(_Sink):
    """The terminal, for trials."""

    type: Literal["console"]
    rows: Positive = 20
    """At most so many of a batch or micro-batch are shown."""


class KafkaSink(_Sink):
    """A topic of Kafka; values are JSON objects. At least once, with stable ids."""

    type: Literal["kafka"]
    servers: Annotated[tuple[Server, ...], Field(strict=False, min_length=1)]
    """Brokers to begin with, as host:port: `["localhost:9092"]`."""
    topic: Topic
    """The topic to write to."""
    key: Literal["id", "event", "subscription", "subscriber"] = "id"
    """Which column is a record's key."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's Kafka writer, handed on as they are."""
    options_env: Variables = Field(default_factory=dict)
    """Options whose values are secrets: option = the environment variable that holds it."""

    def secret_options(self) -> dict[str, SecretStr]:
        """The options of `options_env` with their values."""
        return {option: secret(variable) for option, variable in self.options_env.items()}


class JdbcSink(_Sink):
    """A table of a database, made if it is not there. Exactly once."""

    type: Literal["jdbc"]
    url: Text
    """`jdbc:postgresql://host/database`, without a password."""
    table: Text
    """The table to write to."""
    driver: Text | None = None
    """The driver's Java class. Default: the one that the address suggests."""
    user: Text | None = None
    """Who logs in."""
    password_env: Variable | None = None
    """The environment variable that holds the password."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's JDBC writer, handed on as they are."""

    @property
    def password(self) -> SecretStr | None:
        """What `password_env` holds."""
        return None if self.password_env is None else secret(self.password_env)


class WebhookSink(_Sink):
    """POST requests with JSON. At least once, with stable ids."""

    type: Literal["webhook"]
    url: WebAddress
    """Where they go, with http:// or https://."""
    headers: Options = Field(default_factory=dict)
    """Headers of every request."""
    headers_env: Variables = Field(default_factory=dict)
    """Headers whose values are secrets: header = the environment variable that holds it."""
    batch_size: Positive = 100
    """At most so many notifications in a request."""
    timeout: Length = Duration(10_000)
    """How long an answer may take."""
    retries: Annotated[int, Field(ge=0, le=100)] = 5
    """How often a request is sent again, at growing intervals, before the micro-batch fails."""

    def secret_headers(self) -> dict[str, SecretStr]:
        """The headers of `headers_env` with their values."""
        return {header: secret(variable) for header, variable in self.headers_env.items()}


SinkConfig: TypeAlias = Annotated[
    ParquetSink | JsonlSink | ConsoleSink | KafkaSink | JdbcSink | WebhookSink, Field(discriminator="type")
]
SINKS = (ParquetSink, JsonlSink, ConsoleSink, KafkaSink, JdbcSink, WebhookSink)
