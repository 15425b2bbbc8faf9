"""What goes into a dialect, and what comes out: rules, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.errors import DialectError, LimitError, NotSupported

Rule: TypeAlias = str | Mapping[str, Any]  # as text, or as what JSON and YAML make of it
Refusal: TypeAlias = DialectError | NotSupported | LimitError

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Described(NamedTuple):
    """What a rule says of itself, where its dialect lets it: its id, and its title, level, author, tags and so on."""

    id: str | None = None
    origin: Mapping[str, Any] = NOTHING


class Translated(NamedTuple):
    """A rule in Vedette's language, with what it says of itself."""

    when: str
    origin: Mapping[str, Any] = NOTHING
    id: str | None = None

    def __str__(self) -> str:
        return self.when


class Document(NamedTuple):
    """A text that holds one rule or several (YAML documents), and where it was found: the name of its file."""

    text: str
    place: str


class Outcome(NamedTuple):
    """What became of one rule of a collection.

    `made` is None where a rule only serves others, as those do that a correlation of Sigma's names.
    """

    place: str  # for people: the file, and which of its documents it is where there are several
    described: Described
    made: Translated | Refusal | None
    rule: str = ""  # as it was written
