"""The schema: the attributes of events, with their types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vedette.errors import SchemaError
from vedette.schema.paths import SHORTER, over_limit
from vedette.schema.types import STRING, Kind, Type, parse_type

# Names that YAML reads back unchanged; all others are printed in quotes.
_PLAIN = re.compile(r"(?!(?:null|true|false|yes|no|on|off)\Z)[A-Za-z_][\w.-]*(\.\*)?\Z", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Schema(Mapping[str, Type]):
    """Types by dotted attribute path; `attrs.*` is every key of the map `attrs`.

    A `closed` schema has every attribute: using another one is an error. In an open one an unknown
    attribute takes the type that the filter's constants suggest. The attributes in `mixed` are strings (or
    lists of them) whose other values - numbers among names, say - are read as their JSON text, not rejected.
    """

    attributes: Mapping[str, Type] = field(default_factory=dict)
    closed: bool = True
    mixed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, attributes: Mapping[str, Any], *, closed: bool = True) -> Schema:
        """`Schema.of({"price": "float", "tags": "list of string", "order": {"total": "float"}})`.

        Besides the types there are `map of …` (every key below this one) and `mixed` (see the class).
        """
        types: dict[str, Type] = {}
        mixed: set[str] = set()
        for path, spelling in _flattened(attributes, ""):
            path, type_, takes_all = _parsed(path, spelling)
            if types.setdefault(path, type_) != type_:
                raise SchemaError(f"attribute {path!r} is given twice: as {types[path]} and as {type_}")
            if takes_all:
                mixed.add(path)
        return cls(types, closed, frozenset(mixed))

    def type_of(self, path: str) -> Type | None:
        """The type of an attribute, by its own name or that of a map it is in; None if unknown."""
        declared = self._declared(path)
        return None if declared is None else self.attributes[declared]

    def takes_all(self, path: str) -> bool:
        """Whether the attribute is a mixed string: values of other types are read as their JSON text."""
        return bool(self.mixed) and self._declared(path) in self.mixed

    def spelling(self, path: str) -> str:
        """The type of an entry as `of` and schema files write it."""
        type_ = self.attributes[path]
        if path not in self.mixed:
            return str(type_)
        return "list of mixed" if type_.is_list else "mixed"

    def _declared(self, path: str) -> str | None:
        if path in self.attributes:
            return path
        while "." in path:
            path = path.rpartition(".")[0]
            if f"{path}.*" in self.attributes:
                return f"{path}.*"
        return None

    def __getitem__(self, path: str) -> Type:
        return self.attributes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __str__(self) -> str:
        """One `path: type` a line: a schema file in YAML."""
        return "\n".join(f"{_named(path)}: {self.spelling(path)}" for path in self.attributes)


def _named(path: str) -> str:
    if _PLAIN.match(path):
        return path
    escaped = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in path)
    return f'"{"".join(escaped)}"'


def _flattened(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, spelling in attributes.items():
        if not isinstance(name, str) or not name:
            raise SchemaError(
                f"{prefix + str(name)!r} is no attribute name\nHint: a name is a text, not empty; put it in quotes"
            )
        if isinstance(spelling, Mapping):
            _check_name(f"{prefix}{name}")
            yield from _flattened(spelling, f"{prefix}{name}.")
        else:
            _check_name(prefix + name)
            yield prefix + name, spelling


def _check_name(path: str) -> None:
    """SchemaError if a name has too many or too long parts."""
    problem = over_limit(path)
    if problem is not None:
        raise SchemaError(f"{problem}\nHint: {SHORTER}")


def _parsed(path: str, spelling: object) -> tuple[str, Type, bool]:
    if isinstance(spelling, Type):
        return path, spelling, False
    if not isinstance(spelling, str):
        raise SchemaError(
            f"the type of attribute {path!r} is {spelling!r}, not a type's name\n"
            'Hint: write e.g. "float", "list of string", "map of string", or an object of attributes'
        )
    words = spelling.strip().lower().split()
    if words[:2] == ["map", "of"]:
        path, words = f"{path}.*", words[2:]
    if words == ["mixed"]:
        return path, STRING, True
    if words == ["list", "of", "mixed"]:
        return path, Type(Kind.STRING, is_list=True), True
    try:
        return path, parse_type(" ".join(words)), False
    except SchemaError as error:
        raise SchemaError(f"attribute {path!r}: {error}") from None
