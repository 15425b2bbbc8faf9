"""How a compiled set of subscriptions gets to every host: once, as a folder that all its workers map.

On one host the workers map the driver's own folder. To other hosts Spark carries the folder as one file; the first
worker that needs it unpacks it into the host's cache, and all workers of the host map that copy. What is pickled
with a task is only `Shipped`. Spark keeps the files that it carried until the application ends.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path

from pyspark.core.files import SparkFiles
from pyspark.sql import SparkSession

from vedette.errors import SnapshotError
from vedette.matching.matcher import Matcher
from vedette.matching.snapshot_files import MANIFEST, whole_sum
from vedette.spark import host_cache
from vedette.spark.archives import pack, unpack
from vedette.spark.warm_up import warm_up

_ATTEMPTS = 3
_saved: weakref.WeakKeyDictionary[Matcher, str] = weakref.WeakKeyDictionary()  # the folders of matchers
_carried: set[tuple[str, str]] = set()  # (session, file)
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Shipped:
    """A snapshot that the workers of a session can open: what travels with a task is only this."""

    version: str
    folder: str  # on the driver's host
    file: str | None  # the name under which hosts that do not see the folder find its archive


def ship(matcher: Matcher, spark: SparkSession) -> Shipped:
    """Make a matcher's snapshot known to all hosts of a session; a second time costs next to nothing."""
    with _one_at_a_time:
        folder = _saved.get(matcher)
        if folder is None or not host_cache.sound(Path(folder)):
            folder = _saved[matcher] = _save(matcher)
        shipped = Shipped(matcher.version, folder, _carry(Path(folder), spark))
        opened(shipped)  # so that nobody takes it away
    if shipped.file is None:
        warm_up(matcher)
    return shipped


@functools.lru_cache(maxsize=host_cache.NEWEST)
def opened(shipped: Shipped) -> Matcher:
    """The matcher, in a worker: mapped from this host's copy, and kept for the next task of this process."""
    if shipped.file is None:
        found = host_cache.held(Path(shipped.folder))
        if found is None:
            raise SnapshotError(
                f"the snapshot {shipped.folder} is gone or damaged\n"
                "Hint: match again with the subscriptions themselves, which saves it anew"
            )
        return found
    cache = host_cache.place()
    folder = cache / Path(shipped.folder).name
    for _ in range(_ATTEMPTS):
        found = host_cache.held(folder)
        if found is not None:
            return found
        with host_cache.changing(cache):
            if not host_cache.sound(folder):
                shutil.rmtree(folder, ignore_errors=True)
                # Compiled by one worker alone, while the others wait for the folder and then read its machine code.
                unpack(Path(SparkFiles.get(shipped.file)), folder, then=warm_up)
                host_cache.prune(cache)
    raise SnapshotError(
        f"the snapshot {folder} was taken away {_ATTEMPTS} times before it could be opened\n"
        f"Hint: see what clears the folder, or set {host_cache.PLACE} to another one"
    )


def _save(matcher: Matcher) -> str:
    """The folder, named by what is in it: the same for every process that compiles the same subscriptions alike."""
    cache = host_cache.place()
    with host_cache.changing(cache), tempfile.TemporaryDirectory(prefix=".new.", dir=cache) as made:
        new = Path(made) / "snapshot"
        matcher.save(new)
        folder = cache / f"{matcher.version}-{matcher.index}-{whole_sum(new / MANIFEST):08x}"
        if not host_cache.sound(folder):
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
        host_cache.prune(cache)
    return str(folder)


def _carry(folder: Path, spark: SparkSession) -> str | None:
    """Hand the archive to Spark, once per session; the name that workers find it by, unless they share the folder."""
    file = f"vedette-{folder.name}.tar"
    connected = getattr(spark, "session_id", None)  # only sessions of Spark Connect have it
    if connected is None and _is_local(spark.sparkContext.master):
        return None
    key = (connected or spark.sparkContext.applicationId, file)
    if key not in _carried:
        if connected is None:
            # Executors that come later ask for it too: it lies where Spark clears up when it ends.
            archive = Path(spark.sparkContext._temp_dir) / file
            pack(folder, archive)
            spark.sparkContext.addFile(str(archive))
        else:
            with tempfile.TemporaryDirectory(prefix="vedette-") as made:
                pack(folder, Path(made) / file)
                spark.addArtifacts(str(Path(made) / file), file=True)
        _carried.add(key)
    return file


def _is_local(master: str | None) -> bool:
    """All workers are on the driver's host (which `local-cluster[…]` only pretends not to be)."""
    return master is not None and (master == "local" or master.startswith("local["))
