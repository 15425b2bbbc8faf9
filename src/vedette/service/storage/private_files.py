"""Files that their owner alone may read and write, whatever the umask: databases have secrets and events."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger("vedette.service.store")
_OTHERS: Final = 0o077
_OWNER: Final = 0o600
FILE_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")  # SQLite makes these with the permissions of the database


def keep_private(path: str, *, make: bool = False) -> None:
    """Take all rights on a file from everybody but its owner, and log that; `make` creates it if missing."""
    if make:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), _OWNER))
        except FileExistsError:
            pass
        except OSError:
            return  # the code that opens it reports why it cannot be made
    try:
        mode = os.stat(path).st_mode
        if os.name == "nt" or not mode & _OTHERS:
            return
        os.chmod(path, mode & _OWNER)
    except FileNotFoundError:
        return
    except OSError as error:
        _LOG.warning("%s can be read or written by others, and is not ours to change: %s", path, error.strerror)
        return
    _LOG.warning("%s could be read or written by others: now only by its owner", path)


def write_private(path: Path, text: str) -> None:
    """Write a new private file, in place of an older one."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), _OWNER)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
