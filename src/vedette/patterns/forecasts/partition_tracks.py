"""The current node of each partition of a pattern, and the moves from node to node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.pattern_nodes import START, NodeNames, age_bucket, context_of, contexts, node_of
from vedette.patterns.outputs import Observations

_MOST = 1_000_000  # partitions; beyond them, those seen longest ago are forgotten
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIRS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(27)), (np.uint64(0x94D049BB133111EB), np.uint64(31))


def partition_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order of partitions (n, 2) that come together: a number for each, evenly spread.

    A process that reads a history partition by partition, in this order, numbers states and symbols in the same way.
    """
    return _stirred(_mixed(keys))


def _mixed(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    halves = keys.view(np.uint64) if keys.flags.c_contiguous else np.ascontiguousarray(keys).view(np.uint64)
    return (halves[:, 0] + (halves[:, 1] * _SPREAD)).view(np.int64)


def _stirred(mixed: NDArray[np.int64]) -> NDArray[np.int64]:
    """A bijective scramble, so that distinct partitions stay distinct."""
    bits = mixed.view(np.uint64)
    bits = bits ^ (bits >> np.uint64(30))
    for factor, shift in _STIRS:
        bits = bits * factor
        bits = bits ^ (bits >> shift)
    return bits.view(np.int64)


@dataclass(frozen=True, slots=True)
class NodeMoves:
    """Moves from node to node, in the order of their rows."""

    slot: NDArray[np.int64]  # of the partition
    ordinal: NDArray[np.int64]  # the how-manieth event of its partition, from 1
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    order: NDArray[np.int64]  # their places partition by partition, in each of them as they are here


class PartitionTracks:
    """The current node of each partition. Partitions have slots, numbered as they come.

    States and symbols are numbered in the order of the rows, or, with `by_partition`, in the order of reading the rows
    partition by partition.
    """

    def __init__(self, *, context: int, aged: bool, most: int = _MOST, by_partition: bool = False) -> None:
        self._context, self._aged, self._most = context, aged, most
        self._by_partition = by_partition
        self._slots: dict[int, int] = {}
        self._node = np.full(16, START, np.int64)
        self._ordinal = np.zeros(16, np.int64)
        self._clock = 0
        self._touched = np.zeros(16, np.int64)

    def __len__(self) -> int:
        return len(self._slots)

    def advance(self, seen: Observations, rows: NDArray[np.int64], names: NodeNames) -> NodeMoves:
        """Process these rows of the observations; return the moves."""
        slot = self._slots_of(seen.key[rows])
        order = np.argsort(slot, kind="stable")
        row, apart = rows[order], slot[order]
        begins = np.ones(slot.size, np.bool_)
        begins[1:] = apart[1:] != apart[:-1]
        place = np.arange(slot.size, dtype=np.int64)
        back = place - np.maximum.accumulate(np.where(begins, place, 0))

        meets = row if self._by_partition else rows
        states = names.number_states(seen.state[meets], seen.depth[meets])
        symbols = names.number_symbols(seen.symbol[meets]) if self._context else None
        if not self._by_partition:
            states, symbols = states[order], None if symbols is None else symbols[order]
        ages = age_bucket(seen.age[row]) if self._aged else np.zeros(row.size, np.int64)
        if symbols is not None:
            context = contexts(symbols, back, context_of(self._node[apart]), self._context)
        else:
            context = np.zeros(row.size, np.int64)
        after = node_of(states, seen.hit[row], ages, context)
        before = np.where(begins, self._node[apart], np.concatenate([after[:1], after[:-1]]))
        source, target, ordinal = np.empty((3, slot.size), np.int64)
        source[order], target[order], ordinal[order] = before, after, self._ordinal[apart] + back + 1

        # Where a slot comes several times, the last one stays.
        self._node[slot], self._ordinal[slot] = target, ordinal
        self._touched[slot] = self._clock + 1 + place
        self._clock += slot.size
        return NodeMoves(slot, ordinal, source, target, order)

    def room(self, keys: NDArray[np.int64]) -> int:
        """The number of these events up to the one that brings too many partitions to remember."""
        left = self._most - len(self._slots)
        if len(keys) <= left:
            return len(keys)
        mixed = _mixed(keys)
        distinct, first = np.unique(mixed, return_index=True)
        known = self._slots
        new = np.sort(first[[key not in known for key in distinct.tolist()]])
        return len(keys) if new.size <= left else int(new[max(left, 0)]) + 1

    def _slots_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slot of each row's partition; new ones get the next.

        Keys are known by 64 bits of them: two of a million partitions share a slot with a probability of 3e-8, and
        then only their forecasts do.
        """
        mixed = _mixed(keys)
        if mixed.size and (mixed == mixed[0]).all():  # a pattern without partitions
            distinct, which = mixed[:1], np.zeros(mixed.size, np.int64)
        else:
            _, first, which = np.unique(_stirred(mixed), return_index=True, return_inverse=True)
            distinct = mixed[first]
        known = self._slots
        found = [known.setdefault(key, len(known)) for key in distinct.tolist()]
        self._grow(len(known))
        return np.asarray(found, np.int64)[which.reshape(-1)]

    def _grow(self, size: int) -> None:
        short = size - self._node.size
        if short > 0:
            more = max(short, self._node.size)
            self._node = np.concatenate([self._node, np.full(more, START, np.int64)])
            self._ordinal = np.concatenate([self._ordinal, np.zeros(more, np.int64)])
            self._touched = np.concatenate([self._touched, np.zeros(more, np.int64)])

    def crowded(self) -> bool:
        """Whether there are too many partitions to remember."""
        return len(self._slots) > self._most

    def forget(self) -> NDArray[np.int64]:
        """Keep the half of the partitions with the latest events; return the new slot of each old one, or -1."""
        size = len(self._slots)
        kept = np.sort(np.argsort(self._touched[:size], kind="stable")[size - self._most // 2 :])
        moved = np.full(size, -1, np.int64)
        moved[kept] = np.arange(kept.size)
        self._slots = {key: int(moved[slot]) for key, slot in self._slots.items() if moved[slot] >= 0}
        self._node, self._ordinal = self._node[kept], self._ordinal[kept]
        self._touched = self._touched[kept]
        return moved

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as named arrays."""
        size = len(self._slots)
        return {
            "keys": np.fromiter(self._slots, np.int64, size),
            "node": self._node[:size],
            "ordinal": self._ordinal[:size],
            "touched": self._touched[:size],
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        self._slots = {key: slot for slot, key in enumerate(arrays["keys"].tolist())}
        self._node, self._ordinal, self._touched = (
            np.array(arrays[name], np.int64) for name in ("node", "ordinal", "touched")
        )
        self._clock = int(self._touched.max(initial=0))
        self._grow(16)

    def renumber(self, before: NodeNames, names: NodeNames) -> None:
        """Renumber nodes that were numbered with other names."""
        self._node = before.renumbered(self._node, names)
