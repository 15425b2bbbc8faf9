"""Encodes constraints into the rows that Spark joins: in Python workers, a batch of texts at a time.

A row is a disjunct: its owner's id, its keys (see `cells`), and what it allows each attribute to be: l, h (lowest and
highest key; null: it has no test of the attribute), and where a term needs it n (null is allowed), m (spans, if there
are several), q (the kind of test of a list), y, z (south and north of a place) and w (the place).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from vedette.errors import FilterError
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.spark.meeting.axes import COORDINATES
from vedette.spark.meeting.cells import ALL_LOWEST, LOWEST, CellDesign, CellKeys
from vedette.spark.meeting.plan import MeetingPlan, Signature
from vedette.spark.meeting.side_facts import SatisfiableConstraints, bad_constraints, records_of
from vedette.spark.meeting.terms import CommonAttribute, TermColumns, columns_of, disjuncts_of

WORD = 63  # attributes to a number
SIDES = ("publication", "subscription")


def columns(attribute: CommonAttribute, number: int) -> list[tuple[str, DataType]]:
    """The columns for what is allowed of an attribute."""
    key: DataType = BinaryType() if attribute.textual else LongType()
    made: list[tuple[str, DataType]] = [(f"l{number}", key), (f"h{number}", key)]
    if attribute.null:
        made.append((f"n{number}", BooleanType()))
    if attribute.several:
        span = StructType([StructField("l", key), StructField("h", key)])
        made.append((f"m{number}", ArrayType(span)))
    if attribute.place:
        made += [(f"y{number}", LongType()), (f"z{number}", LongType()), (f"w{number}", StringType())]
    elif attribute.is_list:
        made.append((f"q{number}", ByteType()))
    return made


def row_type(plan: MeetingPlan, ranked: bool) -> StructType:
    """The type of the rows; with the texts and numbers of disjuncts, if pairs are to be ranked."""
    made: list[tuple[str, DataType]] = [("id", StringType()), ("keys", ArrayType(LongType()))]
    if ranked:
        made += [("text", StringType()), ("part", IntegerType())]
    if plan.shared:
        made += [(f"has{word}", LongType()) for word in range(words(plan))]
    for number, attribute in enumerate(plan.attributes):
        made += columns(attribute, number)
    return StructType([StructField(name, type_) for name, type_ in made])


def words(plan: MeetingPlan) -> int:
    """How many integers hold the bits of the attributes that a disjunct has."""
    return -(-len(plan.attributes) // WORD)


def encoding(
    plan: MeetingPlan, schema: Schema, side: int, ranked: bool, types: Any, columns: Sequence[Column] | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a worker runs over all its batches of `id` and `when`; `types` are the Arrow types of the rows.

    Where some constraints are bad, `columns` are those of both sides: what cannot be met by these is left out.
    """

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoder = ConstraintEncoder(plan, side, ranked, types)
        if columns is not None:
            good = SatisfiableConstraints(schema, columns)
            for batch in batches:
                yield encoder.batch(*good.of(batch)[:2])
            return
        constraints = Constraints(schema)
        for batch in batches:
            ids, read = [], []
            for id_, text in records_of(batch):
                try:
                    read.append(constraints.read(text))
                except FilterError as error:
                    raise bad_constraints(SIDES[side], [(id_, str(error))], 1) from None
                ids.append(id_)
            yield encoder.batch(ids, read)

    return rows


class ConstraintEncoder:
    """Encodes batches of one side."""

    def __init__(self, plan: MeetingPlan, side: int, ranked: bool, types: Any) -> None:
        self._plan, self._side, self._ranked, self._types = plan, side, ranked, types
        self._signatures: dict[tuple[str, ...], Signature | None] = {}
        self._first: dict[Signature, CellDesign | None] = {}
        self._apart: dict[Signature, NDArray[np.int64]] = {}

    def batch(self, ids: Sequence[str], constraints: Sequence[Constraint]) -> pa.RecordBatch:
        """The rows of constraints; disjuncts that can meet nothing are left out."""
        plan = self._plan
        disjuncts = disjuncts_of(constraints)
        found = columns_of(disjuncts, plan.numbers, plan.attributes)
        signatures = [self._signature(tuple(term.column.path for term in one.terms)) for one in disjuncts]
        row, key = self._keys(found, signatures)
        order = np.argsort(row, kind="stable")
        count = np.bincount(row, minlength=len(disjuncts))
        ends = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
        owner = [id_ for id_, one in zip(ids, constraints, strict=True) for _ in one.disjuncts]
        made = [pa.array(owner, pa.string()), pa.ListArray.from_arrays(pa.array(ends), pa.array(key[order]))]
        if self._ranked:
            made.append(pa.array([one.text for one in constraints for _ in one.disjuncts], pa.string()))
            made.append(pa.array([part for one in constraints for part in range(len(one.disjuncts))], pa.int32()))
        if plan.shared:
            made += [_has(signatures, word) for word in range(words(plan))]
        for terms in found:
            made += _columns(terms, len(disjuncts))
        arrays = [array.cast(field.type) for array, field in zip(made, self._types, strict=True)]
        whole = pa.RecordBatch.from_arrays(arrays, schema=self._types)
        return whole.filter(pa.array(count > 0))

    def _signature(self, paths: tuple[str, ...]) -> Signature | None:
        """The attributes of a disjunct that count; None if the other side lacks one that has to be there."""
        if paths not in self._signatures:
            numbers = [self._plan.numbers.get(path) for path in paths]
            lost = self._plan.asking == self._side and None in numbers
            self._signatures[paths] = None if lost else frozenset(one for one in numbers if one is not None)
        return self._signatures[paths]

    def _keys(self, found: Sequence[TermColumns], signatures: Sequence[Signature | None]) -> CellKeys:
        plan = self._plan
        if plan.asking == self._side:
            groups: dict[int, list[int]] = {}
            for row, signature in enumerate(signatures):
                design = None if signature is None else self._by(signature)
                if design is not None:
                    groups.setdefault(design.path, []).append(row)
            parts = [
                design.keys(found, np.array(groups[design.path], np.int64), self._side)
                for design in plan.designs
                if design.path in groups
            ]
        else:
            parts = [
                design.keys(found, _rows_with(found, design, len(signatures)), self._side) for design in plan.designs
            ]
            if plan.shared:
                parts.append(self._apart_keys(signatures))
        nothing = np.zeros(0, np.int64)
        return (
            np.concatenate([nothing, *(row for row, _ in parts)]),
            np.concatenate([nothing, *(key for _, key in parts)]),
        )

    def _by(self, signature: Signature) -> CellDesign | None:
        if signature not in self._first:
            self._first[signature] = self._plan.first(signature)
        return self._first[signature]

    def _apart_keys(self, signatures: Sequence[Signature | None]) -> CellKeys:
        """Keys for the signatures that share no attribute with a disjunct's: all pairs of these meet."""
        rows, keys = [], []
        path = self._plan.apart_path << (COORDINATES + LOWEST)
        for row, signature in enumerate(signatures):
            known = self._apart.get(signature or frozenset())
            if known is None:
                known = self._apart_of(signature or frozenset())
            rows.append(np.full(len(known), row, np.int64))
            keys.append(known << LOWEST | path | ALL_LOWEST)
        return np.concatenate(rows), np.concatenate(keys)

    def _apart_of(self, signature: Signature) -> NDArray[np.int64]:
        numbered = self._plan.apart
        if self._side == 1:
            made = [numbered[signature]]
        else:
            made = [number for other, number in numbered.items() if not signature & other]
        self._apart[signature] = np.array(made, np.int64)
        return self._apart[signature]


def _rows_with(found: Sequence[TermColumns], design: CellDesign, count: int) -> NDArray[np.int64]:
    """The disjuncts that have all attributes of a design."""
    there = np.ones(count, np.bool_)
    for number in design.attributes:
        has = np.zeros(count, np.bool_)
        has[found[number].rows] = True
        there &= has
    return np.flatnonzero(there)


def _has(signatures: Sequence[Signature | None], word: int) -> Any:
    known: dict[Signature, int] = {}
    made = []
    for signature in signatures:
        mine = signature or frozenset()
        if mine not in known:
            known[mine] = sum(1 << number % WORD for number in mine if number // WORD == word)
        made.append(known[mine])
    return pa.array(made, pa.int64())


def _columns(terms: TermColumns, count: int) -> list[pa.Array]:
    attribute = terms.attribute
    place = _TermPlacement(terms.rows, count)
    key = pa.binary() if attribute.textual else pa.int64()
    made = [place.of(terms.low, key), place.of(terms.high, key)]
    if attribute.null:
        made.append(place.of(terms.null, pa.bool_()))
    if attribute.several:
        spans = [
            None if several is None else [{"l": low, "h": high} for low, high in several] for several in terms.spans
        ]
        made.append(place.of(spans, pa.list_(pa.struct([("l", key), ("h", key)]))))
    if attribute.place:
        made += [place.of(terms.south, key), place.of(terms.north, key), place.of(terms.place, pa.string())]
    elif attribute.is_list:
        made.append(place.of(terms.sort, pa.int8()))
    return made


class _TermPlacement:
    """Aligns the terms of an attribute with their disjuncts."""

    def __init__(self, rows: NDArray[np.int64], count: int) -> None:
        self._all = len(rows) == count
        if not self._all:
            where = np.full(count, -1, np.int64)
            where[rows] = np.arange(len(rows))
            self._where = pa.array(where, mask=where < 0)

    def of(self, values: Sequence[Any], type_: pa.DataType) -> pa.Array:
        """An array with nulls where a disjunct has no term."""
        made = pa.array(values, type_)
        return made if self._all else made.take(self._where)
