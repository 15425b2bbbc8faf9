"""A bounded memory of recent events, to drop duplicates."""

from __future__ import annotations

from collections import OrderedDict

MOST = 65_536  # far more than can be on their way round while the tree is changing


class DuplicateFilter:
    """The names of recent events; the oldest are dropped."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._names: OrderedDict[tuple[str, int], None] = OrderedDict()

    def __contains__(self, name: tuple[str, int]) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: tuple[str, int]) -> None:
        """Add one event."""
        self._names[name] = None
        if len(self._names) > self._most:
            self._names.popitem(last=False)
