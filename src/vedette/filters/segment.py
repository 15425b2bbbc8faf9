"""Segments: immutable compiled sets of filters, with codebook, predicates, index and subscription table; drafts."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.clause_builder import ClauseBuilder
from vedette.filters.clauses import Clauses, Ints, concatenate
from vedette.filters.codebook import BatchCodes, Codebook
from vedette.filters.coding import decode_clauses, encode_clauses
from vedette.filters.index import DEFAULT, Index, index_class
from vedette.filters.kernels.match_rows import NO_VETOES, MatchRows, rows_of
from vedette.filters.origins import Origin
from vedette.filters.rank_columns import TextRanks
from vedette.filters.subscription_table import SubscriptionTable
from vedette.filters.synthetic_sample import SAMPLE, made_up_events
from vedette.kernels.bundles import CodedBatch, PredicateTable
from vedette.language.normalform import NormalForm
from vedette.schema.columns import Column, ColumnData

EVERYONE = np.zeros(0, np.uint64)  # the `alive` of a segment from which nothing was removed


@dataclass(frozen=True)
class SegmentContent:
    """The clauses of a segment and their subscriptions, without codes and index: everything it is built from.

    Conjunction c belongs to subscription `owner[c]`, an ordinal of `records`. `repeats` are the subscriptions
    of which several conjunctions may hold for the same event. `vetoes` are the conjunctions that must not hold; empty
    where there are none.
    """

    clauses: Clauses
    owner: Ints
    repeats: NDArray[np.bool_]
    records: SubscriptionTable
    vetoes: NDArray[np.bool_] = field(default_factory=lambda: NO_VETOES)

    def keep(self, chosen: NDArray[np.bool_]) -> SegmentContent:
        """Only the chosen subscriptions, renumbered."""
        if chosen.all():
            return self
        conjunctions = chosen[self.owner]
        number = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        return SegmentContent(
            self.clauses.select(conjunctions),
            number[self.owner[conjunctions]],
            self.repeats[chosen],
            self.records.keep(chosen),
            _none_if_none(self.vetoes[conjunctions]) if len(self.vetoes) else NO_VETOES,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[SegmentContent]) -> SegmentContent:
        """The subscriptions of all parts, in their order."""
        first = np.concatenate(([0], np.cumsum([len(part.records) for part in parts]))).astype(np.int32)
        return cls(
            concatenate([part.clauses for part in parts]),
            np.concatenate([part.owner + number for part, number in zip(parts, first, strict=False)]),
            np.concatenate([part.repeats for part in parts]),
            SubscriptionTable.concatenate(part.records for part in parts),
            _none_if_none(np.concatenate([part.vetoes if len(part.vetoes) else part.owner < 0 for part in parts])),
        )


def _none_if_none(vetoes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return vetoes if vetoes.any() else NO_VETOES


@dataclass(frozen=True)
class Segment:
    """An immutable compiled set of filters; any number of threads may match at the same time."""

    codebook: Codebook
    table: PredicateTable
    index: Index
    owner: Ints  # empty where conjunction c is subscription c
    repeats: NDArray[np.bool_]  # empty where no subscription repeats
    records: SubscriptionTable
    vetoes: NDArray[np.bool_] = field(default_factory=lambda: NO_VETOES)  # empty where no conjunction is one

    @classmethod
    def build(
        cls,
        drawn: SegmentContent,
        *,
        index: str = DEFAULT,
        sample: Mapping[Column, ColumnData] | None = None,
    ) -> Segment:
        """Code the clauses and index them; `sample` has columns of some events, if any are known."""
        codebook, table = encode_clauses(drawn.clauses)
        kind = index_class(index)
        if sample is None:
            events = made_up_events(codebook, table, SAMPLE if getattr(kind, "uses_sample", True) else 0)
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
        """The number of conjunctions, including vetoes."""
        return len(self.table.start) - 1

    @property
    def nbytes(self) -> int:
        """The size of constants, predicates and index in bytes; ids and texts are not counted."""
        arrays: list[NDArray[Any]] = [*self.table, self.owner, self.repeats, self.vetoes]
        arrays += self.index.arrays().values()
        return self.codebook.nbytes + sum(array.nbytes for array in arrays)

    def digest(self) -> bytes:
        """A hash of the predicates and their constants, independent of the index."""
        found = hashlib.sha256()
        arrays: list[NDArray[Any]] = [*self.table, self.owner, *([self.vetoes] if len(self.vetoes) else [])]
        for ranks in self.codebook.ranks:
            found.update(repr(ranks.column).encode())
            if isinstance(ranks, TextRanks):
                found.update(repr(ranks.values.to_pylist()).encode())
                arrays.append(np.zeros(0) if ranks.codes is None else ranks.codes)
            else:
                arrays += [ranks.steps.breakpoints, *([] if ranks.finer is None else [ranks.finer])]
        for member in self.codebook.members:
            arrays += [member.start, member.tokens]
        for probe in self.codebook.probes:
            found.update(repr(probe.column).encode())
            arrays += probe.table.arrays().values()
        for each in arrays:
            found.update(f"{each.dtype}{each.shape}".encode())
            found.update(np.ascontiguousarray(each).data)
        return found.digest()

    def drawn(self) -> SegmentContent:
        """The content that the segment was built from."""
        owner = self.owner if len(self.owner) else np.arange(self.conjunctions, dtype=np.int32)
        repeats = self.repeats if len(self.repeats) else np.zeros(len(self), np.bool_)
        return SegmentContent(decode_clauses(self.codebook, self.table), owner, repeats, self.records, self.vetoes)

    def warm_up(self) -> None:
        """Compute everything lazy now, so that the first events and the first removal do not wait for it."""
        self.codebook.warm_up()
        len(self.records.ordinals)

    def prepare(self, data: Mapping[Column, ColumnData], size: int) -> BatchCodes:
        """Code the distinct values of a batch: all work that is done once per distinct value."""
        return self.codebook.prepare(data, size)

    def match(
        self,
        prepared: BatchCodes,
        start: int,
        stop: int,
        alive: NDArray[np.uint64] = EVERYONE,
        *,
        ordered: bool = False,
    ) -> MatchRows:
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
    """The subscriptions without vetoed ones; in `marked`, a veto is sorted behind its subscription's conjunctions."""
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
    """The number of events in a column."""
    for name in ("present", "codes", "x"):
        if hasattr(data, name):
            return len(getattr(data, name))
    raise TypeError(f"not a column: {data!r}")


class DraftEntry(NamedTuple):
    """A subscription that was read and normalised, ready to be added to a draft."""

    id: str
    when: str
    form: NormalForm
    subscriber: str | None = None
    origin: Origin | None = None


class SegmentDraft:
    """Filters for a segment to be built, as arrays; append-only, so that ordinals stay."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.subscribers: list[str | None] = []
        self.origins: dict[int, Origin] = {}  # of those that have one
        self._repeats = bytearray()
        self._owner = array("i")
        self._vetoes: list[tuple[int, int]] = []  # from which conjunction up to which, of those that have some
        self._builder = ClauseBuilder()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tests(self) -> int:
        """Number of tests of all of them: a filter may have a few, or many thousands."""
        return self._builder.tests

    def append(
        self, id_: str, when: str, form: NormalForm, subscriber: str | None, origin: Origin | None = None
    ) -> int:
        """Add a subscription; returns its ordinal."""
        ordinal = len(self.ids)
        first = self._builder.size
        repeats = self._builder.add(form)
        if form.vetoes:
            begin = self._builder.size
            self._builder.add_vetoes(form)
            self._vetoes.append((begin, self._builder.size))
        self._owner.extend([ordinal] * (self._builder.size - first))
        self.ids.append(id_)
        self.texts.append(when)
        self.subscribers.append(subscriber)
        if origin is not None:
            self.origins[ordinal] = origin
        self._repeats.append(repeats)
        return ordinal

    def drawn(self) -> SegmentContent:
        """The content added so far."""
        vetoes = np.zeros(self._builder.size if self._vetoes else 0, np.bool_)
        for begin, end in self._vetoes:
            vetoes[begin:end] = True
        return SegmentContent(
            self._builder.clauses(),
            np.array(self._owner, np.int32),
            np.frombuffer(bytes(self._repeats), np.bool_),
            SubscriptionTable.of(self.ids, self.texts, self.subscribers, self.origins),
            vetoes,
        )
