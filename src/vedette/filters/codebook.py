"""The codebook of one segment: the breakpoints and tokens of every column, and the coding of events with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.ranks import ranks_of_one
from vedette.filters.rank_columns import KeyRanks, RankColumn, RankSource, TextRanks
from vedette.kernels.bundles import MISSING, CodedBatch
from vedette.kernels.codes import taken
from vedette.lazy import once
from vedette.schema.columns import Column, ColumnData, missing

if TYPE_CHECKING:
    from vedette.filters.probes.probe_table import ProbeTable


@dataclass(frozen=True)
class MemberColumn:
    """A token column over a rank column: rank r has the tokens `tokens[start[r] : start[r + 1]]`."""

    rank: int  # the number of the rank column
    start: NDArray[np.int64]
    tokens: NDArray[np.int32]


@dataclass(frozen=True)
class ProbeColumn:
    """A token column whose tokens are tests, evaluated on distinct values."""

    column: Column
    table: ProbeTable


@dataclass(frozen=True)
class Codebook:
    """Rank columns (those with keys first), then token columns: members first, then probes."""

    ranks: tuple[RankColumn, ...]
    members: tuple[MemberColumn, ...] = ()
    probes: tuple[ProbeColumn, ...] = ()

    @once
    def columns(self) -> tuple[Column, ...]:
        """The columns that have to be read from events."""
        read = [ranks.column for ranks in self.ranks] + [probe.column for probe in self.probes]
        return tuple(dict.fromkeys(read))

    @property
    def nbytes(self) -> int:
        """The size of all constants, in bytes."""
        members = sum(member.start.nbytes + member.tokens.nbytes for member in self.members)
        probes = sum(array.nbytes for probe in self.probes for array in probe.table.arrays().values())
        return members + probes + sum(ranks.nbytes for ranks in self.ranks)

    def prepare(self, data: Mapping[Column, ColumnData], size: int) -> BatchCodes:
        """Code the distinct values of a batch: all work that is done once per distinct value."""
        return BatchCodes(self, data, size)

    def code(self, data: Mapping[Column, ColumnData], size: int) -> CodedBatch:
        """A whole batch in code space."""
        return self.prepare(data, size).batch(0, size)

    @once
    def member_sets(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The sets of all member columns, one after another."""
        starts, tokens, held = [np.zeros(1, np.int64)], [], 0
        for member in self.members:
            starts.append(member.start[1:] + held)
            tokens.append(member.tokens)
            held += len(member.tokens)
        return np.concatenate(starts), np.concatenate([np.zeros(0, np.int32), *tokens])

    @once
    def member_first(self) -> tuple[int, ...]:
        """The number of each member column's first set."""
        sizes = [len(member.start) - 1 for member in self.members]
        return tuple(int(n) for n in np.concatenate(([0], np.cumsum(sizes))))

    def warm_up(self) -> None:
        """Read the string constants now, so that the first events do not wait for it."""
        for ranks in self.ranks:
            if isinstance(ranks, TextRanks):
                ranks.rank_one(b"")

    @once
    def _one(self) -> _SingleEventCoder:
        return _SingleEventCoder(self)

    def code_one(self, values: Sequence[Any]) -> CodedBatch:
        """Code one event, given as the values of `columns`; valid until the same thread codes the next one."""
        return self._one.code(values)


class BatchCodes:
    """A batch of events whose distinct values are coded; its slices may be coded by any thread."""

    def __init__(self, codebook: Codebook, data: Mapping[Column, ColumnData], size: int) -> None:
        self.size = size
        self._codebook = codebook
        self._sources = [RankSource(ranks, data[ranks.column]) for ranks in codebook.ranks]
        start, tokens = codebook.member_sets
        self._probe_sets: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []  # sets by code, codes of events
        if codebook.probes:
            starts, all_tokens = [start], [tokens]
            sets, held = len(start) - 1, len(tokens)
            for probe in codebook.probes:
                found = probe.table.evaluate(data[probe.column])
                by_code = np.where(found.by_code < 0, np.int32(-1), found.by_code + np.int32(sets))
                self._probe_sets.append((by_code, found.codes))
                starts.append(found.start[1:] + held)
                all_tokens.append(found.tokens)
                sets, held = sets + len(found.start) - 1, held + len(found.tokens)
            start, tokens = np.concatenate(starts), np.concatenate(all_tokens)
        self._set_start, self._set_tokens = start, tokens

    def batch(self, start: int, stop: int) -> CodedBatch:
        """Events start .. stop in code space."""
        ranks = np.empty((len(self._sources), stop - start), np.int32)
        for row, source in zip(ranks, self._sources, strict=True):
            source.fill(start, stop, row)
        members = self._codebook.members
        sets = np.empty((len(members) + len(self._probe_sets), stop - start), np.int32)
        for number, member in enumerate(members):
            found = ranks[member.rank]
            sets[number] = np.where(found == MISSING, -1, found + np.int32(self._codebook.member_first[number]))
        for number, (by_code, codes) in enumerate(self._probe_sets, len(members)):
            taken(by_code, codes[start:stop], sets[number])
        return CodedBatch(ranks, sets, self._set_start, self._set_tokens)


class _CodingBuffers(NamedTuple):
    """The buffers into which one thread codes."""

    batch: CodedBatch
    ranks: memoryview
    keys: memoryview
    key_array: NDArray[np.int64]
    key_ranks: NDArray[np.int32]


class _SingleEventCoder:
    """Codes single events into buffers that each thread keeps.

    The values of an event come in the order of the rank columns: those with keys first, which one kernel ranks.
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook = codebook
        number = {column: i for i, column in enumerate(codebook.columns)}
        keyed = [ranks.steps.breakpoints for ranks in codebook.ranks if isinstance(ranks, KeyRanks) and ranks.has_keys]
        self._keyed = len(keyed)
        self._first = np.cumsum([0, *(len(points) for points in keyed)], dtype=np.int64)
        self._breakpoints = np.concatenate([np.zeros(0, np.int64), *keyed])
        self._others = [(i, _ranker(ranks)) for i, ranks in enumerate(codebook.ranks) if i >= self._keyed]
        self._probed = [(number[probe.column], probe.table, _of_missing(probe)) for probe in codebook.probes]
        self._missing = np.full(len(codebook.ranks), MISSING, np.int32).data
        self._local = threading.local()

    def code(self, values: Sequence[Any]) -> CodedBatch:
        try:
            kept: _CodingBuffers = self._local.kept
        except AttributeError:
            kept = self._local.kept = self._new()
        batch, ranks, keys, key_array, key_ranks = kept
        ranks[:] = self._missing
        try:
            for i, value in enumerate(values[: self._keyed]):
                if value is not None:
                    keys[i] = value
                    ranks[i] = 0
        except TypeError:  # a key between two int64 keys: only the one below it counts here
            for i, value in enumerate(values[: self._keyed]):
                if value is not None:
                    keys[i] = value.numerator // value.denominator
                    ranks[i] = 0
        ranks_of_one(self._breakpoints, self._first, key_array, key_ranks)
        for i, rank in self._others:
            value = values[i]
            if value is not None:
                ranks[i] = rank(value)
        return self._with_sets(batch, values) if len(batch.sets) else batch

    def _new(self) -> _CodingBuffers:
        book = self._codebook
        ranks = np.zeros((len(book.ranks), 1), np.int32)
        sets = np.zeros((len(book.members) + len(book.probes), 1), np.int32)
        batch = CodedBatch(ranks, sets, np.zeros(1, np.int64), np.zeros(0, np.int32))
        keys, flat = np.zeros(self._keyed, np.int64), ranks.reshape(-1)
        return _CodingBuffers(batch, flat.data, keys.data, keys, flat[: self._keyed])

    def _with_sets(self, batch: CodedBatch, values: Sequence[Any]) -> CodedBatch:
        """The batch of one event with its token sets gathered into arrays of their own."""
        found: list[NDArray[np.int32]] = []
        for member in self._codebook.members:
            rank = int(batch.ranks[member.rank, 0])
            begin, end = (0, 0) if rank == MISSING else (int(member.start[rank]), int(member.start[rank + 1]))
            found.append(member.tokens[begin:end])
        for place, table, of_missing in self._probed:
            value = values[place]
            found.append(of_missing if value is None else table.evaluate_one(value))
        start = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(tokens) for tokens in found], out=start[1:])
        batch.sets[:, 0] = np.arange(len(found))
        return batch._replace(set_start=start, set_tokens=np.concatenate(found))


def _of_missing(probe: ProbeColumn) -> NDArray[np.int32]:
    """The tokens of an event without a value (a missing list has tokens for what is not false)."""
    if not probe.column.type.is_list:
        return np.zeros(0, np.int32)
    return probe.table.evaluate_one(missing(probe.column.type, 1))


def _ranker(ranks: RankColumn) -> Callable[[Any], int]:
    """A function that ranks one value of the column, which is not missing."""
    if isinstance(ranks, TextRanks) or ranks.finer is not None:
        return ranks.rank_one
    return _present


def _present(value: object) -> int:
    """The rank of any value in a column where only presence counts."""
    return 0
