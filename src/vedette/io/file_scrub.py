"""Find damaged files of Vedette: every byte that has a checksum is read and compared."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from vedette.errors import DamageError, FileError, SnapshotError, VedetteError
from vedette.filters.snapshot_files import MANIFEST, is_snapshot, snapshot_damages
from vedette.operators.statistics import Statistics
from vedette.patterns.packing import is_packed, is_whole

STATISTICS: Final = "statistics.json"
_ARRAYS: Final = (".npy", ".arrow")
_IN_TEXT: Final = b"dmVkZXR0ZSBzdGF0ZSAx"  # how states begin that a checkpoint keeps as base64
_PART: Final = "with_operators"  # of a snapshot of several parts: it says which others there were
_SQLITE: Final = b"SQLite format 3\0"
_HINT: Final = "\nHint: restore it from a copy, or make it anew"


class ScrubResult(NamedTuple):
    """The result for one snapshot or file: what is wrong with it."""

    path: Path
    size: int
    damages: Sequence[VedetteError] = ()
    verified: bool = True  # False: nothing in it has a checksum


def is_sqlite(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def total_size(path: Path) -> int:
    """The total bytes of a file, or of all files below a folder."""
    return sum(each.stat().st_size for each in _files(path))


def scrubbed(path: Path) -> Iterator[ScrubResult]:
    """Check a file, or all snapshots and files below a folder, one after the other."""
    if not path.exists():
        raise FileError(
            f"{path}: there is no such file or folder\nHint: name snapshots, models, checkpoints, databases"
        )
    if path.is_file():
        yield _file(path)
        return
    for place, folders, names in os.walk(path):
        folder = Path(place)
        folders.sort()
        there = sorted(name for name in names if not name.startswith("."))
        if MANIFEST in there or any(name.endswith(_ARRAYS) for name in there):
            files = [name for name in there if name == MANIFEST or name.endswith(_ARRAYS)]
            yield ScrubResult(folder, _size(folder, files), _of_snapshot(folder))
            there = [name for name in there if name not in files]
        if _PART in folders and (lost := _lost_parts(folder)):
            yield ScrubResult(folder, 0, lost)
        for name in there:
            yield _file(folder / name)


def _lost_parts(folder: Path) -> list[VedetteError]:
    from vedette.engine.snapshot import missing_parts

    try:
        return [
            SnapshotError(f"{path} is missing: it was saved with what is beside it{_HINT}")
            for path in missing_parts(folder)
        ]
    except SnapshotError:  # damage in that part is reported when its turn comes
        return []


def _of_snapshot(folder: Path) -> list[VedetteError]:
    if (folder / MANIFEST).exists() or is_snapshot(folder):
        return list(snapshot_damages(folder))
    return [SnapshotError(f"{folder / MANIFEST} is missing, so that nothing beside it can be read{_HINT}")]


def _file(path: Path) -> ScrubResult:
    try:
        size = path.stat().st_size
        if path.name == STATISTICS:
            Statistics.load(path)
            return ScrubResult(path, size)
        with path.open("rb") as file:
            begin = file.read(64)
        if is_packed(begin) or begin.startswith(_IN_TEXT):
            return ScrubResult(path, size, [] if _is_whole(path.read_bytes()) else [_damaged(path)])
    except (SnapshotError, FileError) as error:
        return ScrubResult(path, size, [error])
    except OSError as error:
        return ScrubResult(path, 0, [DamageError(path, "cannot be read", f": {error.strerror}{_HINT}")])
    return ScrubResult(path, size, verified=False)


def _is_whole(content: bytes) -> bool:
    try:
        data = content if is_packed(content) else base64.b64decode(content, validate=True)
    except binascii.Error:
        return False
    return is_packed(data) and is_whole(data)


def _damaged(path: Path) -> DamageError:
    return DamageError(path, "is damaged", f": its checksum does not fit{_HINT}")


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for place, _, names in os.walk(path):
        yield from (Path(place) / name for name in names)


def _size(folder: Path, names: Sequence[str]) -> int:
    return sum((folder / name).stat().st_size for name in names)
