"""The interface of sources and sinks, and how their kinds are found.

A kind is a model of its table in the pipeline file, found by its `type` among the entry points of `vedette.sources` and
`vedette.sinks`. Nothing of this needs Spark before a pipeline starts. How to write one: docs/how-to/write-a-source.md
and docs/how-to/write-a-sink.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple, TypeVar

from pydantic import Field, PlainValidator, SerializeAsAny, ValidationInfo
from pydantic_core import PydanticCustomError

from vedette import plugins
from vedette.errors import VedetteError
from vedette.plugins import Door
from vedette.schema.schema import Schema
from vedette.spark.pipeline.fields import PipelineTable, Texts, one_of, shortened
from vedette.spark.pipeline.findings import PipelineMistake, key_name
from vedette.spark.pipeline.positions import KeyPath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from vedette.spark.pipeline.sinks.base import Sink
    from vedette.spark.pipeline.sources import Source


class Connector(NamedTuple):
    """A package and settings that Spark has to be started with, for a source or a sink."""

    artifact: str  # the name of the package, without its version: one that the file names itself counts more
    package: str  # its Maven coordinates
    conf: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Where:
    """The position of a table in a pipeline file, and what else the file says; None for what is missing or wrong."""

    path: KeyPath  # ("source",), ("quarantine",), ("sinks", 0)
    streaming: bool | None
    mode: str | None = None
    source: SourceConfig | None = None

    @property
    def is_quarantine(self) -> bool:
        """Whether rows that were set aside go there, which have no subscription."""
        return self.path == ("quarantine",)

    def called(self, key: str | None = None) -> str:
        """The name of a key, or of the table itself, in messages: `path` of sink 2."""
        return key_name(self.path if key is None else (*self.path, key))

    def mistake(self, key: str | None, message: str, hint: str | None = None) -> PipelineMistake:
        """A mistake in a key of the table, or in the table as a whole."""
        return PipelineMistake(self.path if key is None else (*self.path, key), message, hint)


class Kind(PipelineTable):
    """Base of sources and sinks."""

    places: ClassVar[tuple[str, ...]] = ()
    """Keys of files and folders: what a pipeline reads, what it writes and what it remembers are kept apart."""
    streams_only: ClassVar[tuple[str, ...]] = ()
    """Keys that are for streams."""
    batches_only: ClassVar[tuple[str, ...]] = ()
    """Keys that are for mode = "batch"."""
    spark_options: ClassVar[Mapping[str, str]] = {}
    """Options of Spark, in small letters, that keys of the table stand for: not to be given as `options`."""
    secrets_go_to: ClassVar[str] = "`user` and `password_env`"
    """What is said to whoever writes a password into `url`."""

    type: str

    def check(self, where: Where) -> Iterator[PipelineMistake]:
        """Mistakes that single keys do not show; called before anything is started."""
        yield from ()

    def connector(self) -> Connector | None:
        """The connector that Spark has to be started with, or None."""
        return None


class SourceConfig(Kind):
    """Base of sources: the table of a source in the pipeline file, and how events are read from it."""

    identity: ClassVar[tuple[str, ...]] = ()
    """Keys that say which source it is: a checkpoint that was begun with others is refused."""

    def read(self, spark: SparkSession, *, streaming: bool) -> DataFrame:
        """The present events, or a stream of those that come: a row for each, a column for each attribute."""
        raise NotImplementedError

    def columns(self, spark: SparkSession) -> StructType:
        """The columns of `read`, known before anything is read."""
        return self.read(spark, streaming=False).schema

    def source(self, given: Schema | None) -> Source:
        """The reader of the source, with the given schema; overridden where rows are yet to be parsed."""
        from vedette.spark.pipeline.sources import TableSource

        return TableSource(self, given)


class SinkConfig(Kind):
    """Base of sinks: the table of a sink in the pipeline file, and the sink itself."""

    reads_twice: ClassVar[bool] = False
    """It asks for its rows more than once, so that they had better be kept meanwhile."""

    # Not `Text`: names become parts of paths and keys of the ledger.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")] | None = None
    """What messages and the ledger call it. Default: its type, numbered from the second of a type on."""
    subscribers: Annotated[Texts, Field(min_length=1)] | None = None
    """Only notifications of these subscribers; patterns such as `ops-*` too. Default: all."""
    subscriptions: Annotated[Texts, Field(min_length=1)] | None = None
    """Only notifications of these subscriptions, likewise; with both keys, both must hold. Default: all."""

    @property
    def called(self) -> str:
        """Its name, or its type if it has none."""
        return self.name or self.type

    def sink(self) -> Sink:
        """The sink, which writes the notifications of one micro-batch after another."""
        raise NotImplementedError


def _source(name: str, found: object) -> type[SourceConfig]:
    if not isinstance(found, type) or not issubclass(found, SourceConfig):
        raise TypeError("it is no SourceConfig")
    if found.read is SourceConfig.read and found.source is SourceConfig.source:
        raise TypeError("it has no `read`")
    return found


def _sink(name: str, found: object) -> type[SinkConfig]:
    if not isinstance(found, type) or not issubclass(found, SinkConfig):
        raise TypeError("it is no SinkConfig")
    if found.sink is SinkConfig.sink:
        raise TypeError("it has no `sink`")
    return found


SOURCES: Final = Door(plugins.SOURCES, _source, called=("source", "sources"))
SINKS: Final = Door(plugins.SINKS, _sink, called=("sink", "sinks"))
K = TypeVar("K", bound=Kind)


def _parsed(door: Door[type[K]]) -> Callable[[Any, ValidationInfo], K]:
    """A validator that turns the table of a source or a sink into the model of its `type`."""

    def parse(value: Any, info: ValidationInfo) -> K:
        if isinstance(value, Kind):
            return value  # type: ignore[return-value]
        if not isinstance(value, dict):
            raise PydanticCustomError("no_table", "not a table")
        name = value.get("type")
        if "type" not in value:
            raise _about_type("is missing", one_of(door.group))
        if not isinstance(name, str):
            raise _about_type("is not a text", one_of(door.group))
        if not plugins.has(door.group, name):
            raise _about_type(f'is "{shortened(name)}", which is not known', one_of(door.group, name))
        try:
            model = door.find(name)
        except VedetteError as error:
            message, _, hint = str(error).partition("\nHint: ")
            raise _about_type(f'is "{name}": {message}', hint) from None
        return model.model_validate(value, context=info.context)

    return parse


def _about_type(message: str, hint: str) -> PydanticCustomError:
    return PydanticCustomError("wrong_type", "{message}", {"message": message, "hint": hint})


AnySource = Annotated[SourceConfig, PlainValidator(_parsed(SOURCES)), SerializeAsAny()]
AnySink = Annotated[SinkConfig, PlainValidator(_parsed(SINKS)), SerializeAsAny()]
