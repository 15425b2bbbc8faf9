"""A bounded cache of the results for distinct values of earlier batches."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

CachedValue = TypeVar("CachedValue")

ENTRIES = 32_768
BYTES = 16 << 20


class ValueCache(Generic[CachedValue]):
    """A cache from texts to results, of two generations: when the younger one is full, the older one is dropped.

    Any number of threads may read and write at the same time.
    """

    def __init__(self, entries: int = ENTRIES, size: int = BYTES) -> None:
        self._entries = entries // 2
        self._size = size // 2
        self._young: dict[bytes, tuple[CachedValue, int]] = {}
        self._old: dict[bytes, tuple[CachedValue, int]] = {}
        self._young_size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, value: bytes) -> CachedValue | None:
        """The cached result for this value, or None."""
        entry = self._young.get(value)
        if entry is None:
            entry = self._old.get(value)
            if entry is None:
                return None
            self._keep(value, entry)
        return entry[0]

    def put(self, value: bytes, found: CachedValue, size: int) -> None:
        """Cache a result; `size` is about how many bytes `found` takes."""
        # Objects and their dictionary entries take some 200 bytes more.
        self._keep(value, (found, size + len(value) + 200))

    def _keep(self, value: bytes, entry: tuple[CachedValue, int]) -> None:
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
