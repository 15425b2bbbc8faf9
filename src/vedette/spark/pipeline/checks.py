"""Checks of a pipeline file as a whole: mistakes in how its parts fit together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from vedette.dialects.registry import collecting, collects
from vedette.spark.pipeline.fields import shortened
from vedette.spark.pipeline.findings import PipelineMistake, exactly_one, key_name
from vedette.spark.pipeline.pipeline_draft import PipelineDraft
from vedette.spark.pipeline.pipeline_models import QUARANTINE, SubscriptionsConfig
from vedette.spark.pipeline.place_checks import PLACE_CHECKS
from vedette.spark.pipeline.positions import KeyPath

# Columns of notifications and of quarantined rows.
RESERVED = frozenset({"id", "event", "subscription", "subscriber", "kind", "version", "place", "reason", "raw"})
BESIDE = frozenset({"steps", "bindings", "probability", "within"})  # where patterns or operators are there, too
_STREAMS = 'mode = "available-now" or "continuous"'
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#@]+@|[?&;](password|pwd|passwd)=", re.IGNORECASE)
_SPARK_KEYS: Mapping[str, str] = {
    "spark.master": "master",
    "spark.app.name": "name",
    "spark.jars": "jars",
    "spark.jars.packages": "packages",
}


def check(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """Run all checks."""
    for each in CHECKS:
        yield from each(draft)


def _modes(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    if draft.mode is None:
        return
    if "trigger" in draft.given and draft.mode != "continuous":
        hint = 'set mode = "continuous", or leave `trigger` out'
        yield PipelineMistake(("trigger",), f'`trigger` is for mode = "continuous", and this is "{draft.mode}"', hint)
    if draft.streaming and "checkpoint" not in draft.given:
        message = f'mode = "{draft.mode}" needs a `checkpoint`: the folder that remembers how far it came'
        yield PipelineMistake(("mode",), message, 'add e.g. checkpoint = "state/checkpoint"')
    if not draft.streaming and "checkpoint" in draft.given:
        hint = f"set {_STREAMS} to go on where the last run ended, or leave `checkpoint` out"
        yield PipelineMistake(("checkpoint",), "`checkpoint` is for streams, and this is a batch", hint)


def _streams_only(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    if draft.streaming is not False:
        return
    if draft.subscriptions is not None and draft.subscriptions.refresh is not None:
        yield _for_streams(("subscriptions", "refresh"))
    for where, part in draft.parts():
        for key in part.streams_only:
            if getattr(part, key) is not None:
                yield _for_streams((*where.path, key))


def _for_streams(path: KeyPath) -> PipelineMistake:
    return PipelineMistake(
        path, f"{key_name(path)} is for streams, and this is a batch", f"set {_STREAMS}, or leave it out"
    )


def _batches_only(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    if not draft.streaming:
        return
    for where, part in draft.parts():
        for key in part.batches_only:
            if key in part.model_fields_set:
                message = f"{where.called(key)} is for batches, and this is a stream"
                yield where.mistake(key, message, "leave it out: a stream adds to what it wrote before")


def _each_part(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """The checks of the source and the sinks themselves."""
    for where, part in draft.parts():
        yield from part.check(where)


def _subscriptions(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    given = draft.subscriptions
    if given is None:
        return
    table = ("subscriptions",)
    yield from exactly_one(
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
        yield PipelineMistake(
            (*table, "database"), "which table of the database holds them?", 'add e.g. table = "subscriptions"'
        )
    if given.format is not None and given.path is None:
        yield PipelineMistake((*table, "format"), "`format` goes with `path`", "leave it out")
    if given.pipeline and (given.dialect is None or not collects(given.dialect)):
        which = collecting()
        choices = " or ".join(f'"{name}"' for name in which)
        hint = f"add dialect = {choices}, or leave it out"
        yield PipelineMistake((*table, "pipeline"), f"`pipeline` is for rules of {' and '.join(which)}", hint)
    if given.password_env is not None and given.database is None:
        yield PipelineMistake((*table, "password_env"), "`password_env` goes with `database`", "leave it out")
    yield from _service(given)


def _service(given: SubscriptionsConfig) -> Iterator[PipelineMistake]:
    table = ("subscriptions",)
    for key in ("key_env", "stream"):
        if getattr(given, key) is not None and given.service is None:
            yield PipelineMistake((*table, key), f"`{key}` goes with `service`", "leave it out")
    if given.service is None:
        return
    if not given.service.startswith(("http://", "https://")):
        hint = 'it begins with http:// or https://, e.g. "http://127.0.0.1:8080"'
        yield PipelineMistake((*table, "service"), f"{key_name((*table, 'service'))} is no address of a service", hint)
    if given.key_env is None:
        hint = 'name the environment variable that holds it: key_env = "VEDETTE_KEY"'
        yield PipelineMistake((*table, "service"), "a service needs the key of a tenant", hint)
    if given.dialect is not None:
        yield PipelineMistake((*table, "dialect"), "a service has translated its rules already", "leave `dialect` out")


def _passwords(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """Addresses that contain a password, which anybody could read."""
    for where, part in draft.parts():
        url = getattr(part, "url", None)
        if isinstance(url, str) and _PASSWORD.search(url):
            hint = f"take it out, and use {part.secrets_go_to}"
            yield where.mistake("url", f"{where.called('url')} holds a password", hint)
    if draft.subscriptions is not None:
        for key, better in (("database", "`password_env`"), ("service", "`key_env`")):
            if _PASSWORD.search(getattr(draft.subscriptions, key) or ""):
                here = ("subscriptions", key)
                yield PipelineMistake(here, f"{key_name(here)} holds a password", f"take it out, and use {better}")


def _quoted(name: str) -> str:
    return f'"{shortened(name)}"'


def _options(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """Options of Spark that contradict keys of the file."""
    for where, part in draft.parts():
        for key in ("options", "options_env"):
            yield from _contradicting((*where.path, key), getattr(part, key, {}), part.spark_options)
    if draft.spark is not None:
        yield from _contradicting(("spark", "conf"), draft.spark.conf, _SPARK_KEYS)
        yield from _contradicting(("spark", "conf_env"), draft.spark.conf_env, _SPARK_KEYS)


def _contradicting(path: KeyPath, given: Mapping[str, str], keys: Mapping[str, str]) -> Iterator[PipelineMistake]:
    for name in given:
        own = keys.get(name.lower())
        if own is not None:
            yield PipelineMistake(
                (*path, name), f"{key_name(path)}: {_quoted(name)} is set by the pipeline", f"use `{own}`"
            )


def _names(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """Sinks with the same name: what was written is recorded by the name, so they would be mistaken for each other."""
    first: dict[str, KeyPath] = {}
    if draft.quarantine is not None:
        first[(draft.quarantine.name or QUARANTINE).lower()] = ("quarantine",)
    for number, sink in draft.sinks.items():
        here = ("sinks", number)
        before = here if sink.name is None else first.setdefault(sink.name.lower(), here)
        if before != here:
            message = f"{key_name(here)} has the name of {key_name(before)}, {_quoted(sink.name or '')}"
            yield PipelineMistake((*here, "name"), message, "give every sink a name of its own")


def _quarantine(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    for key in ("subscribers", "subscriptions"):
        if getattr(draft.quarantine, key, None) is not None:
            here = ("quarantine", key)
            yield PipelineMistake(
                here, f"{key_name(here)}: bad rows are nobody's", "leave it out: all bad rows go to the quarantine"
            )


def _kept(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    taken = RESERVED | BESIDE if {"patterns", "operators"} & draft.given else RESERVED
    if draft.subscriptions is not None and draft.subscriptions.with_origin:
        taken = taken | {"origin"}
    for number, name in enumerate(draft.keep):
        if name.lower() in taken:
            message = f"`keep`: {_quoted(name)} is a column that every notification has already"
            hint = "the event's id is in `event`" if name.lower() == "id" else "rename the attribute, or leave it out"
            yield PipelineMistake(("keep", number), message, hint)
    lower = sorted((name.lower(), number) for number, name in enumerate(draft.keep))
    for (one, _), (other, number) in pairwise(lower):
        if one == other:
            hint = "leave it out once; Spark does not tell capitals from small letters"
            yield PipelineMistake(("keep", number), f"`keep` names {_quoted(draft.keep[number])} twice", hint)


CHECKS: tuple[Callable[[PipelineDraft], Iterator[PipelineMistake]], ...] = (
    _modes,
    _streams_only,
    _batches_only,
    _each_part,
    _subscriptions,
    _passwords,
    _options,
    _names,
    _quarantine,
    _kept,
    *PLACE_CHECKS,
)
