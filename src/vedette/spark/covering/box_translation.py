"""Boxes in the spaces of batches, translated into the space that all subscriptions share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.covering.boxes import Box, BoxSpace
from vedette.covering.kernels.cover_bitmaps import BoxEntries
from vedette.covering.order_labels import Relabelling

Ints: TypeAlias = NDArray[np.int64]
Moves: TypeAlias = tuple[tuple[int, Relabelling], ...]


class WorkerBoxes:
    """All boxes that workers have read, in the order of arrival."""

    def __init__(self, read: Any) -> None:
        lists = {name: read.column(name).combine_chunks() for name in read.column_names[3:]}
        self.own: NDArray[np.bool_] = read.column("own").to_numpy()
        self._batch: Ints = read.column("batch").to_numpy()
        self._first_box = lists["boxes"].offsets.to_numpy().astype(np.int64)
        self._first_entry = np.zeros(int(self._first_box[-1]) + 1, np.int64)
        np.cumsum(lists["boxes"].flatten().to_numpy(), out=self._first_entry[1:])
        self._dimension, self._low, self._high = (
            lists[name].flatten().to_numpy() for name in ("dimension", "low", "high")
        )
        self._first_text = lists["text"].offsets.to_numpy()
        self._texts = [lists[name].flatten() for name in ("text_dimension", "text_number", "text")]
        self._meant: dict[int, dict[int, int]] = defaultdict(dict)  # by batch: the dimensions of the space
        self._keys: dict[int, dict[tuple[int, int], bytes]] = defaultdict(dict)  # by batch: the texts of numbers

    def __len__(self) -> int:
        return len(self.own)

    def eventful(self) -> Ints:
        """Numbers of the subscriptions that bring something new, at least to their batch."""
        return np.flatnonzero(self.own | (np.diff(self._first_text) > 0))

    def new_texts(self, number: int) -> list[tuple[int, tuple[bytes, ...]]] | None:
        """Texts that come first in a batch, by dimension of the shared space; None if that is not known."""
        texts = self.learn_texts(number)
        meant = self._meant[int(self._batch[number])]
        if not all(dimension in meant for dimension, _, _ in texts):
            return None
        return [(meant[each], tuple(key for *_, key in some)) for each, some in groupby(texts, lambda text: text[0])]

    def learn(self, number: int, boxes: Sequence[Box]) -> None:
        """Learn which dimensions a batch means, from a subscription whose boxes are known."""
        self.learn_texts(number)
        begin, end = self._first_entry[self._first_box[number : number + 2]]
        numbers = chain.from_iterable(box.dimensions for box in boxes)
        self._meant[int(self._batch[number])].update(zip(self._dimension[begin:end].tolist(), numbers, strict=True))

    def learn_texts(self, number: int) -> list[tuple[int, int, bytes]]:
        begin, end = self._first_text[number : number + 2]
        texts = list(zip(*(column[begin:end].to_pylist() for column in self._texts), strict=True))
        self._keys[int(self._batch[number])].update({(dimension, label): key for dimension, label, key in texts})
        return texts

    def translated(self, begin: int, end: int, space: BoxSpace, undone: Moves) -> tuple[Ints, BoxEntries]:
        """Boxes of some subscriptions in the shared space with its last moves undone, and where those of each begin.

        Boxes whose dimensions are not known are there, too, and mean nothing.
        """
        box = self._first_box[begin : end + 1]
        start = self._first_entry[box[0] : box[-1] + 1]
        low, high = (ends[start[0] : start[-1]].copy() for ends in (self._low, self._high))
        dimension = np.full(len(low), -1, np.int32)
        for batch, first, last in self._runs(begin, end):
            at, until = self._first_entry[self._first_box[[first, last]]] - start[0]
            local = self._dimension[start[0] + at : start[0] + until]
            for mine, meant in self._meant[batch].items():
                here = at + np.flatnonzero(local == mine)
                dimension[here] = meant
                if space.textual(meant) and len(here):
                    for ends in (low, high):
                        ends[here] = self._numbers(batch, mine, ends[here], space, meant, undone)
        return box - box[0], BoxEntries(start - start[0], dimension, low, high)

    def _runs(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Consecutive subscriptions of the same batch: batch, first, end."""
        batches = self._batch[begin:end]
        cuts = begin + np.concatenate(([0], np.flatnonzero(np.diff(batches)) + 1, [end - begin]))
        for first, last in zip(cuts.tolist(), cuts[1:].tolist(), strict=False):
            yield int(self._batch[first]), first, last

    def _numbers(self, batch: int, mine: int, ends: Ints, space: BoxSpace, meant: int, undone: Moves) -> Ints:
        keys = self._keys[batch]
        labels, place = np.unique(ends, return_inverse=True)
        found = [(label, keys.get((mine, label))) for label in labels.tolist()]
        numbers = np.array([label if key is None else space.number_of(meant, key) for label, key in found], np.int64)
        for dimension, move in reversed(undone):
            if dimension == meant:
                numbers = Relabelling(move.new, move.old).moved(numbers)
        return numbers[place]
