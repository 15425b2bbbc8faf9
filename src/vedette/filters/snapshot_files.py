"""The files of a snapshot: written to a temporary folder and moved into place; every byte is verified when opened.

The manifest has a CRC-32 of every block of every file, and one of itself. Snapshots of version 0.1 have one per file.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import DamageError, SnapshotError
from vedette.version import __version__

BLOCK: Final = 1 << 18  # bytes per checksum: a block stays in the CPU cache between reading and summing


def block_sums(path: Path, block: int = BLOCK) -> list[int]:
    """The checksum of every block of a file; the last may be shorter."""
    return [zlib.crc32(piece) for piece in _pieces(path, block)]


def whole_sum(path: Path) -> int:
    """The checksum of a whole file."""
    found = 0
    for piece in _pieces(path, BLOCK):
        found = zlib.crc32(piece, found)
    return found


def wrong_blocks(path: Path, sums: Sequence[int], block: int) -> Iterator[tuple[int, int]]:
    """The first and last byte of every block whose checksum differs."""
    begin = number = 0
    for number, piece in enumerate(_pieces(path, block), 1):
        if number > len(sums) or zlib.crc32(piece) != sums[number - 1]:
            yield begin, begin + len(piece) - 1
        begin += len(piece)
    if number < len(sums):  # the file was truncated while it was read
        yield begin, begin + block - 1


def _pieces(path: Path, size: int) -> Iterator[memoryview]:
    """A file in pieces that share one buffer. Read, not mapped: an unreadable sector raises, not ends the process."""
    buffer = memoryview(bytearray(size))
    with path.open("rb", buffering=0) as file:
        filled = 0
        while found := file.readinto(buffer[filled:]):
            filled += found
            if filled == size:
                yield buffer
                filled = 0
        if filled:
            yield buffer[:filled]


FORMAT = "vedette snapshot"
VERSION = 1
WITH_VETOES = 2  # there are vetoes, or columns that are views: readers of version 1 know neither
EXACT_NUMBERS = 3  # there are numeric constants among which integers lie that no float64 equals
MANIFEST = "manifest.json"

ARRAYS = (".npy", ".arrow")  # suffixes of a snapshot's files
_HINT = "\nHint: restore the snapshot from a copy, or compile the subscriptions again and save them"
_WHOLE = 1 << 16  # without verification: files up to this size are checked as a whole, of larger ones
_SAMPLE, _SAMPLES = 4096, 16  # so many pieces, spread evenly


class SnapshotWriter:
    """Writes files to a temporary folder; `finish` moves the folder into place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Any]] = {}

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
        """Write one array, in NumPy's format."""
        plain = np.ascontiguousarray(array)
        self._write(f"{name}.npy", lambda file: np.lib.format.write_array(file, plain, allow_pickle=False))

    def arrow(self, name: str, batch: pa.RecordBatch) -> None:
        """Write a record batch, in Arrow's IPC file format."""

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
        self._files[name] = {
            "size": path.stat().st_size,
            "block": BLOCK,
            "blocks": block_sums(path),
            # The fields that version 0.1 reads:
            "sum": whole_sum(path),
            "sample": sampled_sum(path),
        }

    def finish(self, facts: dict[str, Any], *, version: int = VERSION) -> None:
        """Write the manifest and move the folder into place."""
        body = {"format": FORMAT, "version": version, "library": __version__, **facts, "files": self._files}
        (self._temporary / MANIFEST).write_bytes(_written({**body, "sum": _text_sum(body)}))
        self._temporary.chmod(0o755)
        if not self._folder.exists():
            self._temporary.rename(self._folder)
            return
        # A folder cannot be renamed over a non-empty one: the old one is moved away, and stays mapped where it is open.
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
    """The checked manifest, and the files mapped into memory.

    Unless `verify` is false, every byte is compared with its checksum first: DamageError names the file and the block.
    """

    def __init__(self, folder: Path, *, verify: bool = True) -> None:
        self.folder = folder
        self.facts = _manifest(folder)
        self._files: dict[str, dict[str, Any]] = self.facts["files"]
        for damage in _damages(folder, self._files, verify=verify):
            raise damage

    def names(self, prefix: str) -> list[str]:
        """The names of the arrays that begin with the prefix."""
        return [name.removesuffix(".npy") for name in self._files if name.startswith(prefix) and name.endswith(".npy")]

    def array(self, name: str) -> NDArray[Any]:
        """Map an array: nothing is read before it is needed."""
        path = self.folder / f"{name}.npy"
        if f"{name}.npy" not in self._files:
            raise SnapshotError(f"{self.folder}: the manifest does not name {path.name}")
        try:
            # Copy on write, not read-only: kernels are compiled for one kind of array, and never write to these.
            return np.asarray(np.lib.format.open_memmap(path, mode="c"))
        except (OSError, ValueError) as error:
            raise DamageError(path, "cannot be read", f": {error}{_HINT}") from error

    def arrow(self, name: str) -> pa.RecordBatch:
        """Map a record batch."""
        path = self.folder / f"{name}.arrow"
        try:
            with pa.ipc.open_file(pa.memory_map(str(path))) as file:
                return file.get_batch(0)
        except (OSError, pa.ArrowException) as error:
            raise DamageError(path, "cannot be read", f": {error}{_HINT}") from error


def snapshot_damages(folder: Path) -> Iterator[SnapshotError]:
    """Everything that is wrong with the files of one snapshot, in the order of its manifest."""
    try:
        files = _manifest(folder)["files"]
    except SnapshotError as error:
        yield error
        return
    yield from _damages(folder, files, verify=True)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        hint = "\nHint: vedette.open opens it" if is_snapshot(folder / "with_operators") else ""
        raise SnapshotError(f"{folder} is not a snapshot: there is no {MANIFEST}{hint}") from None
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror}") from None
    try:
        body = json.loads(text)
    except ValueError as error:
        raise DamageError(path, "cannot be read", f": {error}{_HINT}") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise SnapshotError(f"{path} is not the manifest of a Vedette snapshot")
    found = {name: fact for name, fact in body.items() if name != "sum"}
    whole = body.get("sum") == _text_sum(found)
    if body.get("version") not in (VERSION, WITH_VETOES, EXACT_NUMBERS):
        raise SnapshotError(
            f"{folder} has format version {body.get('version')} (written by Vedette {body.get('library')}), "
            f"this is Vedette {__version__}, which reads versions {VERSION} to {EXACT_NUMBERS}"
            f"{'' if whole else '; or its manifest is damaged'}\nHint: compile the subscriptions again and save them"
        )
    if not whole or text != _written(body):
        raise DamageError(path, "is damaged", f": its checksum is wrong{_HINT}")
    return found


def _damages(folder: Path, files: dict[str, dict[str, Any]], *, verify: bool) -> Iterator[DamageError]:
    for name, wanted in files.items():
        yield from _damages_of_file(folder / name, wanted, verify)
    for path in sorted(folder.iterdir()):
        if path.suffix in ARRAYS and path.name not in files and not path.name.startswith("."):
            yield DamageError(path, "does not belong here", f": {MANIFEST} does not name it{_HINT}")


def _damages_of_file(path: Path, wanted: dict[str, Any], verify: bool) -> Iterator[DamageError]:
    try:
        size = path.stat().st_size
        if size != wanted["size"]:
            yield DamageError(path, "is damaged", f": it has {size:,} bytes instead of {wanted['size']:,}{_HINT}")
        elif not verify:
            if sampled_sum(path) != wanted["sample"]:
                yield DamageError(path, "is damaged", f": its checksum is wrong{_HINT}")
        elif "blocks" not in wanted:
            if whole_sum(path) != wanted["sum"]:
                yield DamageError(path, "is damaged", f": its checksum is wrong{_HINT}")
        else:
            for begin, end in wrong_blocks(path, wanted["blocks"], wanted["block"]):
                reason = f" between byte {begin:,} and byte {end:,}: the checksum of this block is wrong{_HINT}"
                yield DamageError(path, "is damaged", reason, offset=begin)
    except OSError as error:
        yield DamageError(path, "cannot be read", f": {error.strerror}{_HINT}")


def is_snapshot(folder: Path) -> bool:
    """Whether the folder has a manifest of Vedette's, in whatever state."""
    try:
        return f'"{FORMAT}"' in (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return False


def _listing(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else [folder.name]


def sampled_sum(path: Path) -> int:
    """The checksum of a small file, or of a sample of a large one: its first and last piece, and some between."""
    size = path.stat().st_size
    if size <= _WHOLE:
        return whole_sum(path)
    found = 0
    with path.open("rb") as file:
        for number in range(_SAMPLES):
            file.seek((size - _SAMPLE) * number // (_SAMPLES - 1))
            found = zlib.crc32(file.read(_SAMPLE), found)
    return found


def _text_sum(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _written(body: dict[str, Any]) -> bytes:
    """The manifest in its one canonical form, so that any other byte is damage."""
    return json.dumps(body, indent=1, ensure_ascii=False).encode()
