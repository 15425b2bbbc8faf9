"""Subscriptions and events as plain columns of constants: what every form of a workload is made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["int", "float", "string"]


@dataclass(frozen=True)
class Attribute:
    """One attribute of the events; a string is given by its place in `vocabulary`, which is sorted."""

    name: str
    kind: Kind
    vocabulary: tuple[str, ...] = ()


class Op(IntEnum):
    """How a constraint reads its constants."""

    EQUAL = 0  # low
    BETWEEN = 1  # low and high, both inside
    BELOW = 2  # < high
    ABOVE = 3  # > low


@dataclass(frozen=True)
class Constraints:
    """Subscription i is the conjunction of constraints `start[i] .. start[i + 1]`, at most one per attribute."""

    attributes: tuple[Attribute, ...]
    start: NDArray[np.int64]
    attribute: NDArray[np.int16]
    op: NDArray[np.int8]
    low: NDArray[np.float64]  # whole numbers for int, the place in the vocabulary for string
    high: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def by_attribute(self) -> list[NDArray[np.int64]]:
        """The places of every attribute's constraints, ascending."""
        order = np.argsort(self.attribute, kind="stable")
        ends = np.searchsorted(self.attribute[order], np.arange(1, len(self.attributes)))
        return list(np.split(order, ends))

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The subscription of every constraint."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))


@dataclass(frozen=True)
class Values:
    """One attribute's values in a batch of events; what stands at a missing place means nothing."""

    values: NDArray[Any]  # float64, int64, or int64 places in the vocabulary
    present: NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """A batch of events, column by column."""

    attributes: tuple[Attribute, ...]
    columns: tuple[Values, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def head(self, count: int) -> Events:
        """The first `count` events."""
        columns = tuple(Values(c.values[:count], c.present[:count]) for c in self.columns)
        return Events(self.attributes, columns)
