"""What may be handed in as the constraints of one side, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from vedette.errors import FilterError, InputError
from vedette.meeting.reading import Constraint, Constraints

# Id -> text, or records with `id` and `when`.
Given: TypeAlias = Mapping[str, str] | Iterable[Mapping[str, Any]]


def texts_of(given: Given, side: str) -> dict[str, str]:
    """Id -> text, in order; InputError says which record is wrong and why."""
    found: dict[str, str] = {}
    for id_, when in _records(given, side):
        if not isinstance(id_, str) or not id_.strip():
            raise InputError(f"a {side} has the id {id_!r}\nHint: an id is a text that is not empty")
        if not isinstance(when, str):
            raise InputError(f"the {side} {id_!r} is {when!r}, which is no text\nHint: write what it asks for as text")
        if id_ in found:
            raise InputError(f"the id {id_!r} is taken by another {side}\nHint: give every one its own id")
        found[id_] = when
    return found


def _records(given: Given, side: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(given, Mapping):
        yield from given.items()
        return
    for record in given:
        if not isinstance(record, Mapping) or "id" not in record or "when" not in record:
            raise InputError(f'{record!r} is no {side}\nHint: a record has "id" and "when"')
        yield record["id"], record["when"]


def read_all(texts: Mapping[str, str], constraints: Constraints, side: str) -> list[Constraint]:
    """The constraints of texts; FilterError says whose text is wrong."""
    made = []
    for id_, text in texts.items():
        try:
            made.append(constraints.read(text))
        except FilterError as error:
            raise error.of(f"{side} {id_!r}") from None
    return made
