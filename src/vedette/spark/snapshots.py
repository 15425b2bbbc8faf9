"""How a compiled set of subscriptions gets to every host: once, as a folder that all its workers map."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from vedette.errors import SnapshotError
from vedette.matching.matcher import Matcher
from vedette.matching.snapshot_files import VERSION, is_snapshot

PLACE = "VEDETTE_CACHE_DIR"
_KEPT = 4  # matchers that a process keeps open


@dataclass(frozen=True, slots=True)
class Shipped:
    """A snapshot that the workers of a session can open: what travels with a task is only this."""

    version: str
    folder: str  # on the driver's host
    file: str | None  # the name under which hosts that do not see the folder find its archive


def ship(matcher: Matcher, spark: SparkSession) -> Shipped:
    """Make a matcher's snapshot known to all hosts of a session."""
    folder = cache() / f"{matcher.version}-{matcher.index}-{VERSION}"
    if not is_snapshot(folder):
        matcher.save(folder)
    return Shipped(matcher.version, str(folder), None)


@functools.lru_cache(maxsize=_KEPT)
def opened(shipped: Shipped) -> Matcher:
    """The matcher, in a worker: mapped from this host's copy, and kept for the next task of this process."""
    return Matcher.open(shipped.folder)


def cache() -> Path:
    """The folder of this host's snapshots, which belongs to this user alone."""
    chosen = os.environ.get(PLACE)
    root = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"vedette-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = root / "snapshots"
    folder.mkdir(mode=0o700, exist_ok=True)
    for place in (folder,) if chosen else (root, folder):
        facts = place.lstat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise SnapshotError(
                f"{place} does not belong to this user alone, so what is in it cannot be trusted\n"
                f"Hint: set {PLACE} to a folder of your own"
            )
    return folder
