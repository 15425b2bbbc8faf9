"""Constraints of one side as typed relations: a master, and one relation for each type (Tomasic 2006, §3.1).

    pub_master    (id, disjunct_id, count)                              count: attributes that the disjunct speaks of
    integer_pubs  (p_id, p_disjunct_id, field, val, val2, op)           the same for every ordered type
    region_pubs   (p_id, p_disjunct_id, field, west, south, east, north, op)   the same for points

`subs` and `s_` for the other side. A range has two values. A set, such as `x in (1, 5)`, is several rows of one field.
Operators are those that were written, except for sets that are smaller or larger than they look: a single value is `=`,
and all values are `is not null`. So half spaces and ranges have two values or more, and `!=` always meets them. SQL has
no name for the float or the address next to another: bounds of these are always closed. An address is its 32
hexadecimal digits, times are in UTC.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from vedette.errors import NotSupported
from vedette.language.valuesets import Interval, ValueSet, has_fractions
from vedette.meeting.allowed_values import AllowedValues, Area, Disc, Values, geometry
from vedette.meeting.constraint_parser import Constraint, SignedAtom, Term
from vedette.meeting.direction import RankSide
from vedette.schema.columns import Column
from vedette.schema.keys import INT_MAX, LOWEST, above, at_least, float_key
from vedette.schema.types import Kind

Id: TypeAlias = int | str
Relations: TypeAlias = Mapping[str, pa.Table]

NULL, PRESENT, WITHIN = "is null", "is not null", "within"
CLOSED: Final = ("=", "!=", "<=", ">=", "[]", NULL, PRESENT)
ORDERED: Final = ("=", "!=", "<", "<=", ">", ">=", "()", "(]", "[)", "[]", NULL, PRESENT)
PLACES: Final = (WITHIN, NULL, PRESENT)
EDGES: Final = ("west", "south", "east", "north")


class RelationFamily(NamedTuple):
    """The relations of one type: their names, the form of their values, the operators that occur."""

    name: str
    values: pa.DataType
    operators: tuple[str, ...]


FAMILIES: Final[dict[Kind, RelationFamily]] = {
    Kind.INT: RelationFamily("integer", pa.int64(), ORDERED),
    Kind.FLOAT: RelationFamily("float", pa.float64(), CLOSED),
    Kind.STRING: RelationFamily("string", pa.string(), ORDERED),
    Kind.BOOL: RelationFamily("bool", pa.bool_(), ("=", NULL, PRESENT)),
    Kind.DATE: RelationFamily("date", pa.date32(), ORDERED),
    Kind.TIMESTAMP: RelationFamily("timestamp", pa.timestamp("us"), ORDERED),
    Kind.IP: RelationFamily("ip", pa.string(), CLOSED),
    Kind.POINT: RelationFamily("point", pa.float64(), PLACES),
    Kind.REGION: RelationFamily("region", pa.float64(), PLACES),
}
_NAN, _INFINITY = float_key(float("nan")), float_key(float("inf"))
_HIGHEST: dict[Kind, int | bytes] = {Kind.INT: INT_MAX, Kind.FLOAT: _NAN, Kind.BOOL: 1, Kind.IP: b"\xff" * 16}


class RelationRow(NamedTuple):
    """One row's constraint of its field: an operator, and the keys of its values, or the edges of a rectangle."""

    op: str
    values: tuple[Any, ...] = ()


def relations(constraints: Mapping[Id, Constraint], side: RankSide) -> dict[str, pa.Table]:
    """The master and all relations of one side, empty ones too; NotSupported for what they cannot express."""
    master: list[tuple[Id, int, int]] = []
    kinds = {kind: _Rows() for kind in FAMILIES}
    for identity, constraint in constraints.items():
        for number, disjunct in enumerate(constraint.disjuncts):
            master.append((identity, number, len(disjunct.terms)))
            for term in disjunct.terms:
                kinds[term.column.type.kind].add(identity, number, term)
    letter, ending = side[0], f"{side[:3]}s"
    type_ = pa.int64() if constraints and all(isinstance(each, int) for each in constraints) else pa.string()
    ids, numbers, counts = zip(*master, strict=True) if master else ((), (), ())
    names = (pa.field("count", pa.int32()),)
    made = {f"{side[:3]}_master": _table("", type_, ids, numbers, names, (pa.array(counts, pa.int32()),))}
    for kind, rows in kinds.items():
        made[f"{FAMILIES[kind].name}_{ending}"] = rows.table(kind, f"{letter}_", type_)
    return made


@dataclass
class _Rows:
    """The rows of one relation, as they are collected."""

    ids: list[Id] = field(default_factory=list)
    disjuncts: list[int] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    rows: list[RelationRow] = field(default_factory=list)

    def add(self, identity: Id, disjunct: int, term: Term) -> None:
        for row in rows_of(term):
            self.ids.append(identity)
            self.disjuncts.append(disjunct)
            self.fields.append(term.attribute)
            self.rows.append(row)

    def table(self, kind: Kind, prefix: str, type_: pa.DataType) -> pa.Table:
        names = ("val", "val2") if kind.ordered else EDGES
        values = [_values(kind, [_at(row.values, place) for row in self.rows]) for place in range(len(names))]
        given = [pa.field(name, FAMILIES[kind].values) for name in names]
        columns = (pa.field("field", pa.string()), *given, pa.field("op", pa.string()))
        arrays = (pa.array(self.fields, pa.string()), *values, pa.array([row.op for row in self.rows], pa.string()))
        return _table(prefix, type_, self.ids, self.disjuncts, columns, arrays)


def _table(
    prefix: str,
    type_: pa.DataType,
    ids: Iterable[Id],
    disjuncts: Iterable[int],
    fields: Iterable[pa.Field],
    arrays: Iterable[pa.Array],
) -> pa.Table:
    names = pa.field(f"{prefix}id", type_), pa.field(f"{prefix}disjunct_id", pa.int32())
    columns = pa.array(list(ids), type_), pa.array(list(disjuncts), pa.int32())
    return pa.Table.from_arrays([*columns, *arrays], schema=pa.schema([*names, *fields]))


def _at(values: tuple[Any, ...], place: int) -> Any:
    return values[place] if place < len(values) else None


# ---------------------------------------------------------------- from a term to its rows


def rows_of(term: Term) -> Iterator[RelationRow]:
    """A disjunct's constraint of one attribute; several rows are alternatives."""
    column, allowed = term.column, term.allowed
    if column.type.is_list or column.other is not None:
        what = "is a list" if column.type.is_list else "has a type that nobody knows"
        raise NotSupported(_sentence(column, what, "leave the relational strategy, or this attribute, out"))
    if not isinstance(allowed, ValueSet):
        yield _rectangle(column, allowed)
        return
    if allowed.null:
        yield RelationRow(NULL)
    if allowed.is_all_values:
        yield RelationRow(PRESENT)
        return
    kind = column.type.kind
    if has_fractions(allowed):
        what = "is compared with a number beyond 2**53, where there are integers between the floats"
        raise NotSupported(_sentence(column, what, "say in the schema that it is an int"))
    missing = _left_out(kind, allowed)
    if missing is not None:
        yield RelationRow("!=", (missing,))
        return
    # What a list leaves over lies between its values.
    ends = _ends(term.tests) if len(allowed.intervals) == 1 else (True, True)
    for one in allowed.intervals:
        yield _interval(kind, one, *ends)


def _sentence(column: Column, what: str, hint: str) -> str:
    return f"{column.path} {what}, of which the relations of the paper cannot speak\nHint: {hint}"


def _left_out(kind: Kind, values: Values) -> Any:
    """The one value that is not in the set; None if there is not exactly one."""
    if len(values.intervals) != 2:
        return None
    below, above = values.intervals
    if below.low is None and above.high is None and before(kind, above.low) == below.high:
        return below.high
    return None


def _ends(tests: Iterable[SignedAtom]) -> tuple[bool, bool]:
    """Whether the lower, and the upper, bound was written as an open one."""
    low = high = False
    for test in tests:
        bounds = test.atom.test.bounds(test.positive)
        if bounds is None:
            continue
        if bounds.low is not None and bounds.high is not None:
            low = high = False
        low = low or (bounds.low is not None and bounds.low[0] is above)
        high = high or (bounds.high is not None and bounds.high[0] is at_least)
    return low, high


def _interval(kind: Kind, one: Interval[Any], low_open: bool, high_open: bool) -> RelationRow:
    first = LOWEST[kind] if one.low is None else one.low
    last = _HIGHEST.get(kind) if one.high is None else before(kind, one.high)
    if first == last:
        return RelationRow("=", (first,))
    if kind in (Kind.FLOAT, Kind.IP):
        low_open = high_open = False
    elif kind is Kind.STRING:  # whose bounds are as they are: behind 'a' comes 'a\0'
        low_open, high_open = before(kind, first) is not None, last is None
    low = before(kind, first) if low_open else first
    high = one.high if high_open else last
    if one.low is None:
        return RelationRow("<" if high_open else "<=", (high,))
    if one.high is None:
        return RelationRow(">" if low_open else ">=", (low,))
    return RelationRow(f"{'(' if low_open else '['}{')' if high_open else ']'}", (low, high))


def before(kind: Kind, key: Any) -> Any:
    """The key of the value below that of this key; None for a text that has none."""
    if kind is Kind.STRING:
        return key[:-1] if key[-1:] == b"\0" else None
    if kind is Kind.IP:
        return (int.from_bytes(key) - 1).to_bytes(16)
    if kind is Kind.FLOAT and key in (0, _NAN):  # -1 would be -0.0, and there are many NaNs
        return _INFINITY if key else -2
    return key - 1


def _rectangle(column: Column, allowed: AllowedValues) -> RelationRow:
    if isinstance(allowed, Disc):
        raise NotSupported(_sentence(column, "is within a distance", "say in which rectangle it is"))
    if not isinstance(allowed, Area):
        raise NotSupported(_sentence(column, "is a list", "leave it out"))
    import shapely

    shape = geometry(allowed.region)
    if not shape.equals(shapely.box(*shape.bounds)):
        raise NotSupported(_sentence(column, "is in a region that is no rectangle", "say in which rectangle it is"))
    return RelationRow(WITHIN, tuple(shape.bounds))


# ---------------------------------------------------------------- from keys to values


def _values(kind: Kind, keys: list[Any]) -> pa.Array:
    type_ = FAMILIES[kind].values
    if kind is Kind.FLOAT:
        return pa.array([None if key is None else _float(key) for key in keys], type_)
    if kind is Kind.BOOL:
        return pa.array([None if key is None else bool(key) for key in keys], type_)
    if kind is Kind.STRING:
        return pa.array([None if key is None else key.decode() for key in keys], type_)
    if kind is Kind.IP:
        return pa.array([None if key is None else key.hex() for key in keys], type_)
    if kind is Kind.DATE:
        return pa.array(keys, pa.int32()).cast(type_)
    if kind is Kind.TIMESTAMP:
        return pa.array(keys, pa.int64()).cast(type_)
    return pa.array(keys, type_)


def _float(key: int) -> float:
    bits = key if key >= 0 else key ^ 0x7FFF_FFFF_FFFF_FFFF
    (found,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(found)
