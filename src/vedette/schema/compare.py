"""Compares two attributes of an event: 0, 1, 2 for less, equal, greater; and tests relations of two texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.schema.columns import ColumnData, KeyColumn, TextColumn
from vedette.schema.exact_numbers import integer_column
from vedette.schema.types import BOOL, FLOAT, INT, STRING, TIMESTAMP, Kind, Type

# Relations of two texts; those whose name begins with an i ignore case.
RELATIONS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda one, other: other in one,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "icontains": lambda one, other: other.lower() in one.lower(),
    "istartswith": lambda one, other: one.lower().startswith(other.lower()),
    "iendswith": lambda one, other: one.lower().endswith(other.lower()),
}

_READ_FROM_TEXT = (Kind.TIMESTAMP, Kind.DATE, Kind.IP)


def compared_as(left: Type | None, right: Type | None) -> list[tuple[Type, Type]]:
    """The types as which two attributes are compared; the first pair as which both have values counts.

    None is for an attribute that is not in the schema: its values determine the types. An int and a float
    keep their types, since they are compared exactly. Empty if there is no common order.
    """
    pairs = [(a, b) for a in _readings(left, right) for b in _readings(right, left)]
    return list(dict.fromkeys(common for a, b in pairs if (common := _common(a, b)) is not None))


def _readings(type_: Type | None, against: Type | None) -> tuple[Type, ...]:
    if type_ is not None:
        return (type_,)
    if against is None:
        return INT, FLOAT, STRING, BOOL, TIMESTAMP
    return (INT, FLOAT) if against.kind.numeric else (against,)


def _common(left: Type, right: Type) -> tuple[Type, Type] | None:
    if left.is_list or right.is_list or not (left.kind.ordered and right.kind.ordered):
        return None
    kinds = {left.kind, right.kind}
    if len(kinds) == 1 or kinds == {Kind.INT, Kind.FLOAT}:
        return left, right
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP, TIMESTAMP
    if Kind.STRING in kinds:
        (other,) = kinds - {Kind.STRING}
        if other in _READ_FROM_TEXT:
            return Type(other), Type(other)
    return None


def compared(left: ColumnData, left_kind: Kind, right: ColumnData, right_kind: Kind) -> KeyColumn:
    """The comparison of two columns of types from `compared_as`, missing where one of them is."""
    if isinstance(left, TextColumn) and isinstance(right, TextColumn):
        ranks = {value: rank for rank, value in enumerate(sorted({*left.values, *right.values}))}
        return _signs(_ranks(left, ranks), left.codes >= 0, _ranks(right, ranks), right.codes >= 0)
    if not isinstance(left, KeyColumn) or not isinstance(right, KeyColumn):
        raise TypeError(f"{type(left).__name__} and {type(right).__name__} have no common order")
    if left_kind is not right_kind:  # an int and a float
        left = integer_column(left.keys, left.present) if left_kind is Kind.INT else left
        right = integer_column(right.keys, right.present) if right_kind is Kind.INT else right
    found = _signs(left.keys, left.present, right.keys, right.present)
    if left.rest is None and right.rest is None:
        return found
    none = np.zeros(len(found.keys), np.int16)
    rest, other = (none if one.rest is None else one.rest for one in (left, right))
    tie = found.present & (found.keys == 1)
    return KeyColumn(np.where(tie, np.sign(rest - other) + 1, found.keys), found.present)


def related(left: TextColumn, relation: str, right: TextColumn) -> KeyColumn:
    """1 where the relation holds, 0 where not, missing where one text is; each pair of texts is tested once."""
    present = (left.codes >= 0) & (right.codes >= 0)
    keys = np.zeros(len(left.codes), np.int64)
    pairs = left.codes[present].astype(np.int64) * max(len(right.values), 1) + right.codes[present]
    distinct, which = np.unique(pairs, return_inverse=True)
    holds = RELATIONS[relation]
    found = [
        holds(left.values[one].decode(), right.values[other].decode())
        for one, other in zip(*(part.tolist() for part in np.divmod(distinct, max(len(right.values), 1))), strict=True)
    ]
    keys[present] = np.array(found, np.int64)[which] if found else 0
    return KeyColumn(keys, present)


def _ranks(column: TextColumn, ranks: dict[bytes, int]) -> NDArray[np.int64]:
    return np.array([*(ranks[value] for value in column.values), -1], np.int64)[column.codes]


def _signs(
    left: NDArray[np.int64], in_left: NDArray[np.bool_], right: NDArray[np.int64], in_right: NDArray[np.bool_]
) -> KeyColumn:
    present = in_left & in_right
    signs = (left >= right).astype(np.int64) + (left > right)
    return KeyColumn(np.where(present, signs, 0), present)
