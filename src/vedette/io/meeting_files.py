"""Read the constraints of both sides of a meeting from files, and write the pairs that meet, atomically."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vedette.errors import FilterError, InputError, NotSupported
from vedette.io.output import written
from vedette.io.subscription_problems import SubscriptionProblem, refusal
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.meeting.constraint_table import AttributeSpace
from vedette.meeting.inference import Inference, attributes_of
from vedette.schema.schema import Schema

_STRIDE = 4096  # records between two looks at the progress


class BadConstraints(InputError):
    """Constraints that stop the work; has the place and the reason for every one."""

    def __init__(self, sides: Sequence[ConstraintFile], consequence: str) -> None:
        parts = [part for side in sides for part in side.complaints()]
        total = "1 constraint is bad" if len(parts) == 1 else f"{len(parts):,} constraints are bad"
        super().__init__("\n\n".join([*parts, f"{total}; {consequence}."]))


@dataclass(slots=True)
class ConstraintFile:
    """The constraints of one file, in its order."""

    file: SubscriptionRows
    records: list[SubscriptionRecord] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    problems: list[SubscriptionProblem] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """The ids of the constraints."""
        return [record.id for record in self.records]

    def complaints(self, most: int | None = None) -> list[str]:
        """The reasons of rejects, each with its place, in the order of the file; all of them, or the first so many."""
        what = self.file.role.name
        ordered = sorted(self.problems, key=lambda problem: problem.line)[:most]
        return [f"{problem.where(self.file.name, what)}\n{problem}" for problem in ordered]

    def fetch(self, told: Callable[[float | None, int], None]) -> None:
        """Read all records; `told` is called now and then with the progress."""
        for number, record in enumerate(self.file, 1):
            if number % _STRIDE == 0:
                told(self.file.progress, number)
            error = refusal(record, dialects=False)
            if error is None:
                self.records.append(record)
            else:
                self.problems.append(SubscriptionProblem.of_error(record, error))
        self.problems += map(SubscriptionProblem.of_reject, self.file.rejects)

    def tell(self, inference: Inference) -> None:
        """Add all texts to an inference; those that are invalid, or disagree with others, are left out."""
        name, role = self.file.name, self.file.role.name
        self._keep(lambda record: inference.add(record.when, f"{role} {record.id!r} ({name}, line {record.line})"))

    def read(self, reader: Constraints, space: AttributeSpace) -> None:
        """Parse the constraint of every record; those that have none, or disagree about a type, are left out."""

        def take(record: SubscriptionRecord) -> None:
            constraint = reader.read(record.when)
            space.take(constraint)
            self.constraints.append(constraint)

        self._keep(take)

    def _keep(self, heard: Callable[[SubscriptionRecord], None]) -> None:
        kept = []
        for record in self.records:
            try:
                heard(record)
            except (FilterError, NotSupported) as error:
                self.problems.append(SubscriptionProblem.of_error(record, error))
            else:
                kept.append(record)
        self.records = kept


def settle(
    sides: Sequence[ConstraintFile],
    schema: Schema | None,
    *,
    strict: bool = False,
    consequence: str = "nothing was written",
) -> Schema:
    """Parse the constraints of all records, by a schema or by the inferred one; return the schema.

    Invalid ones are left out, and listed in the problems of their sides; if two disagree about the type of an
    attribute, that is the later one. If `strict`, BadConstraints has all that is wrong with any of them; also
    if all of a side are invalid, which means the wrong file rather than a bad row.
    """
    inference = Inference()
    if schema is None:
        for side in sides:
            side.tell(inference)
        schema = inference.schema()
    reader, space, disputed = Constraints(schema), AttributeSpace(), inference.disputed
    for side in sides:
        if strict and disputed:  # nobody knows their types, so that nothing more can be said of who uses them
            side.records = [record for record in side.records if disputed.isdisjoint(attributes_of(record.when))]
        side.read(reader, space)
    if any(side.problems and (strict or not side.constraints) for side in sides):
        raise BadConstraints(sides, consequence)
    return schema


_SLICE = 1 << 20  # rows that are made into text at once
_TEXT = pa.large_string()
_SIDES = ("publication", "subscription")


def write_meetings(table: pa.Table, place: str, format: str) -> None:
    """Write a table of `publication`, `subscription` and perhaps `rank` and `score`, as JSON lines or Parquet."""
    with written(place) as stream:
        if format == "parquet":
            pq.write_table(table, stream)
        else:
            ids = {side: _quoted(table.column(side)) for side in _SIDES}
            for begin in range(0, table.num_rows, _SLICE):
                rows = _lines(
                    table.slice(begin, _SLICE), {side: each.slice(begin, _SLICE) for side, each in ids.items()}
                )
                # The texts of an Arrow array lie in memory one after the other, without gaps.
                text = rows.buffers()[2]
                assert text is not None
                stream.write(memoryview(text))


def _lines(table: pa.Table, ids: dict[str, pa.Array]) -> pa.Array:
    parts: list[pa.Scalar | pa.Array] = [
        _text('{"publication": '),
        ids["publication"],
        _text(', "subscription": '),
        ids["subscription"],
    ]
    if "rank" in table.column_names:
        ranks = table.column("rank").combine_chunks().cast(_TEXT)
        scores = pa.array([_number(score) for score in table.column("score").to_pylist()], _TEXT)
        parts += [_text(', "rank": '), ranks, _text(', "score": '), scores]
    return pc.binary_join_element_wise(*parts, _text("}\n"), _text(""))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _quoted(ids: pa.ChunkedArray) -> pa.Array:
    """Ids as JSON strings, each encoded once, since there are fewer of them than rows."""
    encoded = ids.combine_chunks().dictionary_encode()
    quoted = pa.array([orjson.dumps(each).decode() for each in encoded.dictionary.to_pylist()], _TEXT)
    return quoted.take(encoded.indices)


def _number(score: float | None) -> str:
    """A number for JSON, which has neither infinity nor NaN: they become texts."""
    if score is None:
        return "null"
    return repr(score) if math.isfinite(score) else f'"{score}"'
