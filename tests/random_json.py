"""Random events of any shape, and random Arrow tables with structs, maps and lists: what views are tested with."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

NAMES = ("a", "b", "c", "a.b", "b.c")
TEXTS = ("x", "y", "", "mimikatz", "MimiKatz", "10.0.0.1", "::1", "12", "true", "null", '"', "it's", "é", "2024-05-01")
NUMBERS: tuple[Any, ...] = (0, 1, 12, -3, 0.5, 12.0, 300, 3e2, -0.0, 1e-7, 10**20, 1e23, 2**53 + 1)
SCALARS: tuple[Any, ...] = (*TEXTS, *NUMBERS, True, False)


def random_event(chance: random.Random) -> dict[str, Any]:
    """An event as JSON may have it."""
    return _object(chance, 0)


def _object(chance: random.Random, depth: int) -> dict[str, Any]:
    return {name: _value(chance, depth) for name in NAMES if chance.random() < 0.5}


def _value(chance: random.Random, depth: int) -> Any:
    roll = chance.random()
    if depth < 3 and roll < 0.22:
        return _object(chance, depth + 1)
    if depth < 3 and roll < 0.5:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return None if roll < 0.6 else chance.choice(SCALARS)


def random_table(chance: random.Random, rows: int = 12) -> pa.Table:
    """A table of up to four columns of any types, with nulls at every level."""
    names = chance.sample(NAMES, chance.randrange(1, 5))
    fields = [(name, random_type(chance)) for name in names]
    columns = [random_array(chance, type_, rows) for _, type_ in fields]
    table = pa.Table.from_arrays(columns, names)
    cut = chance.randrange(rows)  # chunks and slices have offsets of their own
    return pa.concat_tables([table.slice(cut), table.slice(0, cut)]).slice(chance.randrange(3))


def random_type(chance: random.Random, depth: int = 0) -> pa.DataType:
    """An Arrow type."""
    roll = chance.random()
    if depth < 3 and roll < 0.2:
        names = chance.sample(NAMES, chance.randrange(1, 4))
        return pa.struct([(name, random_type(chance, depth + 1)) for name in names])
    if depth < 3 and roll < 0.4:
        inner = random_type(chance, depth + 1)
        return pa.list_(inner) if chance.random() < 0.5 else pa.large_list(inner)
    if depth < 3 and roll < 0.55:
        return pa.map_(pa.string(), random_type(chance, depth + 1))
    return chance.choice(_SCALAR_TYPES)


_SCALAR_TYPES: tuple[pa.DataType, ...] = (
    *(pa.string(),) * 3,
    *(pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()),
    *(pa.int64(), pa.int64(), pa.int8(), pa.uint64(), pa.float64(), pa.float64(), pa.float32(), pa.bool_()),
    *(pa.decimal128(9, 2), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.date32(), pa.binary(), pa.null()),
)


def random_array(chance: random.Random, type_: pa.DataType, size: int, *, twice: bool = True) -> pa.Array:
    """An array of the type; `twice`: maps may hold a key twice."""
    return pa.array([_stored(chance, type_, twice) for _ in range(size)], type_)


def _stored(chance: random.Random, type_: Any, twice: bool) -> Any:
    types = pa.types
    if chance.random() < 0.25 or types.is_null(type_):
        return None
    if types.is_struct(type_):
        return {field.name: _stored(chance, field.type, twice) for field in type_}
    if types.is_map(type_):
        names = chance.choices(NAMES, k=chance.randrange(4))
        return [(name, _stored(chance, type_.item_type, twice)) for name in (names if twice else set(names))]
    if types.is_list(type_) or types.is_large_list(type_):
        return [_stored(chance, type_.value_type, twice) for _ in range(chance.randrange(4))]
    if types.is_boolean(type_):
        return chance.random() < 0.5
    if types.is_integer(type_):
        return chance.choice((0, 1, 12, 127))
    if types.is_floating(type_):
        return chance.choice((0.0, -0.0, 12.0, 0.5, 300.0, float("nan"), float("inf")))
    if types.is_decimal(type_):
        return pa.scalar(chance.choice(("12.00", "0.50"))).cast(type_).as_py()
    if types.is_timestamp(type_):
        return chance.choice((0, 1_714_521_600_000_000))
    if types.is_date(type_):
        return chance.choice((0, 19_844))
    if types.is_binary(type_):
        return chance.choice((b"x", b"\xff"))
    return chance.choice(TEXTS)
