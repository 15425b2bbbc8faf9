"""Two attributes of an event compared: 0, 1, 2 for less, equal, greater."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.schema.arrays import float_keys
from vedette.schema.columns import ColumnData, KeyColumn, TextColumn
from vedette.schema.types import BOOL, FLOAT, INT, STRING, TIMESTAMP, Kind, Type

# How one text can be in another: without regard to case, where the name begins with an i.
RELATIONS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda one, other: other in one,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "icontains": lambda one, other: other.lower() in one.lower(),
    "istartswith": lambda one, other: one.lower().startswith(other.lower()),
    "iendswith": lambda one, other: one.lower().endswith(other.lower()),
}

_SIGNLESS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_READ_FROM_TEXT = (Kind.TIMESTAMP, Kind.DATE, Kind.IP)


def compared_as(left: Type | None, right: Type | None) -> list[tuple[Type, Type]]:
    """The types as which two attributes are compared, the first reading that gives both values counting.

    None stands for an attribute that the schema does not know: its values say what they are. An int and a float
    stay what they are, since they are compared exactly. Empty where there is no common order.
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
    """The comparison of two columns of the types of `compared_as`, missing where one of them is."""
    if isinstance(left, TextColumn) and isinstance(right, TextColumn):
        ranks = {value: rank for rank, value in enumerate(sorted({*left.values, *right.values}))}
        return _signs(_ranks(left, ranks), left.codes >= 0, _ranks(right, ranks), right.codes >= 0)
    if not isinstance(left, KeyColumn) or not isinstance(right, KeyColumn):
        raise TypeError(f"{type(left).__name__} and {type(right).__name__} have no common order")
    if left_kind is right_kind:
        return _signs(left.keys, left.present, right.keys, right.present)
    if left_kind is Kind.INT:
        return _exactly(left, right)
    swapped = _exactly(right, left)
    return KeyColumn(np.where(swapped.present, 2 - swapped.keys, 0), swapped.present)


def related(left: TextColumn, relation: str, right: TextColumn) -> KeyColumn:
    """1 where the texts are related so, 0 where they are not, missing where one of them is; each two texts once."""
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


def _exactly(integers: KeyColumn, floats: KeyColumn) -> KeyColumn:
    """Integers against floats without rounding: a tie after rounding is decided among the integers."""
    rounded = _signs(float_keys(integers.keys.astype(np.float64)), integers.present, floats.keys, floats.present)
    bits = floats.keys ^ ((floats.keys >> 63) & _SIGNLESS)
    numbers = bits.view(np.float64)
    tie = rounded.present & (rounded.keys == 1)
    beyond = tie & (numbers >= 2.0**63)  # an integer was rounded up to 2**63, which is greater than all of them
    whole = np.where(tie & ~beyond, numbers, 0.0).astype(np.int64)
    exact = (integers.keys >= whole).astype(np.int64) + (integers.keys > whole)
    return KeyColumn(np.where(beyond, 0, np.where(tie, exact, rounded.keys)), rounded.present)
