"""What in a pipeline file makes no sense together, although each part does alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from vedette.spark.pipeline.draft import Draft
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.mistakes import Found, called
from vedette.spark.pipeline.models import QUARANTINE, SubscriptionsConfig
from vedette.spark.pipeline.place_checks import PLACE_CHECKS
from vedette.spark.pipeline.positions import KeyPath
from vedette.spark.pipeline.sink_config import JdbcSink, JsonlSink, KafkaSink, ParquetSink, WebhookSink
from vedette.spark.pipeline.source_config import DeltaSource, JdbcSource, KafkaSource

# Columns of notifications and of quarantined rows.
RESERVED = frozenset({"id", "event", "subscription", "subscriber", "kind", "version", "place", "reason", "raw"})
BESIDE = frozenset({"steps", "bindings", "probability", "within"})  # where patterns or operators are there, too
_STREAMS = 'mode = "available-now" or "continuous"'
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#@]+@|[?&;](password|pwd|passwd)=", re.IGNORECASE)
# What the file has keys of its own for.
_OWN_KEYS: Mapping[str, str] = {
    "kafka.bootstrap.servers": "servers",
    "subscribe": "topics",
    "topic": "topic",
    "startingoffsets": "starting",
    "maxoffsetspertrigger": "max_offsets_per_trigger",
    "maxfilespertrigger": "max_files_per_trigger",
    "checkpointlocation": "checkpoint",
    "url": "url",
    "dbtable": "table",
    "query": "query",
    "user": "user",
    "driver": "driver",
    "fetchsize": "fetch_size",
    "partitioncolumn": "partition",
    "lowerbound": "partition",
    "upperbound": "partition",
    "numpartitions": "partition",
    "spark.master": "master",
    "spark.app.name": "name",
    "spark.jars": "jars",
    "spark.jars.packages": "packages",
}


def check(draft: Draft) -> Iterator[Found]:
    """Everything that makes no sense."""
    for each in CHECKS:
        yield from each(draft)


def _modes(draft: Draft) -> Iterator[Found]:
    if draft.mode is None:
        return
    if "trigger" in draft.given and draft.mode != "continuous":
        hint = 'set mode = "continuous", or leave `trigger` out'
        yield Found(("trigger",), f'`trigger` is for mode = "continuous", and this is "{draft.mode}"', hint)
    if draft.streaming and "checkpoint" not in draft.given:
        message = f'mode = "{draft.mode}" needs a `checkpoint`: the folder that remembers how far it came'
        yield Found(("mode",), message, 'add e.g. checkpoint = "state/checkpoint"')
    if not draft.streaming and "checkpoint" in draft.given:
        hint = f"set {_STREAMS} to go on where the last run ended, or leave `checkpoint` out"
        yield Found(("checkpoint",), "`checkpoint` is for streams, and this is a batch", hint)


def _streams_only(draft: Draft) -> Iterator[Found]:
    if draft.streaming is not False:
        return
    if draft.subscriptions is not None and draft.subscriptions.refresh is not None:
        yield _for_streams(("subscriptions", "refresh"))
    for key in ("max_files_per_trigger", "max_offsets_per_trigger"):
        if getattr(draft.source, key, None) is not None:
            yield _for_streams(("source", key))


def _for_streams(path: KeyPath) -> Found:
    return Found(path, f"{called(path)} is for streams, and this is a batch", f"set {_STREAMS}, or leave it out")


def _batch_only(draft: Draft) -> Iterator[Found]:
    if not draft.streaming:
        return
    for path, sink in draft.outputs():
        if isinstance(sink, ParquetSink | JsonlSink) and "if_exists" in sink.model_fields_set:
            here = (*path, "if_exists")
            hint = "leave it out: a stream adds to what it wrote before"
            yield Found(here, f"{called(here)} is for batches, and this is a stream", hint)


def _source_and_mode(draft: Draft) -> Iterator[Found]:
    source, path = draft.source, ("source", "type")
    if source is None or draft.mode is None:
        return
    if source.type == "jdbc" and draft.streaming:
        hint = 'set mode = "batch", or let the database write its changes to Kafka'
        yield Found(path, "a database (jdbc) cannot be read as a stream", hint)
    if source.type == "rate" and draft.mode != "continuous":
        yield Found(path, "the source rate never ends", 'set mode = "continuous"; it is for trials')
    if isinstance(source, KafkaSource) and source.starting == "latest" and not draft.streaming:
        message = 'a batch that begins at the "latest" record of Kafka reads nothing'
        yield Found(("source", "starting"), message, 'set starting = "earliest", or a mode that streams')


def _one_of_two(draft: Draft) -> Iterator[Found]:
    source = draft.source
    if isinstance(source, JdbcSource):
        yield from _exactly_one(("source",), {"table": source.table, "query": source.query})
        if source.partition is not None and source.query is not None:
            hint = 'write the query as a table: table = "(SELECT …) AS events"'
            yield Found(("source", "partition"), "`partition` goes with `table`, not with `query`", hint)
    if isinstance(source, DeltaSource):
        yield from _exactly_one(("source",), {"path": source.path, "table": source.table})


def _exactly_one(table: KeyPath, keys: Mapping[str, object]) -> Iterator[Found]:
    given = [key for key, value in keys.items() if value is not None]
    either = " or ".join(f"`{key}`" for key in keys)
    if not given:
        yield Found(table, f"{called(table)} has neither {either.replace(' or ', ' nor ')}", f"give it {either}")
    for key in given[1:]:
        both = f"{called((*table, given[0]))} and `{key}` cannot both be given"
        yield Found((*table, key), both, f"leave one of them out: {either}")


def _subscriptions(draft: Draft) -> Iterator[Found]:
    given = draft.subscriptions
    if given is None:
        return
    table = ("subscriptions",)
    yield from _exactly_one(
        table,
        {
            "file": given.file,
            "path": given.path,
            "database": given.database,
            "service": given.service,
            **({} if given.database is not None else {"table": given.table}),
        },
    )
    if given.database is not None and given.table is None:
        yield Found((*table, "database"), "which table of the database holds them?", 'add e.g. table = "subscriptions"')
    if given.format is not None and given.path is None:
        yield Found((*table, "format"), "`format` goes with `path`", "leave it out")
    if given.pipeline and given.dialect != "sigma":
        yield Found((*table, "pipeline"), "`pipeline` is for rules of Sigma", 'add dialect = "sigma", or leave it out')
    if given.strict and given.dialect is None:
        yield Found((*table, "strict"), "`strict` goes with `dialect`", "leave it out")
    if given.password_env is not None and given.database is None:
        yield Found((*table, "password_env"), "`password_env` goes with `database`", "leave it out")
    yield from _service(given)


def _service(given: SubscriptionsConfig) -> Iterator[Found]:
    table = ("subscriptions",)
    for key in ("key_env", "stream"):
        if getattr(given, key) is not None and given.service is None:
            yield Found((*table, key), f"`{key}` goes with `service`", "leave it out")
    if given.service is None:
        return
    if not given.service.startswith(("http://", "https://")):
        hint = 'it begins with http:// or https://, e.g. "http://127.0.0.1:8080"'
        yield Found((*table, "service"), f"{called((*table, 'service'))} is no address of a service", hint)
    if given.key_env is None:
        hint = 'name the environment variable that holds it: key_env = "VEDETTE_KEY"'
        yield Found((*table, "service"), "a service needs the key of a tenant", hint)
    if given.dialect is not None:
        yield Found((*table, "dialect"), "a service has translated its rules already", "leave `dialect` out")


def _jdbc_addresses(draft: Draft) -> Iterator[Found]:
    parts: list[tuple[KeyPath, object]] = [(("source",), draft.source), *draft.outputs()]
    for path, part in parts:
        if isinstance(part, JdbcSource | JdbcSink) and not part.url.startswith("jdbc:"):
            hint = 'it begins with jdbc:, e.g. "jdbc:postgresql://host/database"'
            yield Found((*path, "url"), f"{called((*path, 'url'))} is no JDBC address", hint)


def _passwords(draft: Draft) -> Iterator[Found]:
    """Passwords in addresses, for everybody to see."""
    parts: list[tuple[KeyPath, object]] = [(("source",), draft.source), *draft.outputs()]
    for path, part in parts:
        url = getattr(part, "url", None)
        if isinstance(url, str) and _PASSWORD.search(url):
            better = "`headers_env`" if isinstance(part, WebhookSink) else "`user` and `password_env`"
            yield Found((*path, "url"), f"{called((*path, 'url'))} holds a password", f"take it out, and use {better}")
    if draft.subscriptions is not None:
        for key, better in (("database", "`password_env`"), ("service", "`key_env`")):
            if _PASSWORD.search(getattr(draft.subscriptions, key) or ""):
                here = ("subscriptions", key)
                yield Found(here, f"{called(here)} holds a password", f"take it out, and use {better}")


def _quoted(name: str) -> str:
    return f'"{shortened(name)}"'


def _options(draft: Draft) -> Iterator[Found]:
    """Options that would contradict keys of the file."""
    parts: list[tuple[KeyPath, object]] = [(("source",), draft.source), *draft.outputs(), (("spark",), draft.spark)]
    for path, part in parts:
        for key in ("options", "options_env", "conf", "conf_env"):
            for name in getattr(part, key, {}):
                own = _OWN_KEYS.get(name.lower())
                if own is not None:
                    here = (*path, key)
                    yield Found(
                        (*here, name), f"{called(here)}: {_quoted(name)} is set by the pipeline", f"use `{own}`"
                    )


def _names(draft: Draft) -> Iterator[Found]:
    """What was written is remembered by the sink's name, so that two of one name would take turns."""
    first: dict[str, KeyPath] = {}
    if draft.quarantine is not None:
        first[(draft.quarantine.name or QUARANTINE).lower()] = ("quarantine",)
    for number, sink in draft.sinks.items():
        here = ("sinks", number)
        before = here if sink.name is None else first.setdefault(sink.name.lower(), here)
        if before != here:
            message = f"{called(here)} has the name of {called(before)}, {_quoted(sink.name or '')}"
            yield Found((*here, "name"), message, "give every sink a name of its own")


def _quarantine(draft: Draft) -> Iterator[Found]:
    for key in ("subscribers", "subscriptions"):
        if getattr(draft.quarantine, key, None) is not None:
            here = ("quarantine", key)
            yield Found(
                here, f"{called(here)}: bad rows are nobody's", "leave it out: all bad rows go to the quarantine"
            )
    if isinstance(draft.quarantine, KafkaSink) and draft.quarantine.key in ("subscription", "subscriber"):
        yield Found(("quarantine", "key"), "bad rows have no such column", 'leave `key` out, or set key = "event"')


def _kept(draft: Draft) -> Iterator[Found]:
    taken = RESERVED | BESIDE if {"patterns", "operators"} & draft.given else RESERVED
    if draft.subscriptions is not None and draft.subscriptions.with_origin:
        taken = taken | {"origin"}
    for number, name in enumerate(draft.keep):
        if name.lower() in taken:
            message = f"`keep`: {_quoted(name)} is a column that every notification has already"
            hint = "the event's id is in `event`" if name.lower() == "id" else "rename the attribute, or leave it out"
            yield Found(("keep", number), message, hint)
    lower = sorted((name.lower(), number) for number, name in enumerate(draft.keep))
    for (one, _), (other, number) in pairwise(lower):
        if one == other:
            hint = "leave it out once; Spark does not tell capitals from small letters"
            yield Found(("keep", number), f"`keep` names {_quoted(draft.keep[number])} twice", hint)


CHECKS: tuple[Callable[[Draft], Iterator[Found]], ...] = (
    _modes,
    _streams_only,
    _batch_only,
    _source_and_mode,
    _one_of_two,
    _subscriptions,
    _jdbc_addresses,
    _passwords,
    _options,
    _names,
    _quarantine,
    _kept,
    *PLACE_CHECKS,
)
