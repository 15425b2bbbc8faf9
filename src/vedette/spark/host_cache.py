"""Cache of snapshots on a host: a folder of one user, changed by one process at a time.

Folders in it are named by their content and never change. A process that uses one holds a shared lock on it, for as
long as the filters in it are mapped; folders without a lock may be removed when the cache grows. The kernel frees the
locks of processes that die.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vedette.engine.snapshot import SavedEngine, check, read
from vedette.errors import SnapshotError

PLACE = "VEDETTE_CACHE_DIR"
NEWEST = 4  # the snapshots used last, which always stay
ENOUGH = 2 << 30  # bytes; beyond them all others go
_LOCK = ".lock"
_VERIFIED = ".verified-"


def place() -> Path:
    """The folder of this host's snapshots; it belongs to this user alone."""
    chosen = os.environ.get(PLACE)
    root = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"vedette-{os.getuid()}"
    folder = root / "snapshots"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise SnapshotError(
            f"{folder}, the folder for snapshots, cannot be made: {error.strerror}\n"
            f"Hint: set {PLACE} to a folder that can be written to"
        ) from None
    # In a temp folder anybody may have made them before us, to put there what we would then map and trust.
    for own in (folder,) if chosen else (root, folder):
        facts = own.lstat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise SnapshotError(
                f"{own} is open to other users, so that snapshots in it cannot be trusted\n"
                f"Hint: set {PLACE} to a folder of your own, or make this one yours alone (chmod 700)"
            )
    return folder


@contextmanager
def exclusive_access(cache: Path) -> Iterator[None]:
    """Exclusive lock on the cache, as a context: no other process adds or removes snapshots meanwhile."""
    handle = os.open(cache / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Unfinished folders of others were left by processes that died.
        for left in cache.glob(".*.*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(handle)


def is_intact(folder: Path, *, verify: bool = True) -> bool:
    """Whether a snapshot is there and complete: programs that clear temp folders remove single files, by age."""
    try:
        read(folder) if verify else check(folder)
    except SnapshotError:
        return False
    return True


def mark_verified(folder: Path, by: str) -> None:
    """Record that all checksums were verified, so that this application's other workers here need not do it."""
    for older in folder.glob(f"{_VERIFIED}*"):
        older.unlink(missing_ok=True)
    (folder / f"{_VERIFIED}{by}").touch()


def held(folder: Path, verified: str | None = None) -> SavedEngine | None:
    """The snapshot in a folder, which is not removed as long as its filters live; None if it is missing or not whole.

    None as well if `verified`, an application, has not verified it on this host yet.
    """
    if verified is not None and not (folder / f"{_VERIFIED}{verified}").exists():
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        # Somebody may have taken it away between the opening and the lock.
        if not (folder.exists() and os.path.samestat(folder.stat(), os.fstat(handle))):
            os.close(handle)
            return None
        os.utime(folder)
        found = read(folder, verify=False)
    except (SnapshotError, FileNotFoundError):
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    weakref.finalize(found.filters, os.close, handle)
    return found


def prune(cache: Path, *, newest: int = NEWEST, enough: int = ENOUGH) -> None:
    """Remove unlocked folders, those used longest ago first, until the rest is small enough; needs exclusive access."""
    found = sorted((path for path in cache.iterdir() if path.is_dir()), key=lambda path: -path.stat().st_mtime_ns)
    sizes = [sum(file.stat().st_size for file in folder.rglob("*")) for folder in found]
    total = sum(sizes)
    for folder, size in reversed(list(zip(found, sizes, strict=True))[newest:]):
        if total <= enough:
            break
        if _take_away(folder):
            total -= size


def _take_away(folder: Path) -> bool:
    """Remove a folder unless it is locked. Files mapped without a lock live on until they are closed."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        folder.rename(aside / "old")
        shutil.rmtree(aside, ignore_errors=True)
        return True
    finally:
        os.close(handle)
