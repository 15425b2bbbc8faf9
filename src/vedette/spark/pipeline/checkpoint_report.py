"""Report on a checkpoint, for people: progress of its stream, subscriptions, state of patterns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from vedette.errors import InputError, PipelineError, SnapshotError
from vedette.spark.patterns.coded import keys_of_place
from vedette.spark.patterns.shard import facts_of
from vedette.spark.patterns.streams import STATE
from vedette.spark.pipeline.checkpoint import described
from vedette.spark.pipeline.checkpoint_versions import saved_version
from vedette.spark.pipeline.locations import local
from vedette.spark.pipeline.operator_stage import remembered
from vedette.spark.pipeline.remote_storage import RemoteStorage
from vedette.spark.pipeline.spark_failures import explained
from vedette.spark.pipeline.storage import LocalStorage, Storage

_ADDED = ("shards", "events", "partial matches", "held back", "duplicates", "shed", "ids", "bytes")


def inspect(folder: str, session: Callable[[], SparkSession]) -> dict[str, Any]:
    """The whole report; Spark is started only for the state of patterns, and for other file systems."""
    path = local(folder)
    if path is not None and not os.path.isdir(path):
        raise PipelineError(f"there is no folder {folder}\nHint: the one that a pipeline file calls `checkpoint`")
    storage: Storage = RemoteStorage(session(), folder) if path is None else LocalStorage(path)
    found = described(storage)
    entries = found.pop("batches")
    newest = entries[-1] if entries else None
    version = None if newest is None else saved_version(storage, newest)
    options = None if version is None else version.options
    found["subscriptions"] = newest and {
        "version": newest["version"],
        "count": newest["subscriptions"],
        "set aside": newest.get("set aside", 0),
        "patterns": None if version is None or options is None else version.saved.sharded(options).ids,
        "calling operators": newest.get("operators", 0),
        "since": min(each["batch"] for each in entries if each["version"] == newest["version"]),
        "library": newest["library"],
        "began": newest["began"],
    }
    found["operators"] = _operators(storage)
    if options is not None and found["newest"] is not None and (found["newest"] > 0 or not found["pending"]):
        # Java has a working folder of its own, which need not be that of this process.
        found["state"] = _state(folder if path is None else os.path.abspath(path), session())
    return found


def _operators(storage: Storage) -> list[dict[str, Any]] | str:
    """Statistics of operators, or why they cannot be read."""
    try:
        known = remembered(storage)
    except InputError as error:
        return str(error)
    return [
        {"operator": name, "holds": share, "seconds": seconds}
        for name, (share, seconds) in ({} if known is None else known.of_operators()).items()
    ]


def _state(folder: str, spark: SparkSession) -> list[dict[str, Any]]:
    """Figures on the state of patterns by partitioning, as of the last committed micro-batch."""
    _ = spark.streams.active  # starts Spark's state stores, which a session without streams has not done
    try:
        rows = (
            spark.read.format("statestore")
            .option("path", folder)
            .option("stateVarName", STATE)
            .load()
            .selectExpr("key.place", "value.data")
            .collect()
        )
    except Exception as error:
        raise PipelineError(
            f"the state of the patterns in {folder} cannot be read: {explained(error)}\n"
            "Hint: is the pipeline running just now? Ask again when it has ended"
        ) from error
    added: dict[tuple[tuple[str, ...], bool], Counter[str]] = {}
    versions: dict[tuple[tuple[str, ...], bool], set[str]] = {}
    for row in rows:
        place = keys_of_place(row["place"])
        facts = _facts(bytes(row["data"]))
        added.setdefault(place, Counter()).update(
            {"shards": 1, **{name: facts[name] for name in _ADDED if name in facts}}
        )
        versions.setdefault(place, set()).add(f"{facts['library']}")
    return [
        {
            "by": list(keys),
            "learns": learns,
            **{name: figures[name] for name in _ADDED},
            "library": sorted(versions[place]),
        }
        for place, figures in sorted(added.items())
        for keys, learns in [place]
    ]


def _facts(data: bytes) -> Mapping[str, Any]:
    try:
        return facts_of(data)
    except SnapshotError as error:
        raise PipelineError(str(error)) from None
