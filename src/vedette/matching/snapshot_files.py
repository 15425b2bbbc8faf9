"""The files of a snapshot: written beside and moved into place, checked when they are opened."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SnapshotError
from vedette.version import __version__

FORMAT = "vedette snapshot"
VERSION = 1
WITH_VETOES = 2  # some conjunctions take away, or columns are views, which those who read version 1 only do not know
MANIFEST = "manifest.json"

_WHOLE = 1 << 16  # files up to this size are checked as a whole at every opening
_BLOCK, _BLOCKS = 4096, 16  # of larger ones so many blocks, spread evenly, unless everything is verified
_CHUNK = 1 << 20


class SnapshotWriter:
    """Collects files in a temporary folder; `finish` puts the folder into place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, int]] = {}

    def __enter__(self) -> SnapshotWriter:
        if self._folder.exists() and not is_snapshot(self._folder) and any(_listing(self._folder)):
            raise SnapshotError(
                f"{self._folder} is there already and is not a snapshot\nHint: save into a new or an empty folder"
            )
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{self._folder.name}.", dir=self._folder.parent)
        self._temporary = Path(made)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary.exists():
            shutil.rmtree(self._temporary)

    def array(self, name: str, array: NDArray[Any]) -> None:
        """One array, in NumPy's format."""
        plain = np.ascontiguousarray(array)
        self._write(f"{name}.npy", lambda file: np.lib.format.write_array(file, plain, allow_pickle=False))

    def arrow(self, name: str, batch: pa.RecordBatch) -> None:
        """A record batch, in Arrow's IPC file format."""

        def write(file: BinaryIO) -> None:
            with pa.ipc.new_file(file, batch.schema) as out:
                out.write_batch(batch)

        self._write(f"{name}.arrow", write)

    def _write(self, name: str, write: Callable[[BinaryIO], None]) -> None:
        path = self._temporary / name
        with path.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        self._files[name] = {"size": path.stat().st_size, "sum": whole_sum(path), "sample": sampled_sum(path)}

    def finish(self, facts: dict[str, Any], *, version: int = VERSION) -> None:
        """Write the manifest and move the folder into place."""
        body = {"format": FORMAT, "version": version, "library": __version__, **facts, "files": self._files}
        text = json.dumps({**body, "sum": _text_sum(body)}, indent=1, ensure_ascii=False)
        (self._temporary / MANIFEST).write_text(text, encoding="utf-8")
        self._temporary.chmod(0o755)
        if not self._folder.exists():
            self._temporary.rename(self._folder)
            return
        # A folder cannot be renamed over a full one: the old one steps aside, and stays mapped where it is open.
        old = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}.", dir=self._folder.parent))
        self._folder.rename(old / "old")
        try:
            self._temporary.rename(self._folder)
        except OSError:
            (old / "old").rename(self._folder)
            old.rmdir()
            raise
        shutil.rmtree(old)


class SnapshotReader:
    """The checked manifest, and the files mapped into memory."""

    def __init__(self, folder: Path, *, verify: bool = False) -> None:
        self.folder = folder
        self.facts = self._manifest()
        self._files: dict[str, dict[str, int]] = self.facts["files"]
        for name, wanted in self._files.items():
            self._check(name, wanted, verify)

    def names(self, prefix: str) -> list[str]:
        """The names of the arrays that begin so."""
        return [name.removesuffix(".npy") for name in self._files if name.startswith(prefix) and name.endswith(".npy")]

    def array(self, name: str) -> NDArray[Any]:
        """An array, mapped: nothing is read before it is needed."""
        path = self.folder / f"{name}.npy"
        if f"{name}.npy" not in self._files:
            raise SnapshotError(f"{self.folder}: the manifest does not name {path.name}")
        # Copy on write, not read-only: kernels are compiled for one kind of array, and write to none of these.
        return np.asarray(np.lib.format.open_memmap(path, mode="c"))

    def arrow(self, name: str) -> pa.RecordBatch:
        """A record batch, mapped."""
        with pa.ipc.open_file(pa.memory_map(str(self.folder / f"{name}.arrow"))) as file:
            return file.get_batch(0)

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            hint = "\nHint: OperatorMatcher.open opens it" if is_snapshot(self.folder / "with_operators") else ""
            raise SnapshotError(f"{self.folder} is not a snapshot: there is no {MANIFEST}{hint}") from None
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise SnapshotError(f"{path} is not the manifest of a Vedette snapshot")
        if body.get("version") not in (VERSION, WITH_VETOES):
            raise SnapshotError(
                f"{self.folder} has format version {body.get('version')} (written by Vedette {body.get('library')}), "
                f"this is Vedette {__version__}, which reads versions {VERSION} and {WITH_VETOES}\n"
                "Hint: compile the subscriptions again and save them"
            )
        if body.pop("sum", None) != _text_sum(body):
            raise SnapshotError(f"{path} is damaged: its checksum is wrong")
        return body

    def _check(self, name: str, wanted: dict[str, int], verify: bool) -> None:
        path = self.folder / name
        try:
            size = path.stat().st_size
            if size != wanted["size"]:
                raise SnapshotError(f"{path} is damaged: it has {size:,} bytes instead of {wanted['size']:,}")
            right = whole_sum(path) == wanted["sum"] if verify else sampled_sum(path) == wanted["sample"]
        except OSError as error:
            raise SnapshotError(f"{path} cannot be read: {error.strerror}") from None
        if not right:
            raise SnapshotError(f"{path} is damaged: its checksum is wrong")


def is_snapshot(folder: Path) -> bool:
    """A manifest of ours is there, whatever state it is in."""
    try:
        return f'"{FORMAT}"' in (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return False


def _listing(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else [folder.name]


def whole_sum(path: Path) -> int:
    """The checksum of every byte."""
    found = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def sampled_sum(path: Path) -> int:
    """The checksum of a small file, or of blocks of a large one: its first, its last, and some between."""
    size = path.stat().st_size
    if size <= _WHOLE:
        return whole_sum(path)
    found = 0
    with path.open("rb") as file:
        for number in range(_BLOCKS):
            file.seek((size - _BLOCK) * number // (_BLOCKS - 1))
            found = zlib.crc32(file.read(_BLOCK), found)
    return found


def _text_sum(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
