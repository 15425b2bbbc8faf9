"""Encodes clauses as a codebook and predicates, and decodes them; used to build and merge segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.filters.clauses import (
    NULL,
    UNBOUNDED,
    ArcRows,
    Clauses,
    Ints,
    KeyTable,
    MemberRows,
    ProbeRows,
    empty_table,
    is_text,
    positions,
    renumber,
    union,
)
from vedette.filters.codebook import Codebook, MemberColumn, ProbeColumn
from vedette.filters.kernels.predicate_rows import ColumnPredicates, table_of
from vedette.filters.rank_columns import KeyRanks, RankColumn, TextRanks
from vedette.kernels.bundles import PredicateTable
from vedette.schema.columns import Column
from vedette.schema.exact_numbers import EXACT

_NONE = np.zeros(0, np.int32)
_GREATEST_KEY = np.int64(2**63 - 1)

# ---------------------------------------------------------------- clauses -> code


def encode_clauses(clauses: Clauses) -> tuple[Codebook, PredicateTable]:
    """Make breakpoints and tokens from all constants, and code every test as a predicate over them."""
    ranks: list[RankColumn] = []
    rank_parts: list[ColumnPredicates] = []
    members: list[MemberColumn] = []
    probes: list[ProbeColumn] = []
    token_parts: list[ColumnPredicates] = []
    used = {column: _used(clauses, column) for column in clauses.columns if _is_ranked(clauses, column)}
    for column in sorted(used, key=lambda column: _no_keys(column, used[column])):
        arcs, listed = used[column]
        coded = _rank_texts if is_text(column) else _rank_keys
        ranked, part, member_ranks = coded(column, arcs, listed)
        if len(listed.row):
            members.append(_member_column(len(ranks), ranked.highest, listed, member_ranks))
            token_parts.append(ColumnPredicates(listed.row, listed.token, listed.negative.astype(np.uint32)))
        ranks.append(ranked)
        rank_parts.append(part)
    for column in clauses.columns:
        if column in clauses.probes and len(clauses.probes[column].row):
            probe, part = _probe_column(column, clauses.probes[column])
            probes.append(probe)
            token_parts.append(part)
    table = table_of(clauses.size, [*rank_parts, *token_parts])
    return Codebook(tuple(ranks), tuple(members), tuple(probes)), table


def _is_ranked(clauses: Clauses, column: Column) -> bool:
    return column in clauses.arcs or column in clauses.members


def _used(clauses: Clauses, column: Column) -> tuple[ArcRows, MemberRows]:
    arcs = clauses.arcs.get(column) or ArcRows(_NONE, _NONE, _NONE, empty_table(column))
    listed = clauses.members.get(column) or _no_members(column)
    return _used_arcs(arcs, is_text(column)), _used_members(listed)


def _no_keys(column: Column, used: tuple[ArcRows, MemberRows]) -> bool:
    """A sort key that puts columns with 64-bit keys first."""
    if not column.type.kind.keyed or column.type.is_list:
        return True
    return any(isinstance(each.keys, np.ndarray) and len(each.keys) and each.keys.dtype == EXACT for each in used)


def _rank_keys(
    column: Column, arcs: ArcRows, listed: MemberRows
) -> tuple[RankColumn, ColumnPredicates, NDArray[np.int64]]:
    """Rank int64 keys: every end of an arc is a breakpoint, and so are both ends of a listed key."""
    assert isinstance(listed.keys, np.ndarray)
    after = _after(listed.keys)
    breakpoints = union([arcs.keys, listed.keys, after]) if len(listed.keys) else arcs.keys
    assert isinstance(breakpoints, np.ndarray)
    part = _predicates(arcs, positions(breakpoints, arcs.keys), len(breakpoints))
    return KeyRanks.of(column, breakpoints), part, positions(breakpoints, listed.keys) + 1


def _after(keys: NDArray[Any]) -> NDArray[Any]:
    """The successor of each listed key."""
    if keys.dtype != EXACT:
        return keys[keys < _GREATEST_KEY] + 1
    after = keys.copy()
    after["rest"] += 1
    return after


def _rank_texts(
    column: Column, arcs: ArcRows, listed: MemberRows
) -> tuple[RankColumn, ColumnPredicates, NDArray[np.int64]]:
    """Rank texts: by value if all tests are equality, else by the breakpoints that are needed."""
    values = union([arcs.keys, listed.keys]) if len(listed.keys) else arcs.keys
    assert isinstance(values, pa.LargeBinaryArray)
    arcs = replace(
        arcs,
        start=renumber(arcs.start, positions(values, arcs.keys), texts=True),
        end=renumber(arcs.end, positions(values, arcs.keys), texts=True),
    )
    own = positions(values, listed.keys)
    if _only_equality(arcs):
        place = np.repeat(np.arange(len(values)), 2)
        place[1::2] += 1
        return TextRanks(column, values, None), _predicates(arcs, place, len(values)), own + 1
    used = np.zeros(2 * len(values), np.bool_)
    for codes in (arcs.start[arcs.start >= 0], arcs.end[arcs.end >= 0], 2 * own, 2 * own + 1):
        used[codes] = True
    place = np.cumsum(used) - 1
    codes = np.flatnonzero(used).astype(np.int32)
    return TextRanks(column, values, codes), _predicates(arcs, place, len(codes)), place[2 * own] + 1


def _only_equality(arcs: ArcRows) -> bool:
    """Whether every arc is one value, all but one value, null, or not null."""
    bounded = (arcs.start >= 0) & (arcs.end >= 0)
    equality = bounded & ((arcs.start ^ 1) == arcs.end)
    return bool(np.all(equality | ((arcs.start < 0) & (arcs.start == arcs.end))))


def _predicates(arcs: ArcRows, place: NDArray[np.int64], highest: int) -> ColumnPredicates:
    """The arcs as ranks, where key k is breakpoint number `place[k]`."""
    # UNBOUNDED and NULL are -1 and -2: as indexes, they pick what is appended here.
    lows, ends = np.append(place + 1, (-1, 0)), np.append(place, (-1, highest))
    low = lows[arcs.start]
    width = (ends[arcs.end] - low) & 0xFFFFFFFF
    return ColumnPredicates(arcs.row, low.astype(np.int32), width.astype(np.uint32))


def _member_column(rank: int, highest: int, listed: MemberRows, member_ranks: NDArray[np.int64]) -> MemberColumn:
    """Invert sets of keys: the sets that each rank is in."""
    ranks = member_ranks[listed.set_keys]
    tokens = np.repeat(np.arange(len(listed.set_start) - 1, dtype=np.int32), np.diff(listed.set_start))
    order = np.lexsort((tokens, ranks))
    start = np.zeros(highest + 2, np.int64)
    np.cumsum(np.bincount(ranks, minlength=highest + 1), out=start[1:])
    return MemberColumn(rank, start, tokens[order])


def _probe_column(column: Column, asked: ProbeRows) -> tuple[ProbeColumn, ColumnPredicates]:
    """The tests that are still used, as tokens; "is false" of a list is a token too."""
    from vedette.filters.probes.probe_table import ProbeTable  # brings regular regex_tests and geometry with it

    used, token = np.unique(asked.token, return_inverse=True)
    negated = frozenset(token[asked.negative].tolist())
    table = ProbeTable.build(column, [asked.tokens[i] for i in used], negated=negated, by_absence=True)
    # That a token is false is expressed by another token, by the absence of another one, or by its own absence.
    false = [
        (i, True) if (t := table.false_token(i)) is None else (t, table.false_by_absence(i)) for i in range(len(used))
    ]
    said_by, by_absence = np.array([t for t, _ in false], np.int32), np.array([absent for _, absent in false], np.bool_)
    low = np.where(asked.negative, said_by[token], token).astype(np.int32)
    width = (asked.negative & by_absence[token]).astype(np.uint32)
    return ProbeColumn(column, table), ColumnPredicates(asked.row, low, width)


def _used_arcs(arcs: ArcRows, texts: bool) -> ArcRows:
    """The arcs with only the keys that they still use."""
    used = np.zeros(len(arcs.keys), np.bool_)
    for codes in (arcs.start, arcs.end):
        named = codes[codes >= 0]
        used[named >> 1 if texts else named] = True
    if used.all():
        return arcs
    place = np.cumsum(used) - 1
    start, end = (renumber(codes, place, texts=texts) for codes in (arcs.start, arcs.end))
    keys = arcs.keys[used] if isinstance(arcs.keys, np.ndarray) else arcs.keys.filter(pa.array(used))
    return ArcRows(arcs.row, start, end, keys)


def _used_members(members: MemberRows) -> MemberRows:
    """The members with only the sets that are still used, and their keys."""
    used, token = np.unique(members.token, return_inverse=True)
    lengths = np.diff(members.set_start)
    kept = np.zeros(len(lengths), np.bool_)
    kept[used] = True
    keys_used, set_keys = np.unique(members.set_keys[np.repeat(kept, lengths)], return_inverse=True)
    keys = members.keys[keys_used] if isinstance(members.keys, np.ndarray) else members.keys.take(pa.array(keys_used))
    start = np.concatenate(([0], np.cumsum(lengths[kept])))
    return MemberRows(members.row, token.astype(np.int32), members.negative, start, set_keys.astype(np.int32), keys)


def _no_members(column: Column) -> MemberRows:
    start = np.zeros(1, np.int64)
    return MemberRows(_NONE, _NONE, np.zeros(0, np.bool_), start, _NONE, empty_table(column))


# ---------------------------------------------------------------- code -> clauses


def decode_clauses(codebook: Codebook, table: PredicateTable) -> Clauses:
    """The clauses that were encoded, so that merging segments needs no texts."""
    row = np.repeat(np.arange(len(table.start) - 1, dtype=np.int32), np.diff(table.start))
    order = np.argsort(table.column, kind="stable")
    columns = len(codebook.ranks) + len(codebook.members) + len(codebook.probes)
    bounds = np.searchsorted(table.column[order], np.arange(columns + 1))
    parts = []
    for number in range(columns):
        chosen = order[bounds[number] : bounds[number + 1]]
        parts.append(ColumnPredicates(row[chosen], table.low[chosen], table.width[chosen]))
    arcs, members, probes = {}, {}, {}
    for ranked, part in zip(codebook.ranks, parts, strict=False):
        if len(part.row):
            arcs[ranked.column] = _arcs(ranked, part)
    first = len(codebook.ranks)
    for member, part in zip(codebook.members, parts[first:], strict=False):
        ranked = codebook.ranks[member.rank]
        members[ranked.column] = _members(ranked, member, part)
    first += len(codebook.members)
    for probe, part in zip(codebook.probes, parts[first:], strict=True):
        probes[probe.column] = _asked(probe, part)
    return Clauses(len(table.start) - 1, arcs, members, probes)


def _arcs(ranked: RankColumn, part: ColumnPredicates) -> ArcRows:
    end = (part.low.astype(np.int64) + part.width).astype(np.int32)
    if isinstance(ranked, TextRanks) and ranked.codes is None:
        return _equality_arcs(ranked, part, end)
    # -1 is null; there is no breakpoint below 0 or above the highest.
    start_key = np.where(part.low < 0, NULL, np.where(part.low == 0, UNBOUNDED, part.low - 1))
    end_key = np.where(end < 0, NULL, np.where(end == ranked.highest, UNBOUNDED, end))
    if isinstance(ranked, KeyRanks):
        return ArcRows(part.row, start_key.astype(np.int32), end_key.astype(np.int32), ranked.keys)
    codes = np.concatenate((_NONE if ranked.codes is None else ranked.codes, np.array([NULL, UNBOUNDED], np.int32)))
    return ArcRows(part.row, codes[start_key], codes[end_key], ranked.values)


def _equality_arcs(ranked: TextRanks, part: ColumnPredicates, end: Ints) -> ArcRows:
    """Decode tests of equality, where value i has rank i + 1: [i + 1, i + 1], all but it, null, or not null."""
    null, present = part.low == -1, (part.low == 0) & (end == ranked.highest) & (part.width == ranked.highest)
    one = (part.width == 0) & ~null & ~present
    value = np.where(one, part.low - 1, part.low - 2)
    start = np.select([null, present, one], [NULL, UNBOUNDED, 2 * value], 2 * value + 1)
    stop = np.select([null, present, one], [NULL, UNBOUNDED, 2 * value + 1], 2 * value)
    return ArcRows(part.row, start.astype(np.int32), stop.astype(np.int32), ranked.values)


def _members(ranked: RankColumn, member: MemberColumn, part: ColumnPredicates) -> MemberRows:
    """Invert the tokens of ranks again; a listed key is the only one of its rank."""
    ranks = np.repeat(np.arange(len(member.start) - 1), np.diff(member.start))
    order = np.lexsort((ranks, member.tokens))
    sets = int(member.tokens.max(initial=-1)) + 1
    start = np.concatenate(([0], np.cumsum(np.bincount(member.tokens, minlength=sets))))
    number = ranks[order] - 1
    keys: KeyTable
    if isinstance(ranked, KeyRanks):
        keys = ranked.keys
    else:
        keys = ranked.values
        number = number if ranked.codes is None else ranked.codes[number] >> 1
    return MemberRows(part.row, part.low, part.width == 1, start, number.astype(np.int32), keys)


def _asked(probe: ProbeColumn, part: ColumnPredicates) -> ProbeRows:
    tokens = probe.table.tokens
    false = {t: i for i in range(len(tokens)) if (t := probe.table.false_token(i)) is not None}
    highest = max([len(tokens), *(t + 1 for t in false)])
    token = np.arange(highest, dtype=np.int32)
    says_false = np.zeros(highest, np.bool_)
    for t, i in false.items():
        token[t], says_false[t] = i, True
    return ProbeRows(part.row, token[part.low], (part.width == 1) | says_false[part.low], tuple(tokens))
