"""Storage of small files and snapshots beside a checkpoint: written whole or not at all, and durable."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import IO, Protocol

from vedette.engine.engine import Engine
from vedette.engine.snapshot import SavedEngine, parts_of, read
from vedette.errors import PipelineError


class Storage(Protocol):
    """A folder; names in it are relative, with `/` between parts."""

    @property
    def name(self) -> str:
        """The name of the folder in messages."""

    def lock(self) -> None:
        """Lock the folder for this process; PipelineError if another one holds it."""

    def unlock(self) -> None:
        """Release the lock."""

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one step, in place of an older one."""

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none if it does not exist."""

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it, if it exists."""

    def keep(self, engine: Engine, name: str) -> None:
        """Save a snapshot, unless it is there already."""

    def open(self, name: str) -> SavedEngine:
        """A snapshot; SnapshotError if it cannot be read."""


class LocalStorage:
    """A folder on a file system of this machine, or one that behaves like it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock: IO[bytes] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return str(self._root)

    def lock(self) -> None:
        """Lock by the operating system, which releases it when the process ends, however it ends."""
        place = self._root / "vedette" / "lock"
        place.parent.mkdir(parents=True, exist_ok=True)
        file = place.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise PipelineError(
                f"another process is running with the checkpoint {self._root}\n"
                "Hint: wait for it or stop it; two pipelines cannot share a checkpoint"
            ) from None
        except OSError:  # a file system without locks: then only Spark notices a second process
            pass
        self._lock = file

    def unlock(self) -> None:
        """Release the lock, by closing its file."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None if there is none."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a new file, flush it, rename it; then flush the folder."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        _to_disk(path.parent)

    def names(self, folder: str) -> list[str]:
        """Names in a folder, without unfinished files."""
        try:
            return sorted(each for each in os.listdir(self._root / folder) if not each.startswith("."))
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Remove a file or folder; folders are renamed first, so that a snapshot is never seen half removed."""
        path = self._root / name
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        aside = path.with_name(f".{path.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        shutil.rmtree(aside)

    def keep(self, engine: Engine, name: str) -> None:
        """Save a snapshot, which is written beside, flushed to the disk, and renamed."""
        folder = self._root / name
        if parts_of(folder):
            return
        for left in folder.parent.glob(f".*{folder.name}.*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        beside = folder.with_name(f".{folder.name}.new")
        engine.save(beside)
        for path in (*beside.rglob("*"), beside):
            _to_disk(path)
        beside.rename(folder)
        _to_disk(folder.parent)

    def open(self, name: str) -> SavedEngine:
        """Open a snapshot and check every byte: the machine may have crashed since it was written."""
        return read(self._root / name)


def _to_disk(path: Path) -> None:
    """Flush a file or folder to the disk, so that it survives a crash of the machine."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
