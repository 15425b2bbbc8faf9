"""Facts of a side that planning needs, collected in the workers in one pass.

Bad constraints are reported here, all of them counted, before anything is joined: they are set aside, or an error.
"""

from __future__ import annotations

import heapq
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from vedette.errors import FilterError, InputError
from vedette.language.valuesets import ValueSet, has_fractions
from vedette.meeting.constraint_parser import Constraint, Constraints, Term
from vedette.meeting.constraint_table import AttributeSpace
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, parse_type
from vedette.spark.meeting.axes import is_bounded
from vedette.spark.meeting.plan import SIGNATURES
from vedette.spark.meeting.terms import is_points, number_all, spans_of

SAMPLED = 1024  # constraints of a side
_TOLD = 5  # bad constraints in full

_log = logging.getLogger("vedette.spark")


@dataclass
class SideFacts:
    """Facts of one side, or of a part of it."""

    disjuncts: int = 0
    repeated: bool = False  # a pair may be found several times: by other disjuncts, or other values of a list
    columns: list[Column] = field(default_factory=list)
    null: set[str] = field(default_factory=set)  # attributes some set of which has null in it
    several: set[str] = field(default_factory=set)  # … has several spans
    empty: set[str] = field(default_factory=set)  # … has no value in it
    ranges: set[str] = field(default_factory=set)  # … is more than a list of values
    between: set[str] = field(default_factory=set)  # … begins or ends between two floats
    signatures: Counter[tuple[str, ...]] = field(default_factory=Counter)
    complete: bool = True
    bad: list[tuple[str, str]] = field(default_factory=list)
    bad_count: int = 0
    sample: list[tuple[int, str]] = field(default_factory=list)  # hash of the id, text; the lowest ones

    def add(self, id_: str, constraint: Constraint, space: AttributeSpace) -> None:
        """Add a constraint."""
        space.check(constraint, {})
        number_all(space, constraint)
        self.disjuncts += len(constraint.disjuncts)
        self.repeated |= len(constraint.disjuncts) > 1
        for disjunct in constraint.disjuncts:
            self.signatures[tuple(term.column.path for term in disjunct.terms)] += 1
            for term in disjunct.terms:
                self._see(term)
        self.sample.append((zlib.crc32(id_.encode()), constraint.text))
        if len(self.sample) >= 4 * SAMPLED:
            self.prune()

    def _see(self, term: Term) -> None:
        path, allowed = term.column.path, term.allowed
        if not is_points(term):
            self.ranges.add(path)
        values = allowed if isinstance(allowed, ValueSet) else getattr(allowed, "values", None)
        if isinstance(values, ValueSet):
            if values.null:
                self.null.add(path)
            if term.column.type.kind is Kind.FLOAT and has_fractions(values):
                self.between.add(path)
            if not values.intervals:
                self.empty.add(path)
            if len(values.intervals) > 1:
                self.several.add(path)
                textual = term.column.type.kind.textual
                self.repeated |= is_bounded(spans_of(values, textual), textual)

    def prune(self) -> None:
        """Shrink the sample and the signatures to what the merged facts need."""
        self.sample = heapq.nsmallest(SAMPLED, self.sample)
        if len(self.signatures) > SIGNATURES:
            self.complete = False
            self.signatures = Counter(dict(self.signatures.most_common(SIGNATURES)))

    def merge(self, other: SideFacts) -> None:
        """Add the facts of another part."""
        self.disjuncts += other.disjuncts
        self.repeated |= other.repeated
        self.columns += other.columns
        self.null |= other.null
        self.several |= other.several
        self.empty |= other.empty
        self.ranges |= other.ranges
        self.between |= other.between
        self.signatures.update(other.signatures)
        self.complete &= other.complete
        self.bad += other.bad
        self.bad_count += other.bad_count
        self.sample += other.sample
        self.prune()

    def as_json(self) -> str:
        """The facts as they are sent to the driver."""
        self.prune()
        return json.dumps(
            {
                "disjuncts": self.disjuncts,
                "repeated": self.repeated,
                "columns": [(one.path, str(one.type), one.other) for one in self.columns],
                "null": sorted(self.null),
                "several": sorted(self.several),
                "empty": sorted(self.empty),
                "ranges": sorted(self.ranges),
                "between": sorted(self.between),
                "signatures": [(list(paths), count) for paths, count in self.signatures.items()],
                "complete": self.complete,
                "bad": self.bad,
                "bad_count": self.bad_count,
                "sample": self.sample,
            }
        )

    @classmethod
    def of_json(cls, text: str) -> SideFacts:
        """The reverse of `as_json`."""
        said = json.loads(text)
        return cls(
            said["disjuncts"],
            said["repeated"],
            [Column(path, parse_type(type_), other) for path, type_, other in said["columns"]],
            set(said["null"]),
            set(said["several"]),
            set(said["empty"]),
            set(said["ranges"]),
            set(said["between"]),
            Counter({tuple(paths): count for paths, count in said["signatures"]}),
            said["complete"],
            [(id_, message) for id_, message in said["bad"]],
            said["bad_count"],
            [(hashed, text) for hashed, text in said["sample"]],
        )


def facts_of(frame: DataFrame, schema: Schema, side: str, *, strict: bool = True) -> SideFacts:
    """The facts of a side, a DataFrame with `id` and `when`.

    Bad constraints are counted and logged, or, if it is strict, InputError says which they are, and why.
    """
    found = SideFacts()
    for row in frame.mapInArrow(_reading(schema), "facts string").collect():
        found.merge(SideFacts.of_json(row[0]))
    log_rejected(side, found.bad, found.bad_count, strict=strict)
    return found


def log_rejected(side: str, bad: Sequence[tuple[str, str]], count: int, *, strict: bool) -> None:
    """Log the constraints of a side that are set aside, or, if it is strict, raise an error that lists them."""
    if strict and count:
        raise bad_constraints(side, bad, count)
    if count:
        _log.warning("%s", bad_constraints(side, bad, count, "set aside, the others are met"))


def bad_constraints(
    side: str, bad: Iterable[tuple[str, str]], count: int, consequence: str = "nothing was met"
) -> InputError:
    """An error that lists the bad constraints of a side."""
    told = [f"{side} {id_!r}\n" + "\n".join(f"  {line}" for line in message.splitlines()) for id_, message in bad]
    total = f"1 {side} is bad" if count == 1 else f"{count:,} {side}s are bad"
    more = "" if count <= _TOLD else f", {_TOLD} of which are shown"
    return InputError("\n\n".join([*told[:_TOLD], f"{total}{more}; {consequence}."]))


def _reading(schema: Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def facts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found, space, constraints = SideFacts(), AttributeSpace(), Constraints(schema)
        for batch in batches:
            for id_, text in records_of(batch):
                try:
                    check_there(id_, text)
                    found.add(id_, constraints.read(text), space)
                except FilterError as error:
                    found.bad_count += 1
                    if len(found.bad) < _TOLD:
                        found.bad.append((str(id_), str(error)))
        found.columns = list(space.columns)
        yield pa.RecordBatch.from_arrays([pa.array([found.as_json()])], ["facts"])

    return facts


def check_there(id_: object, text: object) -> None:
    """FilterError if a row has no id, or no constraint."""
    if id_ is None or text is None:
        raise FilterError(f"it has no {'id' if id_ is None else 'constraint'}")


def rejected_of(frame: DataFrame, schema: Schema, columns: Sequence[Column]) -> DataFrame:
    """`publication` and `reason` of the publications that are set aside, given the attributes of both sides."""

    def rejected(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        good = SatisfiableConstraints(schema, columns)
        for batch in batches:
            _, _, bad = good.of(batch)
            yield pa.RecordBatch.from_arrays(
                [pa.array([each[part] for each in bad], pa.string()) for part in (0, 1)], ["publication", "reason"]
            )

    return frame.mapInArrow(rejected, "publication string, reason string")


class SatisfiableConstraints:
    """Separates good constraints from bad ones, which are those that `facts_of` counts."""

    def __init__(self, schema: Schema, columns: Sequence[Column]) -> None:
        self._constraints, self._space = Constraints(schema), AttributeSpace()
        for column in columns:
            self._space.number(column)

    def of(self, batch: pa.RecordBatch) -> tuple[list[str], list[Constraint], list[tuple[str | None, str]]]:
        """Ids and constraints of a batch, and ids and reasons of the bad ones."""
        ids, read, bad = [], [], []
        for id_, text in records_of(batch):
            try:
                check_there(id_, text)
                constraint = self._constraints.read(text)
                self._space.check(constraint, {})
            except FilterError as error:
                bad.append((id_, str(error)))
            else:
                ids.append(id_)
                read.append(constraint)
        return ids, read, bad


def records_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, Any]]:
    """Ids and texts of a batch."""
    return zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
