"""What distinct values gave in earlier batches, within bounds."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

Found = TypeVar("Found")

ENTRIES = 32_768
BYTES = 16 << 20


class ValueCache(Generic[Found]):
    """Text -> what was found for it. Two generations: when the younger is full, the older is forgotten.

    Any number of threads may read and write at the same time.
    """

    def __init__(self, entries: int = ENTRIES, size: int = BYTES) -> None:
        self._entries = entries // 2
        self._size = size // 2
        self._young: dict[bytes, tuple[Found, int]] = {}
        self._old: dict[bytes, tuple[Found, int]] = {}
        self._young_size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, value: bytes) -> Found | None:
        """What was put in for this value, if it is still known."""
        entry = self._young.get(value)
        if entry is None:
            entry = self._old.get(value)
            if entry is None:
                return None
            self._keep(value, entry)
        return entry[0]

    def put(self, value: bytes, found: Found, size: int) -> None:
        """Remember it; `size` is about how many bytes `found` takes."""
        # Objects and their place in the dictionary take some 200 bytes more.
        self._keep(value, (found, size + len(value) + 200))

    def _keep(self, value: bytes, entry: tuple[Found, int]) -> None:
        size = entry[1]
        if size > self._size:
            return
        with self._lock:
            if value in self._young:
                return
            if len(self._young) >= self._entries or self._young_size + size > self._size:
                self._old, self._young, self._young_size = self._young, {}, 0
            self._young[value] = entry
            self._young_size += size
