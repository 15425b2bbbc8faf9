"""Has this event been here before? The last so many that have."""

from __future__ import annotations

from collections import OrderedDict

MOST = 65_536  # far more than can be on their way round while the tree is changing


class Seen:
    """Names of events, of which the oldest are forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._names: OrderedDict[tuple[str, int], None] = OrderedDict()

    def __contains__(self, name: tuple[str, int]) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: tuple[str, int]) -> None:
        """Remember one."""
        self._names[name] = None
        if len(self._names) > self._most:
            self._names.popitem(last=False)
