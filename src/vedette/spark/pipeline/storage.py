"""Small files and snapshots beside a checkpoint: written whole or not at all, and surely there once written."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import IO, Protocol

from vedette.errors import PipelineError
from vedette.matching.matcher import Matcher
from vedette.matching.snapshot_files import MANIFEST, is_snapshot


class Storage(Protocol):
    """A folder; names in it are relative, with `/` between parts."""

    @property
    def name(self) -> str:
        """How messages call it."""

    def lock(self) -> None:
        """Nobody else may write here while this process lives; PipelineError if somebody does."""

    def unlock(self) -> None:
        """Others may write here again."""

    def read(self, name: str) -> bytes | None:
        """A file, or None if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """A file, in one step, in place of an older one."""

    def names(self, folder: str) -> list[str]:
        """What a folder holds, sorted; nothing if it is not there."""

    def remove(self, name: str) -> None:
        """A file, or a folder with all that is in it; nothing happens if it is not there."""

    def keep(self, matcher: Matcher, name: str) -> None:
        """A snapshot, unless it is there already."""

    def open(self, name: str) -> Matcher:
        """The matcher of a snapshot; SnapshotError if it cannot be read."""


class LocalStorage:
    """A folder on a file system of this machine, or one that looks like it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock: IO[bytes] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return str(self._root)

    def lock(self) -> None:
        """By the operating system, which lets go of it when the process ends, however it ends."""
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
        except OSError:  # a file system without locks: then nobody watches over it but Spark
            pass
        self._lock = file

    def unlock(self) -> None:
        """Closing the file is enough."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self, name: str) -> bytes | None:
        """As it is on the disk."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Written beside, brought to the disk, renamed; then the folder is brought to the disk."""
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
        """Without what is only being written."""
        try:
            return sorted(each for each in os.listdir(self._root / folder) if not each.startswith("."))
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Folders step aside first, so that a snapshot is never seen half removed."""
        path = self._root / name
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        aside = path.with_name(f".{path.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        shutil.rmtree(aside)

    def keep(self, matcher: Matcher, name: str) -> None:
        """Snapshots are written beside and renamed by those who know how."""
        folder = self._root / name
        if is_snapshot(folder):
            return
        for left in folder.parent.glob(f".{folder.name}.*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        matcher.save(folder)
        _to_disk(folder / MANIFEST)
        _to_disk(folder)
        _to_disk(folder.parent)

    def open(self, name: str) -> Matcher:
        """Every byte is checked: it lay there while a machine may have crashed."""
        return Matcher.open(self._root / name, verify=True)


def _to_disk(path: Path) -> None:
    """What is known of a file or folder survives a crash of the machine from now on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
