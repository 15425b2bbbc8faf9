"""Builds clauses from normal forms; decides which sets of values are split, become tokens, or stay arcs."""

from __future__ import annotations

import enum
import itertools
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.filters.clauses import (
    NULL,
    UNBOUNDED,
    ArcRows,
    Clauses,
    KeyTable,
    MemberRows,
    ProbeRows,
    is_text,
    positions,
    renumber,
    sorted_distinct,
)
from vedette.language.normalform import Conjunction, Elementary, NormalForm
from vedette.language.valuesets import AnyKey, Interval, ValueSet
from vedette.schema.columns import Column
from vedette.schema.exact_numbers import key_table, widened
from vedette.schema.keys import NumberKey, among_integers, is_one_number, split
from vedette.schema.types import Kind

SPLIT_MOST = 16  # conjunctions that one conjunction may be split into
GAPS_MOST = 8  # excluded values that are tested one by one
SHORT = 16  # keys in an interval that may be listed in a member set
_OVERLAP_CHECKED = 8  # conjunctions of one filter that are compared with each other
_KNOWN_MOST = 10_000
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class _Null(enum.Enum):
    END = enum.auto()


_NULL = _Null.END
_End: TypeAlias = AnyKey | _Null | None  # None: unbounded
_Arc: TypeAlias = tuple[_End, _End]
_AnySet: TypeAlias = ValueSet[NumberKey] | ValueSet[bytes]


@dataclass(frozen=True, slots=True)
class _MemberTest:
    """A test against a set of keys; a `negative` test holds for null too."""

    keys: tuple[AnyKey, ...]
    negative: bool


_Test: TypeAlias = _Arc | _MemberTest


class ClauseBuilder:
    """Collects the tests of normal forms in arrays; append-only."""

    def __init__(self) -> None:
        self.size = 0
        self._known: dict[int, tuple[Column, _KeyEntries | _TextEntries]] = {}
        self._keys: dict[Column, _KeyEntries] = {}
        self._texts: dict[Column, _TextEntries] = {}
        self._members: dict[Column, _MemberEntries] = {}
        self._probes: dict[Column, _ProbeEntries] = {}

    def add(self, form: NormalForm) -> bool:
        """Append the conjunctions; True if several of them may hold for the same event."""
        before = self.size
        self._add_all(form.conjunctions)
        return self.size - before > 1 and may_overlap(form)

    def add_vetoes(self, form: NormalForm) -> None:
        """Append the vetoes: conjunctions that must not hold."""
        self._add_all(form.vetoes)

    def _add_all(self, conjunctions: Sequence[Conjunction]) -> None:
        for conjunction in conjunctions:
            if conjunction.probes or not all(map(_is_plain, conjunction.values)):
                self._add(conjunction)
                continue
            # Fast path for the usual case: one interval for each column.
            for column, values in conjunction.values:
                interval = values.intervals[0]
                self._entries(column).append(self.size, interval.low, interval.high)
            self.size += 1

    def _add(self, conjunction: Conjunction) -> None:
        fixed: list[tuple[Column, _Test]] = []
        several: list[tuple[Column, _AnySet, list[_Arc]]] = []
        for column, values in conjunction.values:
            arcs = arcs_of(values)
            if not arcs:
                return
            if len(arcs) > 1 and not _surrounding(arcs):
                several.append((column, values, arcs))
            elif arcs != [_ALWAYS]:
                fixed.extend((column, test) for test in _all_of(arcs, values.null, column.type.kind))
        choices: list[list[tuple[Column, _Test]]] = []
        several.sort(key=lambda entry: len(entry[2]))
        for column, values, arcs in several:
            room = SPLIT_MOST // math.prod(len(choice) for choice in choices)
            options = _some_of(arcs, values.null, room, column.type.kind)
            if len(options) == 1:
                fixed.extend((column, test) for test in options[0])
            else:
                choices.append([(column, option[0]) for option in options])
        self._add_presence(conjunction, fixed)
        for chosen in itertools.product(*choices):
            for column, test in itertools.chain(fixed, chosen):
                self._append(column, test)
            for column, probe in conjunction.probes:
                entries = self._probes.setdefault(column, _ProbeEntries())
                entries.append(self.size, probe.tests, not probe.positive)
            self.size += 1

    def _add_presence(self, conjunction: Conjunction, fixed: list[tuple[Column, _Test]]) -> None:
        """Require a value for every negative probe (except for lists with nulls, which have tokens for false)."""
        present = {column for column, values in conjunction.values if not values.null}
        for column, probe in conjunction.probes:
            if not probe.positive and column.settles and column not in present:
                present.add(column)
                fixed.append((column, (None, None)))

    def _append(self, column: Column, test: _Test) -> None:
        if isinstance(test, _MemberTest):
            self._members.setdefault(column, _MemberEntries()).append(self.size, test)
            return
        self._entries(column).append(self.size, *test)

    def _entries(self, column: Column) -> _KeyEntries | _TextEntries:
        """The entries that collect the tests of a column."""
        known = self._known.get(id(column))
        if known is not None:
            return known[1]
        entries: _KeyEntries | _TextEntries
        if is_text(column):
            entries = self._texts.setdefault(column, _TextEntries())
        else:
            entries = self._keys.setdefault(column, _KeyEntries())
        # Columns are mostly the same objects, and hashing one takes longer than everything else here.
        if len(self._known) >= _KNOWN_MOST:
            self._known.clear()
        self._known[id(column)] = column, entries
        return entries

    @property
    def tests(self) -> int:
        """Number of intervals and values that columns are compared with, in all clauses."""
        intervals = sum(len(entries.row) for columns in (self._keys, self._texts) for entries in columns.values())
        return intervals + sum(len(keys) for entries in self._members.values() for keys in entries.sets)

    def clauses(self) -> Clauses:
        """The clauses added so far."""
        return Clauses(
            self.size,
            {c: keys.arcs() for c, keys in self._keys.items()} | {c: texts.arcs() for c, texts in self._texts.items()},
            {c: entries.members(c) for c, entries in self._members.items()},
            {c: entries.asked() for c, entries in self._probes.items()},
        )


def _is_plain(entry: tuple[Column, _AnySet]) -> bool:
    """Whether an entry is a single interval, which is an arc already."""
    values = entry[1]
    if len(values.intervals) != 1 or values.null:
        return False
    low, high = values.intervals[0].low, values.intervals[0].high
    return (not isinstance(low, int) or _LOWEST < low <= _HIGHEST) and (not isinstance(high, int) or high <= _HIGHEST)


# ---------------------------------------------------------------- sets as arcs

_ALWAYS: _Arc = (None, _NULL)


def arcs_of(values: _AnySet) -> list[_Arc]:
    """The arcs of a set, in cyclic order; none for the empty set, _ALWAYS alone for all values and null."""
    arcs: list[_Arc] = [arc for interval in values.intervals if (arc := _bounded(interval)) is not None]
    if not values.null:
        return arcs
    if not arcs:
        return [(_NULL, _NULL)]
    (first, first_end), (last, last_end) = arcs[0], arcs[-1]
    if first is None and last_end is None:
        return [_ALWAYS] if len(arcs) == 1 else [(last, first_end), *arcs[1:-1]]
    if first is None:
        return [(_NULL, first_end), *arcs[1:]]
    if last_end is None:
        return [*arcs[:-1], (last, _NULL)]
    return [(_NULL, _NULL), *arcs]


def _bounded(interval: Interval[NumberKey] | Interval[bytes]) -> _Arc | None:
    """The interval clipped to bounds that fit into an int64; None if that leaves it empty."""
    low: _End = interval.low
    high: _End = interval.high
    if isinstance(low, int):
        if low > _HIGHEST:
            return None
        low = None if low <= _LOWEST else low
    if isinstance(high, int):
        if high <= _LOWEST:
            return None
        high = None if high > _HIGHEST else high
    return low, high


def _surrounding(arcs: Sequence[_Arc]) -> bool:
    """Whether both the lowest and the highest values are included, with gaps only in between, as in `x != 5`."""
    return (arcs[0][0] is None and arcs[-1][1] is None) or not _in_order(arcs[0])


def _in_order(arc: _Arc) -> bool:
    """Whether the arc does not wrap around from a high key through null to a low one."""
    start, end = arc
    return isinstance(start, _Null | None) or isinstance(end, _Null | None) or start < end  # type: ignore[operator]


def _gaps(arcs: Sequence[_Arc]) -> list[_Arc]:
    """The gaps between the arcs, in the same cyclic order; if null is not in the set, the last gap is null itself."""
    return [(end, arcs[(i + 1) % len(arcs)][0]) for i, (_, end) in enumerate(arcs)]


def _all_of(arcs: Sequence[_Arc], null: bool, kind: Kind) -> list[_Test]:
    """The set as an AND of tests: outside of every gap."""
    complements: list[_Test] = [(stop, begin) for begin, stop in _gaps(arcs)]
    if len(arcs) <= GAPS_MOST:
        return complements
    excluded = _listed(_gaps(arcs) if null else _gaps(arcs)[:-1], kind)
    if excluded is None:
        return complements
    return [_MemberTest(excluded, True), *([] if null else [complements[-1]])]


def _some_of(arcs: Sequence[_Arc], null: bool, room: int, kind: Kind) -> list[list[_Test]]:
    """The set as an OR of at most `room` alternatives (each a list of tests)."""
    if len(arcs) <= room:
        return [[arc] for arc in arcs]
    listed = _listed([arc for arc in arcs if arc != (_NULL, _NULL)], kind)
    if listed is not None and not null:
        return [[_MemberTest(listed, False)]]
    if listed is not None and room >= 2:
        return [[_MemberTest(listed, False)], [(_NULL, _NULL)]]
    return [[(stop, begin) for begin, stop in _gaps(arcs)]]


def _listed(arcs: Iterable[_Arc], kind: Kind) -> tuple[AnyKey, ...] | None:
    """All keys of the arcs if every arc is short, else None."""
    keys: list[AnyKey] = []
    dense = kind is Kind.FLOAT  # float columns have numbers between two integer keys
    for start, end in arcs:
        if dense and isinstance(start, int | Fraction) and among_integers(start):
            if not isinstance(end, int | Fraction) or not is_one_number(start, end):
                return None
            keys.append(start)
        elif isinstance(start, int) and isinstance(end, int) and 0 < end - start <= SHORT:
            keys.extend(range(start, end))
        elif isinstance(start, bytes) and end == start + b"\0" and not start.endswith(b"\0"):
            keys.append(start)
        else:
            return None
    return tuple(keys)


# ---------------------------------------------------------------- overlap


def may_overlap(form: NormalForm) -> bool:
    """Whether two of the conjunctions may hold for the same event; in doubt, True."""
    parts = form.conjunctions
    if len(parts) < 2:
        return False
    if len(parts) > _OVERLAP_CHECKED:
        return True
    return any(not _disjoint(a, b) for a, b in itertools.combinations(parts, 2))


def _disjoint(a: Conjunction, b: Conjunction) -> bool:
    others: dict[Column, _AnySet] = dict(b.values)
    return any(column in others and not _meet(values, others[column]) for column, values in a.values)


def _meet(a: _AnySet, b: _AnySet) -> bool:
    if a.null and b.null:
        return True
    return any(_intervals_meet(x, y) for x in a.intervals for y in b.intervals)


def _intervals_meet(x: Interval[NumberKey] | Interval[bytes], y: Interval[NumberKey] | Interval[bytes]) -> bool:
    return _below(x.low, y.high) and _below(y.low, x.high)


def _below(low: AnyKey | None, high: AnyKey | None) -> bool:
    return low is None or high is None or low < high  # type: ignore[operator]


# ---------------------------------------------------------------- entries, growing

_KEY, _OPEN, _NOTHING = 0, 1, 2


def _kind(end: _End) -> int:
    return _OPEN if end is None else _NOTHING if end is _NULL else _KEY


@dataclass(slots=True)
class _KeyEntries:
    row: array[int] = field(default_factory=lambda: array("i"))
    start: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    kinds: array[int] = field(default_factory=lambda: array("b"))
    rests: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))  # of starts, and of ends

    def append(self, row: int, start: _End, end: _End) -> None:
        self.row.append(row)
        if isinstance(start, int) and isinstance(end, int):
            self.start.append(start)
            self.end.append(end)
            self.kinds.append(0)
            return
        self.start.append(self._below(start, self.rests[0]))
        self.end.append(self._below(end, self.rests[1]))
        self.kinds.append(_kind(start) * 3 + _kind(end))

    def _below(self, end: _End, rests: dict[int, int]) -> int:
        if isinstance(end, Fraction):
            below, rests[len(self.row) - 1] = split(end)
            return below
        return end if isinstance(end, int) else 0

    def arcs(self) -> ArcRows:
        kinds = np.array(self.kinds, np.int8)
        special = np.array([0, UNBOUNDED, NULL], np.int32)
        sides = [(self._table(0), kinds // 3), (self._table(1), kinds % 3)]
        keys = sorted_distinct(np.concatenate([values[kind == _KEY] for values, kind in sides]))
        start, end = (
            np.where(kind == _KEY, positions(keys, values), special[kind]).astype(np.int32) for values, kind in sides
        )
        return ArcRows(np.array(self.row, np.int32), start, end, keys)

    def _table(self, side: int) -> NDArray[Any]:
        """The keys of one side; both sides have the same type, int64 or EXACT."""
        keys = np.array((self.start, self.end)[side], np.int64)
        if not any(self.rests):
            return keys
        table, rests = widened(keys), self.rests[side]
        table["rest"][list(rests)] = list(rests.values())
        return table


@dataclass(slots=True)
class _TextEntries:
    row: array[int] = field(default_factory=lambda: array("i"))
    start: array[int] = field(default_factory=lambda: array("i"))
    end: array[int] = field(default_factory=lambda: array("i"))
    values: dict[bytes, int] = field(default_factory=dict)

    def append(self, row: int, start: _End, end: _End) -> None:
        self.row.append(row)
        self.start.append(self._code(start))
        self.end.append(self._code(end))

    def _code(self, key: _End) -> int:
        if not isinstance(key, bytes):
            return UNBOUNDED if key is None else NULL
        # Every key has one code: the odd one if it is the successor of a text.
        if key.endswith(b"\0"):
            return self.values.setdefault(key[:-1], len(self.values)) * 2 + 1
        return self.values.setdefault(key, len(self.values)) * 2

    def arcs(self) -> ArcRows:
        values = pa.array(list(self.values), pa.large_binary())
        table = sorted_distinct(values)
        place = positions(table, values)
        start, end = (renumber(np.array(codes, np.int32), place, texts=True) for codes in (self.start, self.end))
        return ArcRows(np.array(self.row, np.int32), start, end, table)


@dataclass(slots=True)
class _MemberEntries:
    row: array[int] = field(default_factory=lambda: array("i"))
    token: array[int] = field(default_factory=lambda: array("i"))
    negative: array[int] = field(default_factory=lambda: array("b"))
    sets: dict[tuple[AnyKey, ...], int] = field(default_factory=dict)

    def append(self, row: int, test: _MemberTest) -> None:
        self.row.append(row)
        self.token.append(self.sets.setdefault(test.keys, len(self.sets)))
        self.negative.append(test.negative)

    def members(self, column: Column) -> MemberRows:
        flat: Iterator[AnyKey] = itertools.chain.from_iterable(self.sets)
        keys: KeyTable
        if column.type.kind.textual:
            keys = pa.array(list(flat), pa.large_binary())
        else:
            keys = key_table(list(flat))  # type: ignore[arg-type]
        table = sorted_distinct(keys)
        sizes = np.fromiter(map(len, self.sets), np.int64, len(self.sets))
        return MemberRows(
            np.array(self.row, np.int32),
            np.array(self.token, np.int32),
            np.array(self.negative, np.bool_),
            np.concatenate(([0], np.cumsum(sizes))),
            positions(table, keys).astype(np.int32),
            table,
        )


@dataclass(slots=True)
class _ProbeEntries:
    row: array[int] = field(default_factory=lambda: array("i"))
    token: array[int] = field(default_factory=lambda: array("i"))
    negative: array[int] = field(default_factory=lambda: array("b"))
    tokens: dict[frozenset[Elementary], int] = field(default_factory=dict)

    def append(self, row: int, tests: frozenset[Elementary], negative: bool) -> None:
        self.row.append(row)
        self.token.append(self.tokens.setdefault(tests, len(self.tokens)))
        self.negative.append(negative)

    def asked(self) -> ProbeRows:
        return ProbeRows(
            np.array(self.row, np.int32),
            np.array(self.token, np.int32),
            np.array(self.negative, np.bool_),
            tuple(self.tokens),
        )
