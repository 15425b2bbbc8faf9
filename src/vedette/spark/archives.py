"""A snapshot as one file, for hosts that do not see the folder: packed on one host, unpacked on another."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from vedette.errors import SnapshotError
from vedette.matching.matcher import Matcher
from vedette.matching.snapshot_files import MANIFEST

_CHUNK = 1 << 20


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a snapshot into one, uncompressed, the manifest first."""
    names = sorted(path.name for path in folder.iterdir() if path.name != MANIFEST)
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as out:
        for name in (MANIFEST, *names):
            out.add(folder / name, arcname=name, recursive=False)


def unpack(archive: Path, folder: Path, then: Callable[[Matcher], None] | None = None) -> None:
    """Put the snapshot into place as a whole or not at all; every byte is checked first, then `then` is called.

    Only files that the manifest names are written, by names without any path, so that nothing gets out of the folder.
    """
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        try:
            with tarfile.open(archive, "r:") as found:
                _extract(found, made)
        except (tarfile.TarError, OSError, ValueError, KeyError, TypeError) as error:
            raise SnapshotError(f"{archive} cannot be unpacked: {error}") from error
        matcher = Matcher.open(made, verify=True)
        if then is not None:
            then(matcher)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    members = iter(archive)
    first = next(members, None)
    if first is None or first.name != MANIFEST:
        raise ValueError(f"it does not begin with {MANIFEST}")
    _write(archive, first, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    sizes = {name: facts["size"] for name, facts in manifest["files"].items()}
    for member in members:
        if sizes.pop(member.name, None) != member.size:
            raise ValueError(f"{member.name!r} is not what {MANIFEST} says")
        _write(archive, member, folder)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    content = archive.extractfile(member) if member.isreg() else None
    if content is None or Path(member.name).name != member.name:
        raise ValueError(f"{member.name!r} has no place in a snapshot")
    with (folder / member.name).open("xb") as out:
        shutil.copyfileobj(content, out, _CHUNK)
