"""Ships an engine to every host once, as a snapshot whose filters all its workers map.

On one host the workers map the driver's own folder. To other hosts Spark carries the folder as one file; the first
worker that needs it unpacks it into the host's cache, and all workers of the host map that copy. What is pickled with a
task is only `ShippedSnapshot`. Spark keeps the files that it carried until the application ends.
"""

from __future__ import annotations

import functools
import json
import secrets
import shutil
import tarfile
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from vedette.engine.engine import Engine
from vedette.engine.snapshot import MODEL, PARTS, SavedEngine, parts_of, read
from vedette.errors import SnapshotError
from vedette.filters.matcher import Matcher
from vedette.filters.snapshot_files import ARRAYS, MANIFEST, whole_sum
from vedette.spark import host_cache
from vedette.spark.warm_up import warm_up

_ATTEMPTS = 3
_DRIVER = secrets.token_hex(4)
_saved: weakref.WeakKeyDictionary[Engine, str] = weakref.WeakKeyDictionary()  # the folders of engines
_carried: set[tuple[str, str]] = set()  # (session, file)
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class ShippedSnapshot:
    """A snapshot that the workers of a session can open; only this is sent with a task."""

    version: str
    folder: str  # on the driver's host
    file: str | None  # the name under which hosts that do not see the folder find its archive
    driver: str = ""  # the process that shipped it: each host verifies its copy once for it


def ship(engine: Engine, spark: SparkSession) -> ShippedSnapshot:
    """Make an engine's snapshot known to all hosts of a session; a second time costs next to nothing."""
    with _one_at_a_time:
        folder = _saved.get(engine)
        if folder is None or not host_cache.is_intact(Path(folder), verify=False):
            folder = _saved[engine] = _save(engine)
        shipped = ShippedSnapshot(engine.version, folder, _carry(Path(folder), spark), _DRIVER)
        opened(shipped)  # holds it, so that it is not removed
    if shipped.file is None:
        warm_up(engine.filters)
    return shipped


@functools.lru_cache(maxsize=host_cache.NEWEST)
def opened(shipped: ShippedSnapshot) -> SavedEngine:
    """The snapshot in a worker: mapped from this host's copy, and kept for the next task of this process."""
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
        found = host_cache.held(folder, shipped.driver)
        if found is not None:
            return found
        with host_cache.exclusive_access(cache):
            if not host_cache.is_intact(folder):
                shutil.rmtree(folder, ignore_errors=True)
                # Compiled by one worker alone, while the others wait for the folder and then read its machine code.
                unpack(Path(SparkFiles.get(shipped.file)), folder, then=warm_up)
                host_cache.prune(cache)
            host_cache.mark_verified(folder, shipped.driver)
    raise SnapshotError(
        f"the snapshot {folder} was taken away {_ATTEMPTS} times before it could be opened\n"
        f"Hint: see what clears the folder, or set {host_cache.PLACE} to another one"
    )


def _save(engine: Engine) -> str:
    """Save an engine into the cache; the folder is named by its content, so equal ones share it."""
    cache = host_cache.place()
    with host_cache.exclusive_access(cache), tempfile.TemporaryDirectory(prefix=".new.", dir=cache) as made:
        new = Path(made) / "snapshot"
        engine.save(new)
        sums = [whole_sum(part / MANIFEST) for part in parts_of(new)]
        folder = cache / f"{engine.version}-{engine.index}-{zlib.crc32(repr(sums).encode()):08x}"
        if not host_cache.is_intact(folder):
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
        host_cache.prune(cache)
    return str(folder)


def _carry(folder: Path, spark: SparkSession) -> str | None:
    """Hand the archive to Spark, once per session; returns its name for workers, or None if they share the folder."""
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
    """Whether all workers are on the driver's host (which `local-cluster[…]` only pretends not to be)."""
    return master is not None and (master == "local" or master.startswith("local["))


_CHUNK = 1 << 20


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a snapshot into one, uncompressed, each manifest before the files that it names."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as out:
        for part in parts_of(folder):
            files = [path for path in part.iterdir() if path.suffix in ARRAYS and not path.name.startswith(".")]
            for path in (part / MANIFEST, *sorted(files)):
                out.add(path, arcname=path.relative_to(folder), recursive=False)
        if (folder / MODEL).exists():
            out.add(folder / MODEL, arcname=MODEL)


def unpack(archive: Path, folder: Path, then: Callable[[Matcher], None] | None = None) -> None:
    """Put the snapshot into place as a whole or not at all; every byte is checked first, then `then` is called.

    Only files that a manifest names are written, into the folders that a snapshot has, so that nothing gets out of it.
    """
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        try:
            with tarfile.open(archive, "r:") as found:
                _extract(found, made)
        except (tarfile.TarError, OSError, ValueError, KeyError, TypeError) as error:
            raise SnapshotError(f"{archive} cannot be unpacked: {error}") from error
        saved = read(made)
        if then is not None:
            then(saved.filters)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    manifests = {f"{part}{MANIFEST}": part for part in ("", *(f"{each}/" for each in PARTS))}
    sizes: dict[str, int] = {}  # of the files that were named and did not come yet
    for member in archive:
        part = manifests.pop(member.name, None)
        if part is None and member.name != MODEL and sizes.pop(member.name, None) != member.size:
            raise ValueError(f"{member.name!r} is not what {MANIFEST} says")
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise ValueError(f"{member.name!r} has no place in a snapshot")
        path = folder / member.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            shutil.copyfileobj(content, out, _CHUNK)
        if part is not None:
            named = json.loads(path.read_text(encoding="utf-8"))["files"]
            if strange := [name for name in named if Path(name).name != name]:
                raise ValueError(f"{strange[0]!r} has no place in a snapshot")
            sizes |= {f"{part}{name}": facts["size"] for name, facts in named.items()}
