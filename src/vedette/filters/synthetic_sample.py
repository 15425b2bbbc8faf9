"""Makes synthetic events in code space, for laying out an index when no real ones are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.filters.codebook import Codebook
from vedette.kernels.bundles import MISSING, CodedBatch, PredicateTable

SAMPLE = 4096
_PRESENT = 0.9
_SETS, _TOKENS_PER_SET = 256, 4


def made_up_events(codebook: Codebook, table: PredicateTable, events: int = SAMPLE) -> CodedBatch:
    """Make events that are distributed like the predicates: values that many subscribe to are assumed to be frequent.

    Every rank is drawn from the range of a random predicate on its column; what the predicates leave open is
    uniform.
    """
    random = np.random.default_rng(20)
    ranks = np.empty((len(codebook.ranks), events), np.int32)
    order = np.argsort(table.column, kind="stable")
    bounds = np.searchsorted(table.column[order], np.arange(len(codebook.ranks) + 1))
    for number, (row, column) in enumerate(zip(ranks, codebook.ranks, strict=True)):
        places = order[bounds[number] : bounds[number + 1]]
        row[:] = _ranks(places, table, column.highest, random, events)
        row[random.random(events) >= _PRESENT] = MISSING
    return _with_tokens(codebook, ranks, random)


def _ranks(
    places: NDArray[np.int64], table: PredicateTable, highest: int, random: np.random.Generator, events: int
) -> NDArray[np.int64]:
    anywhere = random.integers(0, highest + 1, events)
    if not len(places):
        return anywhere
    chosen = random.choice(places, events)
    low = table.low[chosen].astype(np.int64)
    high = low + table.width[chosen]
    wraps = (low < 0) | (high > highest)
    inside = random.integers(np.maximum(low, 0), np.maximum(np.minimum(high, highest), np.maximum(low, 0)) + 1)
    return np.where(wraps, anywhere, inside)


def _with_tokens(codebook: Codebook, ranks: NDArray[np.int32], random: np.random.Generator) -> CodedBatch:
    start, tokens = codebook.member_sets
    events = ranks.shape[1]
    sets = np.full((len(codebook.members) + len(codebook.probes), events), -1, np.int32)
    for number, member in enumerate(codebook.members):
        found = ranks[member.rank]
        sets[number] = np.where(found == MISSING, -1, found + np.int32(codebook.member_first[number]))
    for number, probe in enumerate(codebook.probes, len(codebook.members)):
        own = [np.unique(random.integers(0, probe.table.size, _TOKENS_PER_SET)).astype(np.int32) for _ in range(_SETS)]
        sets[number] = random.integers(-1, _SETS, events)
        sets[number][sets[number] >= 0] += len(start) - 1
        ends = len(tokens) + np.cumsum([len(part) for part in own])
        start, tokens = np.concatenate((start, ends)), np.concatenate((tokens, *own))
    return CodedBatch(ranks, sets, start, tokens)
