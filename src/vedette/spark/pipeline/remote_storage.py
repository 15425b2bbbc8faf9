"""Storage beside a checkpoint on a file system that only Hadoop reaches: HDFS, an object store."""

from __future__ import annotations

import tempfile
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from vedette.engine.engine import Engine
from vedette.engine.snapshot import SavedEngine, read
from vedette.errors import SnapshotError
from vedette.spark.pipeline.sinks.hadoop import FileSystem
from vedette.spark.snapshots import pack, unpack


class RemoteStorage:
    """A folder that Hadoop reaches. A snapshot is one file there, since some of these have no folders to rename.

    There is no lock: two processes that use one checkpoint are found out by Spark, when both plan the same micro-batch.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._root = root.rstrip("/")
        self._files = FileSystem(spark, root)
        self._copies: list[tempfile.TemporaryDirectory[str]] = []  # of snapshots, mapped by those who use them

    @property
    def name(self) -> str:
        """The address."""
        return self._root

    def lock(self) -> None:
        """Does nothing: there is no lock."""

    def unlock(self) -> None:
        """Remove the local copies of opened snapshots; those that are mapped stay mapped."""
        while self._copies:
            self._copies.pop().cleanup()

    def read(self, name: str) -> bytes | None:
        """The content of a small file, or None."""
        path = f"{self._root}/{name}"
        return self._files.read(path).encode() if self._files.exists(path) else None

    def write(self, name: str, content: bytes) -> None:
        """Write a new file, then rename it; where it replaces one, there is none for a moment."""
        path = f"{self._root}/{name}"
        self._files.create(_beside(path), content.decode())
        self._put(path)

    def names(self, folder: str) -> list[str]:
        """Names in a folder, without unfinished files and Hadoop's checksums."""
        return [name for name in self._files.names(f"{self._root}/{folder}") if not name.startswith(".")]

    def remove(self, name: str) -> None:
        """Remove a file or folder."""
        self._files.delete(f"{self._root}/{name}")

    def keep(self, engine: Engine, name: str) -> None:
        """Save a snapshot here, pack it and upload it."""
        path = f"{self._root}/{name}"
        if self._files.exists(path):
            return
        with tempfile.TemporaryDirectory(prefix="vedette-") as made:
            folder, archive = Path(made) / "snapshot", Path(made) / "snapshot.tar"
            engine.save(folder)
            pack(folder, archive)
            self._files.upload(archive, _beside(path))
        self._put(path)

    def open(self, name: str) -> SavedEngine:
        """Download and unpack a snapshot; every byte is checked."""
        copy = tempfile.TemporaryDirectory(prefix="vedette-")
        self._copies.append(copy)
        folder, archive = Path(copy.name) / "snapshot", Path(copy.name) / "snapshot.tar"
        try:
            self._files.download(f"{self._root}/{name}", archive)
        except Py4JJavaError as error:
            raise SnapshotError(f"{self._root}/{name} cannot be read: {error.java_exception.getMessage()}") from None
        unpack(archive, folder)
        archive.unlink()
        return read(folder, verify=False)  # unpacking it did

    def _put(self, path: str) -> None:
        if not self._files.move(_beside(path), path):
            self._files.delete(path)
            if not self._files.move(_beside(path), path):
                raise OSError(f"cannot write {path}")


def _beside(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.new"
