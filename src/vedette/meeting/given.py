"""What may be handed in as the constraints of one side, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from vedette.errors import FilterError, InputError
from vedette.meeting.reading import Constraint, Constraints
from vedette.schema.keys import read
from vedette.schema.types import Kind

# Id -> text, or records with `id`, `when` and perhaps `expires`.
Given: TypeAlias = Mapping[str, str] | Iterable[Mapping[str, Any]]
_KEYS = ("id", "when", "expires", "publisher", "subscriber")


class Record(NamedTuple):
    """A constraint that somebody hands in."""

    id: str
    when: str
    expires: dt.datetime | None


def records_of(given: Given, side: str) -> Iterator[Record]:
    """The records in order; InputError says which is wrong and why."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(
            f"the {side}s are a {type(given).__name__}\n"
            'Hint: hand in id -> text, or records with "id" and "when"; files are read by the command `vedette meet`'
        )
    if isinstance(given, Mapping):
        given = [{"id": id_, "when": when} for id_, when in given.items()]
    for record in given:
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
        yield Record(id_, when, None if expires is None else moment_of(expires))


def texts_of(given: Given, side: str) -> dict[str, str]:
    """Id -> text of those whose time is not over, in order."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    moment = now()
    for record in records_of(given, side):
        if record.id in seen:
            raise InputError(f"the id {record.id!r} is taken by another {side}\nHint: give every one its own id")
        seen.add(record.id)
        if record.expires is None or record.expires > moment:
            found[record.id] = record.when
    return found


def now() -> dt.datetime:
    """The time, with its zone."""
    return dt.datetime.now(dt.UTC)


def moment_of(given: Any) -> dt.datetime:
    """A time with its zone; InputError if it is none."""
    try:
        moment: dt.datetime = read(Kind.TIMESTAMP, given)
    except ValueError as error:
        raise InputError(f"{error}\nHint: 2026-05-01T12:30:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def read_all(texts: Mapping[str, str], constraints: Constraints, side: str) -> list[Constraint]:
    """The constraints of texts; FilterError says whose text is wrong."""
    made = []
    for id_, text in texts.items():
        try:
            made.append(constraints.read(text))
        except FilterError as error:
            raise error.of(f"{side} {id_!r}") from None
    return made
