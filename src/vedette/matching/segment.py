"""A compiled set of subscriptions that never changes: codebook, predicates, index, records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import CodedBatch, PredicateTable
from vedette.kernels.rows import NO_VETOES, Rows, rows_of
from vedette.matching.clauses import Clauses, Ints, concatenate
from vedette.matching.codebook import Codebook, Prepared
from vedette.matching.coding import decode_clauses, encode_clauses
from vedette.matching.index import Index
from vedette.matching.indexes import DEFAULT, index_class
from vedette.matching.made_up import SAMPLE, made_up_events
from vedette.matching.rank_columns import TextRanks
from vedette.matching.records import Records
from vedette.schema.columns import Column, ColumnData

EVERYONE = np.zeros(0, np.uint64)  # the `alive` of a segment from which nothing was removed


@dataclass(frozen=True)
class Drawn:
    """Clauses and whose they are: all that a segment is built from, without its codes and its index.

    Conjunction c belongs to subscription `owner[c]`, an ordinal of `records`. `repeats` are the subscriptions
    of which several conjunctions may hold for the same event. `vetoes` are the conjunctions that must not hold; empty
    where there are none.
    """

    clauses: Clauses
    owner: Ints
    repeats: NDArray[np.bool_]
    records: Records
    vetoes: NDArray[np.bool_] = field(default_factory=lambda: NO_VETOES)

    def keep(self, chosen: NDArray[np.bool_]) -> Drawn:
        """Only the chosen subscriptions, renumbered."""
        if chosen.all():
            return self
        conjunctions = chosen[self.owner]
        number = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        return Drawn(
            self.clauses.select(conjunctions),
            number[self.owner[conjunctions]],
            self.repeats[chosen],
            self.records.keep(chosen),
            _none_if_none(self.vetoes[conjunctions]) if len(self.vetoes) else NO_VETOES,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Drawn]) -> Drawn:
        """The subscriptions of all parts, in their order."""
        first = np.concatenate(([0], np.cumsum([len(part.records) for part in parts]))).astype(np.int32)
        return cls(
            concatenate([part.clauses for part in parts]),
            np.concatenate([part.owner + number for part, number in zip(parts, first, strict=False)]),
            np.concatenate([part.repeats for part in parts]),
            Records.concatenate(part.records for part in parts),
            _none_if_none(np.concatenate([part.vetoes if len(part.vetoes) else part.owner < 0 for part in parts])),
        )


def _none_if_none(vetoes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return vetoes if vetoes.any() else NO_VETOES


@dataclass(frozen=True)
class Segment:
    """Immutable; any number of threads may match at the same time."""

    codebook: Codebook
    table: PredicateTable
    index: Index
    owner: Ints  # empty where conjunction c is subscription c
    repeats: NDArray[np.bool_]  # empty where no subscription repeats
    records: Records
    vetoes: NDArray[np.bool_] = field(default_factory=lambda: NO_VETOES)  # empty where no conjunction is one

    @classmethod
    def build(
        cls,
        drawn: Drawn,
        *,
        index: str = DEFAULT,
        sample: Mapping[Column, ColumnData] | None = None,
    ) -> Segment:
        """Code the clauses and index them; `sample` are some events' columns, if any are known."""
        codebook, table = encode_clauses(drawn.clauses)
        kind = index_class(index)
        if sample is None:
            events = made_up_events(codebook, table, 0 if index == "scan" else SAMPLE)
        else:
            events = _sampled(codebook, sample)
        built = kind.build(table, len(codebook.ranks), events)
        one_each = len(drawn.owner) == len(drawn.records) and bool(np.all(np.diff(drawn.owner) == 1))
        one_each = one_each and not len(drawn.vetoes)
        return cls(
            codebook,
            table,
            built,
            np.zeros(0, np.int32) if one_each else drawn.owner,
            drawn.repeats if drawn.repeats.any() else np.zeros(0, np.bool_),
            drawn.records,
            drawn.vetoes,
        )

    def __len__(self) -> int:
        return len(self.records)

    @property
    def conjunctions(self) -> int:
        """How many conjunctions the subscriptions are made of, vetoes among them."""
        return len(self.table.start) - 1

    @property
    def nbytes(self) -> int:
        """The bytes of constants, predicates and index; ids and texts are beside them."""
        arrays: list[NDArray[Any]] = [*self.table, self.owner, self.repeats, self.vetoes]
        arrays += self.index.arrays().values()
        return self.codebook.nbytes + sum(array.nbytes for array in arrays)

    def digest(self) -> bytes:
        """A hash of the predicates and their constants, whatever the index."""
        found = hashlib.sha256()
        arrays: list[NDArray[Any]] = [*self.table, self.owner, *([self.vetoes] if len(self.vetoes) else [])]
        for ranks in self.codebook.ranks:
            found.update(repr(ranks.column).encode())
            if isinstance(ranks, TextRanks):
                found.update(repr(ranks.values.to_pylist()).encode())
                arrays.append(np.zeros(0) if ranks.codes is None else ranks.codes)
            else:
                arrays.append(ranks.steps.breakpoints)
        for member in self.codebook.members:
            arrays += [member.start, member.tokens]
        for probe in self.codebook.probes:
            found.update(repr(probe.column).encode())
            arrays += probe.table.arrays().values()
        for array in arrays:
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).data)
        return found.digest()

    def drawn(self) -> Drawn:
        """What the segment was built from."""
        owner = self.owner if len(self.owner) else np.arange(self.conjunctions, dtype=np.int32)
        repeats = self.repeats if len(self.repeats) else np.zeros(len(self), np.bool_)
        return Drawn(decode_clauses(self.codebook, self.table), owner, repeats, self.records, self.vetoes)

    def warm_up(self) -> None:
        """Work out now what the first events, and the first removal, would otherwise have to wait for."""
        self.codebook.warm_up()
        len(self.records.ordinals)

    def prepare(self, data: Mapping[Column, ColumnData], size: int) -> Prepared:
        """A batch, with all that is done once per distinct value."""
        return self.codebook.prepare(data, size)

    def match(
        self, prepared: Prepared, start: int, stop: int, alive: NDArray[np.uint64] = EVERYONE, *, ordered: bool = False
    ) -> Rows:
        """The subscriptions of events start .. stop."""
        pairs = self.index.match(prepared.batch(start, stop))
        return rows_of(
            pairs,
            stop - start,
            len(self),
            owner=self.owner,
            alive=alive,
            repeats=len(self.repeats) > 0,
            ordered=ordered,
            vetoes=self.vetoes,
        )

    def match_one(self, values: Sequence[Any], alive: NDArray[np.uint64] = EVERYONE) -> list[int]:
        """The subscriptions of one event (the values of the codebook's columns), ascending."""
        found = self.index.match_one(self.codebook.code_one(values))
        if len(self.vetoes):
            found = _without_refused(self.owner[found], self.vetoes[found])
        elif len(self.owner):
            found = self.owner[found]
        if len(self.repeats):
            found = np.unique(found)
        elif len(found) > 1:
            found = np.sort(found)
        if len(alive):
            found = found[(alive[found >> 6] >> (found & 63).astype(np.uint64)) & np.uint64(1) == 1]
        ordinals: list[int] = found.tolist()
        return ordinals


def _without_refused(found: Ints, refused: NDArray[np.bool_]) -> Ints:
    """The subscriptions without those that a veto refused: that comes last then among those of its subscription."""
    if not refused.any():
        return found
    marked = np.sort(found * 2 + refused)
    subscription = marked >> 1
    last = np.append(subscription[1:] != subscription[:-1], True)
    kept: Ints = subscription[last & (marked & 1 == 0)]
    return kept


def _sampled(codebook: Codebook, sample: Mapping[Column, ColumnData]) -> CodedBatch:
    size = min(_size(next(iter(sample.values()))), SAMPLE) if sample else 0
    return codebook.prepare(sample, size).batch(0, size)


def _size(data: ColumnData) -> int:
    """How many events a column has values of."""
    for name in ("present", "codes", "x"):
        if hasattr(data, name):
            return len(getattr(data, name))
    raise TypeError(f"not a column: {data!r}")
