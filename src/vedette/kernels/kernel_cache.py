"""The disk cache of kernels: beside the package, else in a folder of the user, else in Spark's, else none.

Numba tries the first two (before them `NUMBA_CACHE_DIR`) and fails if none can be written to, as in a container with a
read-only package and no home. Machine code is executed as it is found: a folder that others could write to is not used.
"""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Any, Final

from numba import config

VARIABLE: Final = "NUMBA_CACHE_DIR"
_SPARK: Final = "SPARK_LOCAL_DIRS"  # which Spark sets for its Python workers, to folders that go away with the executor
NOT_KEPT: Final = "no folder for compiled kernels can be written to: every process compiles them anew, which takes long"
_told: set[str] = set()


class KernelCache:
    """Numba's cache of one kernel, which works without the disk if that cannot be written to."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save the machine code if possible; if not, the compiled kernel still works."""
        try:
            self._cache.save_overload(signature, data)
        except OSError as error:
            warn_once(
                f"a compiled kernel could not be kept ({error.strerror or error}): the next process compiles it anew"
            )


def fall_back() -> bool:
    """Let Numba cache kernels in a folder of Spark's, if there is a safe one; returns whether there is."""
    folder = None if config.CACHE_DIR else spark_folder()
    if folder is None:
        return False
    config.CACHE_DIR = str(folder)
    return True


def spark_folder() -> Path | None:
    """The folder of a Spark worker for compiled kernels, shared with the other workers of its executor."""
    places = filter(None, os.environ.get(_SPARK, "").split(","))
    return next((folder for place in places if _is_ours(folder := Path(place) / "vedette-kernels")), None)


def warn_once(what: str) -> None:
    """Warn, once per process."""
    if not _told:
        _told.add(what)
        warnings.warn(
            f"{what}\nHint: set {VARIABLE} to a folder that you, and nobody else, can write to",
            RuntimeWarning,
            stacklevel=2,
        )


def _is_ours(folder: Path) -> bool:
    """Whether a folder exists (or could be made) that nobody else can write to or replace."""
    try:
        parent = folder.parent.stat()
        if parent.st_uid not in (os.getuid(), 0) or (parent.st_mode & 0o022 and not parent.st_mode & stat.S_ISVTX):
            return False
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
    except (OSError, AttributeError):  # Windows has no getuid
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077
