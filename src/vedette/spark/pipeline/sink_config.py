"""Models of the sinks that come with Vedette: their tables in the pipeline file, and checks of these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, SecretStr

from vedette.spark.pipeline.durations import Duration
from vedette.spark.pipeline.fields import (
    EnvironmentVariable,
    EnvironmentVariables,
    Length,
    Options,
    Place,
    Positive,
    Server,
    Text,
    Topic,
    WebAddress,
    secret,
)
from vedette.spark.pipeline.findings import PipelineMistake
from vedette.spark.pipeline.kinds import Connector, SinkConfig, Where
from vedette.spark.pipeline.locations import is_glob, local
from vedette.spark.pipeline.source_config import JdbcSource, KafkaSource, jdbc_address

if TYPE_CHECKING:
    from vedette.spark.pipeline.sinks.base import Sink


class _Folder(SinkConfig):
    places: ClassVar = ("path",)
    batches_only: ClassVar = ("if_exists",)

    path: Place
    """The folder that is written."""
    if_exists: Literal["error", "replace"] = "error"
    """Batch only: what happens if the folder is there already."""

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes in `path`: it must be one folder that can be made, or written to."""
        folder = local(self.path)
        if is_glob(self.path):
            yield where.mistake("path", f"{where.called('path')} is a pattern", "name one folder")
        elif folder is None:
            return
        elif os.path.isfile(folder):
            message = f"{where.called('path')}: {folder} is a file"
            yield where.mistake("path", message, "name a folder: it is made if it is not there")
        elif where.streaming is False and self.if_exists == "error" and _holds_anything(folder):
            hint = 'take another folder, or set if_exists = "replace"'
            yield where.mistake("path", f"{where.called('path')}: {folder} holds something already", hint)


class ParquetSink(_Folder):
    """A folder of Parquet files. Exactly once."""

    def sink(self) -> Sink:
        """The sink of Parquet files."""
        from vedette.spark.pipeline.sinks.files import FolderSink

        return FolderSink(self.called, self.path, format="parquet", replace=self.if_exists == "replace")


class JsonlSink(_Folder):
    """A folder of JSON lines. Exactly once."""

    def sink(self) -> Sink:
        """The sink of JSON lines."""
        from vedette.spark.pipeline.sinks.files import FolderSink

        return FolderSink(self.called, self.path, format="jsonl", replace=self.if_exists == "replace")


class ConsoleSink(SinkConfig):
    """The terminal, for trials."""

    reads_twice: ClassVar = True

    rows: Positive = 20
    """At most so many of a batch or micro-batch are shown."""

    def sink(self) -> Sink:
        """The sink that prints."""
        from vedette.spark.pipeline.sinks.console import TerminalSink

        return TerminalSink(self.called, rows=self.rows)


class KafkaSink(SinkConfig):
    """A topic of Kafka; values are JSON objects. At least once, with stable ids."""

    spark_options: ClassVar = {"kafka.bootstrap.servers": "servers", "topic": "topic"}

    servers: Annotated[tuple[Server, ...], Field(strict=False, min_length=1)]
    """Brokers to begin with, as host:port: `["localhost:9092"]`."""
    topic: Topic
    """The topic to write to."""
    key: Literal["id", "event", "subscription", "subscriber"] = "id"
    """Which column is a record's key."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's Kafka writer, handed on as they are."""
    options_env: EnvironmentVariables = Field(default_factory=dict)
    """Options whose values are secrets: option = the environment variable that holds it."""

    def secret_options(self) -> dict[str, SecretStr]:
        """The options of `options_env` with their values."""
        return {option: secret(variable) for option, variable in self.options_env.items()}

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: a key that rows of the quarantine do not have, a topic that the pipeline reads."""
        if where.is_quarantine and self.key in ("subscription", "subscriber"):
            yield where.mistake("key", "bad rows have no such column", 'leave `key` out, or set key = "event"')
        source = where.source
        if isinstance(source, KafkaSource) and self.topic in source.topics and {*source.servers} & {*self.servers}:
            hint = "the pipeline would read its own notifications: write to another topic"
            yield where.mistake("topic", f"{where.called('topic')} is a topic of the source", hint)

    def connector(self) -> Connector:
        """Spark's connector for Kafka."""
        from vedette.spark.pipeline.connectors import KAFKA

        return KAFKA

    def sink(self) -> Sink:
        """The sink that sends records."""
        from vedette.spark.pipeline.sinks.kafka import TopicSink

        return TopicSink(
            self.called,
            servers=",".join(self.servers),
            topic=self.topic,
            key=self.key,
            options=self.options,
            secrets=self.secret_options(),
        )


class JdbcSink(SinkConfig):
    """A table of a database, made if it is not there. Exactly once."""

    spark_options: ClassVar = {
        **{name: name for name in ("url", "user", "driver")},
        **dict.fromkeys(("dbtable", "query"), "table"),
    }

    url: Text
    """`jdbc:postgresql://host/database`, without a password."""
    table: Text
    """The table to write to."""
    driver: Text | None = None
    """The driver's Java class. Default: the one that the address suggests."""
    user: Text | None = None
    """Who logs in."""
    password_env: EnvironmentVariable | None = None
    """The environment variable that holds the password."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's JDBC writer, handed on as they are."""

    @property
    def password(self) -> SecretStr | None:
        """The value of `password_env`."""
        return None if self.password_env is None else secret(self.password_env)

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes: a bad address, a table that the pipeline reads."""
        yield from jdbc_address(where, self.url)
        source = where.source
        read = (source.url, (source.table or "").lower()) if isinstance(source, JdbcSource) else None
        if read == (self.url, self.table.lower()):
            hint = "the pipeline would write to what it reads: take another table"
            yield where.mistake("table", f"{where.called('table')} is the table of the source", hint)

    def sink(self) -> Sink:
        """The sink that writes rows."""
        from vedette.spark.pipeline.sinks.jdbc import TableSink

        return TableSink(
            self.called,
            url=self.url,
            table=self.table,
            driver=self.driver,
            user=self.user,
            password=self.password,
            options=self.options,
        )


class WebhookSink(SinkConfig):
    """POST requests with JSON. At least once, with stable ids."""

    secrets_go_to: ClassVar = "`headers_env`"

    url: WebAddress
    """Where they go, with http:// or https://."""
    headers: Options = Field(default_factory=dict)
    """Headers of every request."""
    headers_env: EnvironmentVariables = Field(default_factory=dict)
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

    def sink(self) -> Sink:
        """What sends requests."""
        from vedette.spark.pipeline.sinks.webhook import Receiver, RequestSink

        secrets = {header: value.get_secret_value() for header, value in self.secret_headers().items()}
        receiver = Receiver(
            self.url,
            headers={**self.headers, **secrets},
            batch_size=self.batch_size,
            timeout=self.timeout.seconds,
            retries=self.retries,
        )
        return RequestSink(self.called, receiver)


def _holds_anything(folder: os.PathLike[str]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except (OSError, ValueError):
        return False
