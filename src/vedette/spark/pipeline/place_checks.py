"""Checks of the paths in a pipeline file: that they exist, and that inputs and outputs do not overlap."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from vedette.spark.pipeline.findings import PipelineMistake, key_name
from vedette.spark.pipeline.kinds import Kind
from vedette.spark.pipeline.locations import Steps, is_glob, local, overlap, steps, within
from vedette.spark.pipeline.pipeline_draft import PipelineDraft
from vedette.spark.pipeline.pipeline_models import sqlite_file
from vedette.spark.pipeline.positions import KeyPath


class _PipelinePlace(NamedTuple):
    """A path of the file, with its role and its key."""

    path: KeyPath
    role: str  # source, checkpoint, subscriptions, schema, output
    where: Steps

    def __str__(self) -> str:
        return key_name(self.path)


def _places(draft: PipelineDraft) -> list[_PipelinePlace]:
    found = []
    if draft.source is not None:
        found += _named(("source",), "source", draft.source)
    if draft.checkpoint is not None:
        found.append(_PipelinePlace(("checkpoint",), "checkpoint", steps(draft.checkpoint)))
    if draft.schema is not None:
        found.append(_PipelinePlace(("schema",), "schema", steps(draft.schema)))
    if draft.subscriptions is not None:
        for key in ("file", "path"):
            where = getattr(draft.subscriptions, key)
            if where is not None:
                found.append(_PipelinePlace(("subscriptions", key), "subscriptions", steps(where)))
    for path, sink in draft.outputs():
        found += _named(path, "output", sink)
    return found


def _named(path: KeyPath, role: str, part: Kind) -> list[_PipelinePlace]:
    """The paths of a source or a sink."""
    given = {key: getattr(part, key) for key in part.places}
    return [_PipelinePlace((*path, key), role, steps(place)) for key, place in given.items() if place is not None]


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


def _apart(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    for one, other in combinations(_places(draft), 2):
        if frozenset({one.role, other.role}) in _APART and overlap(one.where, other.where):
            yield PipelineMistake(other.path, _clash(one, other), "give each a place of its own")


def _clash(one: _PipelinePlace, other: _PipelinePlace) -> str:
    if not within(other.where, one.where):
        return f"{one} is inside {other}"
    return f"{other} is {'the same as' if within(one.where, other.where) else 'inside'} {one}"


def _subscriptions_are_there(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    """Folders and SQLite files of subscriptions that are missing; files are checked with their contents."""
    given = draft.subscriptions
    places = {} if given is None else {"path": given.path, "database": sqlite_file(given.database or "")}
    for key, place in places.items():
        path = None if place is None else local(place)
        if path is not None and not is_glob(str(path)) and not os.path.exists(path):
            here = ("subscriptions", key)
            yield PipelineMistake(
                here, f"{key_name(here)}: there is no {path}", "check the path; it is relative to the pipeline file"
            )


def _jars_are_there(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    for number, jar in enumerate(draft.spark.jars if draft.spark is not None else ()):
        path = local(jar)
        if path is not None and not is_glob(jar) and not os.path.isfile(path):
            here = ("spark", "jars", number)
            yield PipelineMistake(here, f"{key_name(here)}: there is no file {path}", "check the path")


def _checkpoint_is_a_folder(draft: PipelineDraft) -> Iterator[PipelineMistake]:
    where = None if draft.checkpoint is None else local(draft.checkpoint)
    if where is not None and os.path.isfile(where):
        yield PipelineMistake(
            ("checkpoint",), f"`checkpoint`: {where} is a file", "name a folder: it is made if it is not there"
        )


PLACE_CHECKS: tuple[Callable[[PipelineDraft], Iterator[PipelineMistake]], ...] = (
    _apart,
    _subscriptions_are_there,
    _jars_are_there,
    _checkpoint_is_a_folder,
)
