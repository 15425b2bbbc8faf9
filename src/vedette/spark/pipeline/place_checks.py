"""Are the places that a pipeline file names there, and do they keep out of each other's way?"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from vedette.spark.pipeline.draft import Draft
from vedette.spark.pipeline.locations import Steps, is_glob, local, overlap, steps, within
from vedette.spark.pipeline.mistakes import Found, called
from vedette.spark.pipeline.models import sqlite_file
from vedette.spark.pipeline.positions import KeyPath
from vedette.spark.pipeline.sink_config import JdbcSink, JsonlSink, KafkaSink, ParquetSink
from vedette.spark.pipeline.source_config import (
    CsvSource,
    DeltaSource,
    JdbcSource,
    JsonlSource,
    KafkaSource,
    ParquetSource,
)


class _Place(NamedTuple):
    """A place of the file, what it is for, and how messages call that."""

    path: KeyPath
    role: str  # source, checkpoint, subscriptions, schema, output
    where: Steps

    def __str__(self) -> str:
        return called(self.path)


def _places(draft: Draft) -> list[_Place]:
    found = []
    source = getattr(draft.source, "path", None)
    if source is not None:
        found.append(_Place(("source", "path"), "source", steps(source)))
    if draft.checkpoint is not None:
        found.append(_Place(("checkpoint",), "checkpoint", steps(draft.checkpoint)))
    if draft.schema is not None:
        found.append(_Place(("schema",), "schema", steps(draft.schema)))
    if draft.subscriptions is not None:
        for key in ("file", "path"):
            where = getattr(draft.subscriptions, key)
            if where is not None:
                found.append(_Place(("subscriptions", key), "subscriptions", steps(where)))
    for path, sink in draft.outputs():
        if isinstance(sink, ParquetSink | JsonlSink):
            found.append(_Place((*path, "path"), "output", steps(sink.path)))
    return found


# Of these, neither may be inside the other: one would be read as the other, or be replaced with it.
_APART = {
    frozenset(pair)
    for pair in (
        ("source", "output"),
        ("source", "checkpoint"),
        ("source", "subscriptions"),
        ("source", "schema"),
        ("output", "checkpoint"),
        ("output", "subscriptions"),
        ("output", "schema"),
        ("output",),
    )
}


def _apart(draft: Draft) -> Iterator[Found]:
    for one, other in combinations(_places(draft), 2):
        if frozenset({one.role, other.role}) in _APART and overlap(one.where, other.where):
            yield Found(other.path, _clash(one, other), "give each a place of its own")


def _clash(one: _Place, other: _Place) -> str:
    if not within(other.where, one.where):
        return f"{one} is inside {other}"
    return f"{other} is {'the same as' if within(one.where, other.where) else 'inside'} {one}"


def _no_circles(draft: Draft) -> Iterator[Found]:
    """What a pipeline writes, it must not read again."""
    source = draft.source
    for path, sink in draft.outputs():
        if (
            isinstance(source, KafkaSource)
            and isinstance(sink, KafkaSink)
            and sink.topic in source.topics
            and not set(source.servers).isdisjoint(sink.servers)
        ):
            hint = "the pipeline would read its own notifications: write to another topic"
            yield Found((*path, "topic"), f"{called((*path, 'topic'))} is a topic of the source", hint)
        if (
            isinstance(source, JdbcSource)
            and isinstance(sink, JdbcSink)
            and (sink.url, sink.table.lower()) == (source.url, (source.table or "").lower())
        ):
            hint = "the pipeline would write to what it reads: take another table"
            yield Found((*path, "table"), f"{called((*path, 'table'))} is the table of the source", hint)


def _source_is_there(draft: Draft) -> Iterator[Found]:
    source, here = draft.source, ("source", "path")
    if not isinstance(source, JsonlSource | CsvSource | ParquetSource | DeltaSource) or source.path is None:
        return
    path = local(source.path)
    if path is None:
        return
    if is_glob(source.path):
        # Braces are a pattern to Spark alone; and files may come yet where a stream waits for them.
        if draft.streaming is False and "{" not in source.path and next(glob.iglob(source.path), None) is None:
            yield Found(here, f"{called(here)}: no file is like {path}", "check the pattern")
    elif not os.path.lexists(path):
        hint = "make the folder: a stream waits there for files" if draft.streaming else "check the path"
        yield Found(here, f"{called(here)}: there is no {path}", f"{hint}; it is relative to the pipeline file")
    elif draft.streaming and path.is_file():
        message = f"{called(here)} is a single file, which cannot be read as a stream"
        yield Found(here, message, 'name the folder that files come to, or set mode = "batch"')


def _subscriptions_are_there(draft: Draft) -> Iterator[Found]:
    """Those of a folder or of an SQLite file; what is in a file of subscriptions is checked elsewhere."""
    given = draft.subscriptions
    places = {} if given is None else {"path": given.path, "database": sqlite_file(given.database or "")}
    for key, place in places.items():
        path = None if place is None else local(place)
        if path is not None and not is_glob(str(path)) and not os.path.exists(path):
            here = ("subscriptions", key)
            yield Found(
                here, f"{called(here)}: there is no {path}", "check the path; it is relative to the pipeline file"
            )


def _jars_are_there(draft: Draft) -> Iterator[Found]:
    for number, jar in enumerate(draft.spark.jars if draft.spark is not None else ()):
        path = local(jar)
        if path is not None and not is_glob(jar) and not os.path.isfile(path):
            here = ("spark", "jars", number)
            yield Found(here, f"{called(here)}: there is no file {path}", "check the path")


def _outputs_are_free(draft: Draft) -> Iterator[Found]:
    for path, sink in draft.outputs():
        if not isinstance(sink, ParquetSink | JsonlSink):
            continue
        here = (*path, "path")
        where = local(sink.path)
        if is_glob(sink.path):
            yield Found(here, f"{called(here)} is a pattern", "name one folder")
        elif where is None:
            continue
        elif os.path.isfile(where):
            yield Found(here, f"{called(here)}: {where} is a file", "name a folder: it is made if it is not there")
        elif draft.streaming is False and sink.if_exists == "error" and _holds_anything(where):
            hint = 'take another folder, or set if_exists = "replace"'
            yield Found(here, f"{called(here)}: {where} holds something already", hint)


def _checkpoint_is_a_folder(draft: Draft) -> Iterator[Found]:
    where = None if draft.checkpoint is None else local(draft.checkpoint)
    if where is not None and os.path.isfile(where):
        yield Found(("checkpoint",), f"`checkpoint`: {where} is a file", "name a folder: it is made if it is not there")


def _holds_anything(folder: os.PathLike[str]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except (OSError, ValueError):
        return False


PLACE_CHECKS: tuple[Callable[[Draft], Iterator[Found]], ...] = (
    _apart,
    _no_circles,
    _source_is_there,
    _subscriptions_are_there,
    _jars_are_there,
    _outputs_are_free,
    _checkpoint_is_a_folder,
)
