"""Subsets of one attribute's values, null included: what a conjunction asks of an attribute.

All ordered types are brought to keys whose order is the values' order: int64 for numbers, times and
booleans, bytes for strings and addresses. Every interval is half open, `[low, high)`, because both kinds
of keys have a next one: an integer's is `k + 1`, a byte string's is `k + b"\\0"`. So open and closed
bounds need no flags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Key = TypeVar("Key", int, bytes)
AnyKey: TypeAlias = int | bytes


def next_key(key: AnyKey) -> AnyKey:
    """The smallest key above this one."""
    return key + b"\0" if isinstance(key, bytes) else key + 1


@dataclass(frozen=True, slots=True)
class Interval(Generic[Key]):
    """`[low, high)`; None is unbounded. Never empty."""

    low: Key | None
    high: Key | None

    @property
    def point(self) -> Key | None:
        """The one key inside, if there is just one."""
        if self.low is None or self.high is None or next_key(self.low) != self.high:
            return None
        return self.low


@dataclass(frozen=True, slots=True)
class ValueSet(Generic[Key]):
    """Disjoint, non-touching intervals in ascending order, and whether null belongs to it."""

    intervals: tuple[Interval[Key], ...] = ()
    null: bool = False
