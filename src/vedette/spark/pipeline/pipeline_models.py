"""Models of the pipeline file: the whole, its subscriptions, patterns, operators, how Spark is started."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, PrivateAttr, SecretStr, ValidationInfo, field_validator

from vedette.dialects.registry import collects
from vedette.io.rule_files import ENDINGS
from vedette.io.schemas import read_schema
from vedette.io.subscription_rows import Written
from vedette.schema.schema import Schema
from vedette.spark.pipeline.checkpoint_facts import digest, facts_of
from vedette.spark.pipeline.fields import (
    DialectName,
    EnvironmentVariable,
    EnvironmentVariables,
    Length,
    Options,
    PipelineTable,
    Place,
    Places,
    Text,
    Texts,
    folder_of,
    secret,
)
from vedette.spark.pipeline.kinds import AnySink, AnySource, SinkConfig
from vedette.spark.pipeline.locations import located

MOST_SINKS = 100
MOST_KEPT = 1000
QUARANTINE = "quarantine"  # its name, unless it has another
Mode: TypeAlias = Literal["batch", "available-now", "continuous"]
_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!:memory:|file:)([^?]+)(.*)", re.DOTALL)


def sqlite_file(address: str) -> str | None:
    """The file of an SQLite database, from its SQLAlchemy address; None for other databases."""
    found = _SQLITE.fullmatch(address)
    return None if found is None else found[2]


class SubscriptionsConfig(PipelineTable):
    """Where subscriptions come from: a file, a table of Spark's catalog, a folder of a table, a database, a service."""

    file: Place | None = None
    """A subscriptions file: JSON lines, YAML or Parquet; with `dialect`, also a file or a folder of rules."""
    table: Text | None = None
    """A table of Spark's catalog; with `database`, a table there.

    Columns: `id`, `when`, and where wanted `subscriber`, `dialect`, `origin`, `expires`."""
    path: Place | None = None
    """A folder of Parquet files or of a Delta table, with those columns; of Sigma rules, without a `format`."""
    format: Literal["parquet", "delta"] | None = None
    """What is in the folder of `path`. Default: `parquet`."""
    dialect: DialectName | None = None
    """What rules are written in that do not say it themselves. Default: Vedette's own language."""
    pipeline: Texts = ()
    """Sigma only: pipelines of pySigma, by their names or their files (`*.yml`)."""
    strict: bool = False
    """Bad subscriptions, and rules that cannot be translated, are errors. Default: they are left out with a warning."""
    origin: bool | None = None
    """Notifications say where their subscriptions come from, in a last column `origin`. Default: with `dialect`."""
    database: Text | None = None
    """A database by its SQLAlchemy address, without a password: `sqlite:///subscriptions.db`."""
    password_env: EnvironmentVariable | None = None
    """The environment variable that holds the database's password."""
    service: Text | None = None
    """A service (`vedette serve`) by its address: `http://127.0.0.1:8080`. Those of the tenant whose key it is."""
    key_env: EnvironmentVariable | None = None
    """The environment variable that holds the tenant's key."""
    stream: Text | None = None
    """Which stream of the service they are for. Default: `default`."""
    refresh: Length | None = None
    """Streams only: look for a new version so often. Default: the one at the start is used to the end."""

    @field_validator("database", mode="after")
    @classmethod
    def _beside_the_file(cls, address: str | None, info: ValidationInfo) -> str | None:
        """The path of an SQLite file is relative to the pipeline file, as all paths are."""
        found = None if address is None else _SQLITE.fullmatch(address)
        return address if found is None else f"{found[1]}{located(found[2], folder_of(info))}{found[3]}"

    @field_validator("pipeline", mode="after")
    @classmethod
    def _files_beside_the_file(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """The path of a pipeline's file is relative to this file, as all paths are; others are names."""
        folder = folder_of(info)
        return tuple(located(name, folder) if name.endswith(ENDINGS) else name for name in names)

    @property
    def with_origin(self) -> bool:
        """Whether notifications have a column `origin`."""
        return self.dialect is not None if self.origin is None else self.origin

    @property
    def written(self) -> Written:
        """Dialect and pipelines for rules that do not name theirs."""
        return Written(self.dialect, self.pipeline, self.strict)

    @property
    def rules(self) -> str | None:
        """The file of subscriptions, or the folder of rules; None if they are elsewhere."""
        if self.file is not None:
            return self.file
        return self.path if self.format is None and self.dialect is not None and collects(self.dialect) else None

    @property
    def kind(self) -> Literal["file", "table", "folder", "database", "service"]:
        """Which of the five kinds of sources of subscriptions it is."""
        if self.service is not None:
            return "service"
        if self.file is not None:
            return "file"
        if self.database is not None:
            return "database"
        return "table" if self.table is not None else "folder"

    @property
    def password(self) -> SecretStr | None:
        """The value of `password_env`."""
        return None if self.password_env is None else secret(self.password_env)

    @property
    def key(self) -> SecretStr | None:
        """The value of `key_env`."""
        return None if self.key_env is None else secret(self.key_env)


class PatternsConfig(PipelineTable):
    """The section that allows patterns over several events, and says how they are followed."""

    lateness: Length | None = None
    """Streams only: events may come so much later than others that happened after them. Default: in order."""
    model: Place | None = None
    """What forecasts are made by: a file that `vedette train` wrote. Without it they have to learn."""
    learn: bool = False
    """Forecasts learn from the events as they come. Then each partitioning is followed in one place."""
    cap: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    """Partial matches that are kept in a partition; beyond it the least promising are given up."""


class OperatorsConfig(PipelineTable):
    """The section that allows calls of operators, and says where these come from."""

    file: Place | None = None
    """A file of operators: `.py`, or a `.toml` that names modules and settings. Default: those that are installed."""


class SparkConfig(PipelineTable):
    """How Spark is started; a session that is running already is used as it is."""

    master: Text | None = None
    """The cluster. Default: what the environment says, or else `local[*]`."""
    packages: Texts = ()
    """Connectors by their Maven coordinates. Those of Kafka and Delta need not be named unless `jars` are given."""
    jars: Places = ()
    """Connectors and drivers as files."""
    conf: Options = Field(default_factory=dict)
    """Settings of Spark: `{ "spark.driver.memory" = "2g" }`."""
    conf_env: EnvironmentVariables = Field(default_factory=dict)
    """Settings that are secrets: setting = the environment variable that holds it."""

    def secret_conf(self) -> dict[str, SecretStr]:
        """The settings of `conf_env` with their values."""
        return {name: secret(variable) for name, variable in self.conf_env.items()}


class Pipeline(PipelineTable):
    """A whole pipeline. Paths in it are absolute: those in the file are relative to the file's folder."""

    # Not `Text`: it becomes a part of paths and a key of ledgers.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    """What messages, Spark's pages and ledgers call it. Default: the file's name without its ending."""
    mode: Mode = "batch"
    """`batch`: all there is, once. `available-now`: what came since the last run, then stop. `continuous`: for ever."""
    trigger: Length | None = None
    """Continuous only: a micro-batch begins so often. Default: as soon as the last one is done."""
    checkpoint: Place | None = None
    """Streams only, and needed there: the folder that remembers how far the pipeline came."""
    schema_file: Place | None = Field(default=None, alias="schema")
    """A schema file (JSON or YAML): events that break it are quarantined. Default: what the source says of itself."""
    keep: Annotated[Texts, Field(max_length=MOST_KEPT)] = ()
    """Attributes of the event that its notifications carry besides."""
    subscriptions: SubscriptionsConfig
    """Where subscriptions come from."""
    source: AnySource
    """Where events come from."""
    patterns: PatternsConfig | None = None
    """Subscriptions may be patterns over several events. Default: they are filters."""
    operators: OperatorsConfig | None = None
    """Subscriptions may call operators. Default: they do not."""
    quarantine: AnySink | None = None
    """A sink for rows that are malformed or break the schema. Default: they are counted, and the first are shown."""
    sinks: Annotated[tuple[AnySink, ...], Field(strict=False, min_length=1, max_length=MOST_SINKS)]
    """Where notifications go: each to every sink whose `subscribers` and `subscriptions` it fits."""
    spark: SparkConfig = SparkConfig()
    """How Spark is started."""

    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """The file it was read from."""
        return self._file

    @property
    def streaming(self) -> bool:
        """Whether it runs in micro-batches from a checkpoint."""
        return self.mode != "batch"

    def facts(self) -> dict[str, Any]:
        """The facts that a checkpoint depends on, as JSON, to be compared by `checkpoint_facts.differences`."""
        return facts_of(self.name, self.source, patterns=self.patterns is not None)

    def fingerprint(self) -> str:
        """A hash of the facts, 12 hexadecimal digits."""
        return digest(self.facts())

    @cached_property
    def schema_given(self) -> Schema | None:
        """The schema of the schema file; None without one."""
        return None if self.schema_file is None else read_schema(self.schema_file)

    @field_validator("quarantine", mode="after")
    @classmethod
    def _called(cls, quarantine: SinkConfig | None) -> SinkConfig | None:
        """Give the quarantine a name, if it has none."""
        if quarantine is None or quarantine.name is not None:
            return quarantine
        return quarantine.model_copy(update={"name": QUARANTINE})

    @field_validator("sinks", mode="after")
    @classmethod
    def _named(cls, sinks: tuple[SinkConfig, ...]) -> tuple[SinkConfig, ...]:
        """Give every sink a name: that of the file, or its type, numbered from the second on."""
        taken = {sink.name for sink in sinks if sink.name is not None}
        named = []
        for sink in sinks:
            if sink.name is None:
                number = 1
                while (name := sink.type if number == 1 else f"{sink.type}-{number}") in taken:
                    number += 1
                taken.add(name)
                sink = sink.model_copy(update={"name": name})
            named.append(sink)
        return tuple(named)
