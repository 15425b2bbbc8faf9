"""The input and output of dialects: rules, and the result of translating each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from vedette.errors import DialectError, LimitError, NotSupported

Rule: TypeAlias = str | Mapping[str, Any]  # as text, or as parsed JSON or YAML
Refusal: TypeAlias = DialectError | NotSupported | LimitError

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class RuleDescription(NamedTuple):
    """The rule's own facts, if its dialect has any: its id, and its title, level, author, tags and so on."""

    id: str | None = None
    origin: Mapping[str, Any] = NOTHING


class RuleTranslation(NamedTuple):
    """A rule in Vedette's language, with its own facts."""

    when: str
    origin: Mapping[str, Any] = NOTHING
    id: str | None = None

    def __str__(self) -> str:
        return self.when


class RuleDocument(NamedTuple):
    """A text that holds one rule or several (YAML documents), with the name of its file."""

    text: str
    place: str


class RuleResult(NamedTuple):
    """The result of translating one rule of a collection.

    `made` is None if a rule only serves others, such as rules that a Sigma correlation refers to.
    """

    place: str  # for people: the file, and the number of the document if there are several
    described: RuleDescription
    made: RuleTranslation | Refusal | None
    rule: str = ""  # as it was written
