"""Clauses as arrays in key space: the tests of many conjunctions by column, before coding and between segments.

A set of an ordered column's values is a union of *arcs*. Think of its keys on a circle, with null between
the highest and the lowest: `x <= 5`, `x is null`, `x != 5 or x is null` are one arc each, and a set of n arcs
is both an OR of n arcs and an AND of n arcs (the complements of its gaps). So every arc is one predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.filters.kernels.ranks import rank_steps, ranks_of
from vedette.language.normalform import Elementary
from vedette.schema.columns import Column
from vedette.schema.exact_numbers import EXACT, together, widened

UNBOUNDED, NULL = -1, -2  # ends of an arc that are not keys: the lowest or highest value, and null itself

Ints: TypeAlias = NDArray[np.int32]
KeyTable: TypeAlias = NDArray[Any] | pa.LargeBinaryArray  # of int64 or EXACT, or texts


@dataclass(frozen=True, slots=True)
class ArcRows:
    """Arcs of one column: conjunction `row[i]` requires a value from `start[i]` up to, not including, `end[i]`.

    Both are numbers of keys, or UNBOUNDED or NULL (which, at the end, is included). `keys` is sorted and distinct.
    For text number 2k is value k, and 2k + 1 the smallest text above it, so that equality needs one entry.
    """

    row: Ints
    start: Ints
    end: Ints
    keys: KeyTable


@dataclass(frozen=True, slots=True)
class MemberRows:
    """Sets of one column: conjunction `row[i]` requires a value in set `token[i]`, or (`negative`) not in it, or null.

    Set t holds the keys numbered `set_keys[set_start[t] : set_start[t + 1]]`.
    """

    row: Ints
    token: Ints
    negative: NDArray[np.bool_]
    set_start: NDArray[np.int64]
    set_keys: Ints
    keys: KeyTable


@dataclass(frozen=True, slots=True)
class ProbeRows:
    """Probes: for conjunction `row[i]`, some test of `tokens[token[i]]` must hold, or (`negative`) none may."""

    row: Ints
    token: Ints
    negative: NDArray[np.bool_]
    tokens: tuple[frozenset[Elementary], ...]


@dataclass(frozen=True, slots=True)
class Clauses:
    """`size` conjunctions and their tests by column; conjunctions without tests are always true."""

    size: int
    arcs: Mapping[Column, ArcRows] = field(default_factory=dict)
    members: Mapping[Column, MemberRows] = field(default_factory=dict)
    probes: Mapping[Column, ProbeRows] = field(default_factory=dict)

    @property
    def columns(self) -> list[Column]:
        """All columns that are read, in a fixed order."""
        named = {*self.arcs, *self.members, *self.probes}
        return sorted(named, key=lambda column: column.order)

    def select(self, keep: NDArray[np.bool_]) -> Clauses:
        """Only the conjunctions to keep, renumbered."""
        number = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        return Clauses(
            int(number[-1]) + 1 if len(number) else 0,
            {c: _keep_arcs(arcs, keep, number) for c, arcs in self.arcs.items()},
            {c: _keep_tokens(members, keep, number) for c, members in self.members.items()},
            {c: _keep_tokens(asked, keep, number) for c, asked in self.probes.items()},
        )


def _keep_arcs(arcs: ArcRows, keep: NDArray[np.bool_], number: Ints) -> ArcRows:
    chosen = keep[arcs.row]
    return ArcRows(number[arcs.row[chosen]], arcs.start[chosen], arcs.end[chosen], arcs.keys)


def _keep_tokens(entries: Any, keep: NDArray[np.bool_], number: Ints) -> Any:
    chosen = keep[entries.row]
    return replace(
        entries,
        row=number[entries.row[chosen]],
        token=entries.token[chosen],
        negative=entries.negative[chosen],
    )


# ---------------------------------------------------------------- from columns of constants


def intervals(
    row: NDArray[Any],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    *,
    bounded_below: NDArray[np.bool_] | None = None,
    bounded_above: NDArray[np.bool_] | None = None,
) -> ArcRows:
    """Half-open intervals [low, high) of keys, one for each row; unbounded where the masks say so."""
    below = np.ones(len(row), np.bool_) if bounded_below is None else bounded_below
    above = np.ones(len(row), np.bool_) if bounded_above is None else bounded_above
    keys = sorted_distinct(np.concatenate((low[below], high[above])))
    start = np.where(below, positions(keys, low), UNBOUNDED).astype(np.int32)
    end = np.where(above, positions(keys, high), UNBOUNDED).astype(np.int32)
    return ArcRows(np.asarray(row, np.int32), start, end, keys)


def equals(row: NDArray[Any], keys: NDArray[np.int64] | pa.Array) -> ArcRows:
    """Equality with one key (or one Arrow string) for each row."""
    if isinstance(keys, np.ndarray):
        return intervals(row, keys, keys + 1)
    encoded = keys if isinstance(keys, pa.DictionaryArray) else pc.dictionary_encode(keys)
    values = encoded.dictionary.cast(pa.large_binary())
    table = sorted_distinct(values)
    code = positions(table, values)[encoded.indices.to_numpy()] * 2
    return ArcRows(np.asarray(row, np.int32), code.astype(np.int32), (code + 1).astype(np.int32), table)


# ---------------------------------------------------------------- tables of keys


def sorted_distinct(keys: KeyTable) -> KeyTable:
    """The table with each key once, ascending."""
    if isinstance(keys, np.ndarray):
        ordered = np.sort(keys)
        return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered
    distinct: pa.LargeBinaryArray = pc.unique(keys)
    return distinct.take(pc.array_sort_indices(distinct))


def positions(table: KeyTable, keys: KeyTable) -> NDArray[np.int64]:
    """The position of each key in a sorted table; arbitrary for keys that are not in it."""
    if isinstance(table, np.ndarray):
        assert isinstance(keys, np.ndarray)
        if EXACT in (table.dtype, keys.dtype):
            return np.searchsorted(widened(table), widened(keys))
        if len(table) < 4096 or len(keys) < 4096:
            return np.searchsorted(table, keys)
        ranks = np.empty(len(keys), np.int32)
        ranks_of(rank_steps(table), keys, np.ones(len(keys), np.bool_), ranks)
        return ranks.astype(np.int64) - 1
    assert not isinstance(keys, np.ndarray)
    places: NDArray[np.int32] = pc.index_in(keys, value_set=table).fill_null(-1).to_numpy()
    return places.astype(np.int64)


def empty_table(column: Column) -> KeyTable:
    """An empty table of keys, of the type that the column has."""
    return pa.array([], pa.large_binary()) if is_text(column) else np.zeros(0, np.int64)


def is_text(column: Column) -> bool:
    """Whether keys of the column are bytes."""
    return column.type.kind.textual and not column.type.is_list


def union(tables: Sequence[KeyTable]) -> KeyTable:
    """The union of several tables: all keys, ascending, each once."""
    if len(tables) == 1:
        return tables[0]
    numbers = [table for table in tables if isinstance(table, np.ndarray)]
    texts = [table for table in tables if not isinstance(table, np.ndarray)]
    return sorted_distinct(together(numbers) if numbers else pa.concat_arrays(texts))


# ---------------------------------------------------------------- several into one


def concatenate(parts: Sequence[Clauses]) -> Clauses:
    """The conjunctions of all parts, in their order, over common tables."""
    first = np.concatenate(([0], np.cumsum([part.size for part in parts]))).astype(np.int32)
    numbered = list(zip(parts, first, strict=False))

    def columns(of: str) -> Iterable[Column]:
        return dict.fromkeys(column for part in parts for column in getattr(part, of))

    return Clauses(
        int(first[-1]),
        {c: join_arcs(c, [(p.arcs[c], n) for p, n in numbered if c in p.arcs]) for c in columns("arcs")},
        {c: _join_members(c, [(p.members[c], n) for p, n in numbered if c in p.members]) for c in columns("members")},
        {c: _join_asked([(p.probes[c], n) for p, n in numbered if c in p.probes]) for c in columns("probes")},
    )


def join_arcs(column: Column, parts: Sequence[tuple[ArcRows, np.int32 | int]]) -> ArcRows:
    """Arcs over one column; each part's rows are moved by its number."""
    table = union([arcs.keys for arcs, _ in parts])
    texts = is_text(column)
    starts, ends = [], []
    for arcs, _ in parts:
        place = positions(table, arcs.keys)
        starts.append(renumber(arcs.start, place, texts=texts))
        ends.append(renumber(arcs.end, place, texts=texts))
    rows = [arcs.row + np.int32(first) for arcs, first in parts]
    return ArcRows(np.concatenate(rows), np.concatenate(starts), np.concatenate(ends), table)


def renumber(codes: Ints, place: NDArray[np.int64], *, texts: bool) -> Ints:
    """The ends of arcs after key k has moved to `place[k]`."""
    if texts:
        place = np.repeat(2 * place, 2)
        place[1::2] += 1
    # UNBOUNDED and NULL are -1 and -2: as indexes, they pick themselves at the end.
    return np.append(place, (NULL, UNBOUNDED)).astype(np.int32)[codes]


def _join_members(column: Column, parts: Sequence[tuple[MemberRows, np.int32]]) -> MemberRows:
    table = union([members.keys for members, _ in parts])
    sets = np.concatenate(([0], np.cumsum([len(members.set_start) - 1 for members, _ in parts])))
    held = np.concatenate(([0], np.cumsum([members.set_start[-1] for members, _ in parts])))
    starts = [members.set_start[:-1] + held[i] for i, (members, _) in enumerate(parts)]
    return MemberRows(
        np.concatenate([members.row + first for members, first in parts]),
        np.concatenate([members.token + np.int32(sets[i]) for i, (members, _) in enumerate(parts)]),
        np.concatenate([members.negative for members, _ in parts]),
        np.concatenate([*starts, held[-1:]]),
        np.concatenate([positions(table, members.keys)[members.set_keys] for members, _ in parts]).astype(np.int32),
        table,
    )


def _join_asked(parts: Sequence[tuple[ProbeRows, np.int32]]) -> ProbeRows:
    number: dict[frozenset[Elementary], int] = {}
    tokens = []
    for asked, _ in parts:
        place = np.array([number.setdefault(token, len(number)) for token in asked.tokens], np.int32)
        tokens.append(place[asked.token] if len(place) else asked.token)
    return ProbeRows(
        np.concatenate([asked.row + first for asked, first in parts]),
        np.concatenate(tokens),
        np.concatenate([asked.negative for asked, _ in parts]),
        tuple(number),
    )
