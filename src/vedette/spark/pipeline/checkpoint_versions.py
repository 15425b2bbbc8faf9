"""The versions of the subscriptions that a checkpoint keeps: one snapshot each; those of Vedette 0.1 are read, too.

Version 0.1 kept the plain filters as a snapshot, and patterns, filters that call operators and origins beside it:

    <checkpoint>/vedette/patterns/<version>
    <checkpoint>/vedette/filters/<version>
    <checkpoint>/vedette/origins/<version>
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from vedette.engine.pattern_shards import PatternSet, ShardOptions
from vedette.engine.snapshot import SavedEngine
from vedette.errors import SnapshotError
from vedette.filters.snapshot_files import VERSION
from vedette.filters.subscription_records import OperatorRecord, PatternRecord
from vedette.patterns.forecasts.model import Model
from vedette.spark.engine_versions import EngineVersion
from vedette.spark.pipeline.storage import Storage

_SNAPSHOTS: Final = "vedette/snapshots"
_PATTERNS, _FILTERS, _ORIGINS = "vedette/patterns", "vedette/filters", "vedette/origins"  # of version 0.1
_OPTIONS: Final = "patterns"  # of an entry; version 0.1 had none


class SavedVersion(NamedTuple):
    """A version as it was saved: its subscriptions, how patterns are followed, and origins if these are beside it."""

    saved: SavedEngine
    options: ShardOptions | None
    origins: Mapping[str, str] | None = None


def save_version(storage: Storage, current: EngineVersion) -> dict[str, Any]:
    """Save a version, unless it is there already; returns what the entry of a micro-batch says of it."""
    storage.keep(current.engine, _snapshot_name(current.version, VERSION))
    options = None if current.options is None else asdict(replace(current.options, since=()))
    return {"version": current.version, "snapshots": VERSION, _OPTIONS: options}


def saved_version(storage: Storage, entry: Mapping[str, Any]) -> SavedVersion:
    """The version of an entry; SnapshotError if it cannot be read."""
    saved = storage.open(_snapshot_name(entry["version"], entry["snapshots"]))
    if _OPTIONS in entry:
        return SavedVersion(saved, None if entry[_OPTIONS] is None else ShardOptions(**entry[_OPTIONS]))
    return _older(storage, entry, saved)


def _older(storage: Storage, entry: Mapping[str, Any], saved: SavedEngine) -> SavedVersion:
    """A version that Vedette 0.1 saved."""
    version = str(entry["version"])
    calls: tuple[OperatorRecord, ...] = ()
    if entry.get("operators"):
        said = orjson.loads(_part(storage, f"{_FILTERS}/{version}"))
        calls = tuple(OperatorRecord(*each) for each in said["filters"])
    patterns: PatternSet | None = None
    if storage.read(f"{_PATTERNS}/{version}") is not None:
        patterns = PatternSet.from_bytes(base64.b64decode(_part(storage, f"{_PATTERNS}/{version}")))
    records = () if patterns is None else patterns.records
    others: tuple[OperatorRecord | PatternRecord, ...] = (*calls, *records)
    first = len(saved.filters)
    model = None if patterns is None or patterns.model is None else Model.from_bytes(patterns.model)
    whole = replace(
        saved,
        calls=calls,
        patterns=records,
        plain_places=np.arange(first),
        places={one.id: place for place, one in enumerate(others, first)},
        model=model,
    )
    options = None if patterns is None else ShardOptions(patterns.shards, patterns.cap, patterns.learn)
    origins = orjson.loads(_part(storage, f"{_ORIGINS}/{version}")) if entry.get("origins") else {}
    return SavedVersion(whole, options, origins)


def _part(storage: Storage, name: str) -> bytes:
    content = storage.read(name)
    if content is None:
        raise SnapshotError(f"{storage.name}/{name} is gone")
    return content


def remove_versions(storage: Storage, needed: list[Mapping[str, Any]]) -> None:
    """Remove all versions but those of these entries."""
    snapshots = {_snapshot_name(each["version"], each["snapshots"]) for each in needed}
    versions = {str(each["version"]) for each in needed}
    for folder in (_SNAPSHOTS, _PATTERNS, _FILTERS, _ORIGINS):
        for name in storage.names(folder):
            if name not in versions and f"{folder}/{name}" not in snapshots:
                storage.remove(f"{folder}/{name}")


def _snapshot_name(version: str, format: int) -> str:
    # The same subscriptions in another format are other files.
    return f"{_SNAPSHOTS}/{version}-{format}"
