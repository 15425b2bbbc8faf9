"""`clusters`, the default index: conjunctions filed under their most selective predicates, recursively.

See `vedette.filters.kernels.clusters` for how it matches and `vedette.filters.kernels.cluster_build` for how it is
laid out.
"""

from __future__ import annotations

import threading
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vedette.filters.index import Arrays
from vedette.filters.kernels.cluster_build import ClusterLayout, build
from vedette.filters.kernels.cluster_choice import FINEST, ClusterSettings, ColumnFrequencies
from vedette.filters.kernels.cluster_one import route_one
from vedette.filters.kernels.cluster_pages import PAGES, WORDS, ClusterPages
from vedette.filters.kernels.clusters import ClusterArrays, RouteScratch, route
from vedette.filters.pairs import PairBuffer
from vedette.kernels.addresses import addresses_of
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs, PredicateTable
from vedette.kernels.lanes import LANES

DEFAULTS = ClusterSettings(batch=16384.0, page=128, widest=0.4, slack=1.5, replication=4.0, replication_in_all=6.0)

# Smoothing: this share of the events is assumed to be spread evenly over the ranks, so no value has frequency 0.
UNSEEN = 0.05


class _SingleEventBuffers(threading.local):
    """Buffers that each thread keeps for matching single events."""

    def __init__(self) -> None:
        self.stack = np.empty(256, np.int32)
        self.out = np.empty(256, np.int32)


class Clusters:
    """Recursive access clusters over code space."""

    name: ClassVar[str] = "clusters"

    def __init__(self, arrays: ClusterArrays, ranks: int) -> None:
        self._index = arrays
        self._ranks = ranks
        self._addresses = addresses_of(arrays)
        self._most_shared = int(arrays.body[arrays.pages[:-1] + 1].max(initial=1))
        self._local = threading.local()
        self._one = _SingleEventBuffers()
        self._buffer = PairBuffer()

    @classmethod
    def build(
        cls, table: PredicateTable, ranks: int, sample: CodedBatch, settings: ClusterSettings = DEFAULTS
    ) -> Clusters:
        """Build the index, laid out for events like those of the sample."""
        columns = ranks + sample.sets.shape[0]
        layout, pages = build(table, columns, ranks, frequencies(table, ranks, sample), settings)
        return cls(_trimmed(layout, pages), ranks)

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        """Every (event, conjunction) pair that holds, each once."""
        events = batch.ranks.shape[1]
        if not events:
            return ConjunctionPairs(np.empty(0, np.int32), np.empty(0, np.int32))
        scratch = self._scratch()

        return self._buffer.collect(
            lambda event, conjunction: route(self._index, batch, scratch, event, conjunction), 4 * events
        )

    def match_one(self, batch: CodedBatch) -> NDArray[np.int32]:
        """The conjunctions that hold for the only event."""
        one = self._one
        count = route_one(self._addresses, batch, one.stack, one.out)
        while count < 0 or count > len(one.out):
            if count < 0:
                one.stack = np.empty(2 * len(one.stack), np.int32)
            else:
                one.out = np.empty(2 * count, np.int32)
            count = route_one(self._addresses, batch, one.stack, one.out)
        return one.out[:count].copy()

    def arrays(self) -> Arrays:
        """The flat arrays by name."""
        return self._index._asdict()

    @classmethod
    def restore(cls, table: PredicateTable, ranks: int, arrays: Arrays) -> Clusters:
        """The inverse of `arrays`."""
        return cls(ClusterArrays(**arrays), ranks)

    def _scratch(self) -> RouteScratch:
        """Working memory, one per thread, kept between calls."""
        if not hasattr(self._local, "scratch"):
            self._local.scratch = RouteScratch(
                slot_count=np.zeros(len(self._index.children), np.int32),
                lanes=np.full(max(self._ranks, 1) * LANES, -1, np.int32),
                mask=np.empty(self._most_shared, np.uint64),
            )
        scratch: RouteScratch = self._local.scratch
        return scratch


def _trimmed(layout: ClusterLayout, pages: ClusterPages) -> ClusterArrays:
    """The arrays without their unused capacity."""
    nodes, branches, children = (array[:used].copy() for array, used in zip(layout[:3], layout.used, strict=True))
    return ClusterArrays(
        nodes, branches, children, pages.pages[: pages.used[PAGES] + 1].copy(), pages.body[: pages.used[WORDS]].copy()
    )


def frequencies(table: PredicateTable, ranks: int, sample: CodedBatch) -> ColumnFrequencies:
    """Smoothed frequencies of ranks and tokens in a sample of events."""
    events = max(sample.ranks.shape[1], 1)
    largest = _largest_ranks(table, ranks, sample)
    shift = np.array([max(int(most + 3).bit_length() - FINEST.bit_length() + 1, 0) for most in largest], np.int64)
    parts = [_cumulative(sample.ranks[c], int(largest[c]), int(shift[c])) for c in range(ranks)]
    at = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)[:-1]
    cumulative = np.concatenate([np.empty(0, np.float32), *parts])
    tokens = sample.sets.shape[0]
    token_at = np.zeros(tokens + 1, np.int64)
    np.cumsum([_largest_token(table, ranks + t) + 1 for t in range(tokens)], out=token_at[1:])
    token = np.full(int(token_at[-1]), 1e-3, np.float32)
    for t in range(tokens):
        numbers = sample.sets[t][sample.sets[t] >= 0]
        uses = np.bincount(numbers, minlength=len(sample.set_start) - 1)
        weights = np.repeat(uses, np.diff(sample.set_start))
        inside = sample.set_tokens < token_at[t + 1] - token_at[t]
        seen = np.bincount(
            sample.set_tokens[inside], weights=weights[inside], minlength=int(token_at[t + 1] - token_at[t])
        )
        token[token_at[t] : token_at[t + 1]] += (seen / events).astype(np.float32)
    return ColumnFrequencies(cumulative, at, shift, largest, token, token_at)


def _cumulative(sampled: NDArray[np.int32], largest: int, shift: int) -> NDArray[np.float32]:
    """The share of events with rank + 2 <= k, at every k that is a multiple of 2 ** shift."""
    edges = np.arange(((largest + 2) >> shift) + 2, dtype=np.int64) << shift
    events = max(len(sampled), 1)
    missing = float((sampled < 0).sum()) / events
    seen = np.searchsorted(np.sort(sampled[sampled >= 0]).astype(np.int64) + 2, edges, side="right") / events
    evenly = np.clip((edges - 1) / (largest + 1), 0.0, 1.0) * max(1.0 - missing, 0.01)
    return (np.where(edges >= 1, missing, 0.0) + (1 - UNSEEN) * seen + UNSEEN * evenly).astype(np.float32)


def _largest_ranks(table: PredicateTable, ranks: int, sample: CodedBatch) -> NDArray[np.int64]:
    """The largest rank in the predicates or the sample, per rank column."""
    largest = np.zeros(ranks, np.int64)
    high = table.low.astype(np.int64) + table.width
    # Complements wrap around, and "is not null" reaches beyond every rank: neither shows the largest rank.
    told = (table.column < ranks) & (high < 2**31 - 2)
    np.maximum.at(largest, table.column[told], high[told])
    if sample.ranks.shape[1]:
        largest = np.maximum(largest, sample.ranks.max(axis=1))
    return largest


def _largest_token(table: PredicateTable, column: int) -> int:
    return int(table.low[table.column == column].max(initial=-1))
