"""Read the constraints of one side from Python values, and report what is wrong with them."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from vedette.errors import FilterError, InputError
from vedette.meeting.constraint_parser import Constraint, Constraints
from vedette.schema.keys import read
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.meeting.constraint_table import AttributeSpace

# Id -> text, or records with `id`, `when` and perhaps `expires`.
ConstraintsInput: TypeAlias = Mapping[str, str] | Iterable[Mapping[str, Any]]
_KEYS = ("id", "when", "expires", "publisher", "subscriber")


class ConstraintRecord(NamedTuple):
    """A constraint with its id, as given by the caller."""

    id: str
    when: str
    expires: dt.datetime | None
    row: int  # the how manieth that was handed in, from 0


@dataclass(frozen=True, slots=True)
class RejectedConstraint:
    """A publication or subscription that was rejected."""

    side: str
    row: int  # the how manieth that was handed in, from 0
    id: str | None  # None: it has none
    reason: str

    def __str__(self) -> str:
        whose = f"row {self.row}" if self.id is None else repr(self.id)
        return f"{self.side} {whose}: {self.reason}"


Rejects: TypeAlias = list[RejectedConstraint]


def records_of(given: ConstraintsInput, side: str, rejects: Rejects | None = None) -> Iterator[ConstraintRecord]:
    """The records in order; InputError for a wrong one, unless it is put into `rejects`."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(
            f"the {side}s are a {type(given).__name__}\n"
            'Hint: hand in id -> text, or records with "id" and "when"; files are read by the command `vedette meet`'
        )
    if isinstance(given, Mapping):
        given = [{"id": id_, "when": when} for id_, when in given.items()]
    for row, one in enumerate(given):
        try:
            record = _record(one, side, row)
        except InputError as error:
            if rejects is None:
                raise
            id_ = one.get("id") if isinstance(one, Mapping) else None
            rejects.append(RejectedConstraint(side, row, id_ if isinstance(id_, str) else None, str(error)))
            continue
        yield record


def _record(record: object, side: str, row: int) -> ConstraintRecord:
    if not isinstance(record, Mapping) or "id" not in record or "when" not in record:
        raise InputError(f'{record!r} is no {side}\nHint: a record has "id" and "when"')
    id_, when, expires = record["id"], record["when"], record.get("expires")
    if not isinstance(id_, str) or not id_.strip():
        raise InputError(f"a {side} has the id {id_!r}\nHint: an id is a text that is not empty")
    if not isinstance(when, str):
        raise InputError(f"the {side} {id_!r} asks for {when!r}, which is no text\nHint: write it as text")
    for key in record:
        near = [] if key in _KEYS else difflib.get_close_matches(str(key), set(_KEYS) - record.keys(), 1)
        if near:
            raise InputError(f"the {side} {id_!r} has {key!r}, which is not known\nHint: did you mean {near[0]!r}?")
    return ConstraintRecord(id_, when, None if expires is None else moment_of(expires), row)


def current_records(given: ConstraintsInput, side: str, rejects: Rejects | None = None) -> dict[str, ConstraintRecord]:
    """Id -> record, without expired ones, in order; errors are raised, or put into `rejects`."""
    found: dict[str, ConstraintRecord] = {}
    seen: set[str] = set()
    moment = now()
    for record in records_of(given, side, rejects):
        if record.id in seen:
            error = InputError(f"the id {record.id!r} is taken by another {side}\nHint: give every one its own id")
            if rejects is None:
                raise error
            rejects.append(RejectedConstraint(side, record.row, record.id, str(error)))
            continue
        seen.add(record.id)
        if record.expires is None or record.expires > moment:
            found[record.id] = record
    return found


def now() -> dt.datetime:
    """The current time, with its zone."""
    return dt.datetime.now(dt.UTC)


def moment_of(given: Any) -> dt.datetime:
    """A time with its zone; InputError if it is not one."""
    try:
        moment: dt.datetime = read(Kind.TIMESTAMP, given)
    except ValueError as error:
        raise InputError(f"{error}\nHint: 2026-05-01T12:30:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def read_all(
    records: dict[str, ConstraintRecord],
    constraints: Constraints,
    side: str,
    space: AttributeSpace,
    rejects: Rejects | None = None,
) -> list[Constraint]:
    """Parse the constraints of records; FilterError names the record whose text is wrong.

    With `rejects` such records are put there and left out, also if an attribute has another type in the `space`.
    """
    made = []
    for record in list(records.values()):
        try:
            constraint = constraints.read(record.when)
            if rejects is not None:
                space.take(constraint)
        except FilterError as error:
            if rejects is None:
                raise error.of(f"{side} {record.id!r}") from None
            rejects.append(RejectedConstraint(side, record.row, record.id, str(error)))
            del records[record.id]
        else:
            made.append(constraint)
    return made
