"""What would be on the disk if the power went now? Only what was synced; of all else, anything or nothing.

`writes.c` logs what a process does to the files of a folder. A sync of a file keeps what it is at that moment: its
bytes, its size, its name; one of the folder keeps names that went. Of later changes each may be there or not, in any
order, and of what was written each sector of 512 bytes.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

OPENED, WRITTEN, TRUNCATED, REMOVED, SYNCED = range(1, 6)
FOLDER: Final = "."
SECTOR: Final = 512
_HEAD: Final = struct.Struct("<qqqIIII")
_SOURCE: Final = Path(__file__).with_name("writes.c")


class Change(NamedTuple):
    """Something that was done to a file."""

    begin: int  # nanoseconds of the monotonic clock
    end: int
    kind: int
    path: str
    offset: int
    data: bytes


def has_compiler() -> bool:
    """Whether this machine can compile what logs."""
    return shutil.which("cc") is not None


def compiled(folder: Path) -> Path:
    """The library that logs, for LD_PRELOAD."""
    library = folder / "writes.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


def logging(library: Path, folder: Path, log: Path) -> dict[str, str]:
    """The environment in which a process logs what it does to the files of a folder."""
    return {"LD_PRELOAD": str(library), "WRITES_FOLDER": str(folder), "WRITES_LOG": str(log)}


def changes(log: Path) -> Iterator[Change]:
    """What was logged, in order; a last record that is not whole is left out."""
    with log.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            begin, end, offset, kind, path_size, size, _ = _HEAD.unpack(head)
            path, data = file.read(path_size).decode(), file.read(size)
            if len(data) < size:
                return
            yield Change(begin, end, kind, path, offset, data)


class Disk:
    """The files of one folder: what is kept of them for sure, and what happened since."""

    def __init__(self) -> None:
        self._kept: dict[str, bytearray] = {}
        self._since: dict[str, list[Change]] = {}

    def take(self, change: Change) -> None:
        """Something happened."""
        if change.kind != SYNCED:
            self._since.setdefault(change.path, []).append(change)
        elif change.path == FOLDER:
            for path, since in self._since.items():
                gone = max((n for n, one in enumerate(since, 1) if one.kind == REMOVED), default=0)
                self._keep(path, gone)
        else:
            self._keep(change.path, len(self._since.get(change.path, ())))

    def _keep(self, path: str, count: int) -> None:
        since = self._since.get(path, [])
        for change in since[:count]:
            _apply(self._kept, change, change.data)
        del since[:count]

    def whole(self) -> dict[str, bytes]:
        """The files as the process sees them."""
        return self._after(None, 1.0)

    def cut(self, chance: Random, share: float, begun: Change | None = None) -> dict[str, bytes]:
        """The files after a power cut: of what was not synced, about that share, and of a change that had begun."""
        if begun is None or begun.kind == SYNCED:
            return self._after(chance, share)
        since = self._since.setdefault(begun.path, [])
        since.append(begun)
        try:
            return self._after(chance, share)
        finally:
            since.pop()

    def _after(self, chance: Random | None, share: float) -> dict[str, bytes]:
        files = {path: bytearray(data) for path, data in self._kept.items()}
        for since in self._since.values():
            for change in since:
                if chance is None or share >= 1.0:
                    _apply(files, change, change.data)
                elif change.kind == WRITTEN:
                    for sector in _sectors(change):
                        if chance.random() < share:
                            _apply(files, sector, sector.data)
                elif chance.random() < share:
                    _apply(files, change, b"")
        return {path: bytes(data) for path, data in files.items()}


def _sectors(change: Change) -> Iterator[Change]:
    """A write in parts, each of which lies in one sector of the file."""
    at, end = change.offset, change.offset + len(change.data)
    while at < end:
        upto = min(end, (at // SECTOR + 1) * SECTOR)
        yield change._replace(offset=at, data=change.data[at - change.offset : upto - change.offset])
        at = upto


def _apply(files: dict[str, bytearray], change: Change, data: bytes) -> None:
    if change.kind == REMOVED:
        files.pop(change.path, None)
        return
    file = files.setdefault(change.path, bytearray())
    if change.kind == WRITTEN:
        _resize(file, max(len(file), change.offset + len(data)))
        file[change.offset : change.offset + len(data)] = data
    elif change.kind == TRUNCATED:
        _resize(file, change.offset)


def _resize(file: bytearray, size: int) -> None:
    if size < len(file):
        del file[size:]
    else:
        file.extend(bytes(size - len(file)))
