"""The schema: which attributes events have, and of which types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vedette.schema.types import Type, parse_type


@dataclass(frozen=True)
class Schema(Mapping[str, Type]):
    """Dotted attribute path -> type; `attrs.*` stands for every key of the map `attrs`.

    A `closed` schema knows every attribute: speaking of another one is an error. In an open one an unknown
    attribute takes the type that the filter's constants suggest.
    """

    attributes: Mapping[str, Type] = field(default_factory=dict)
    closed: bool = True

    @classmethod
    def of(cls, attributes: Mapping[str, str | Type], *, closed: bool = True) -> Schema:
        """`Schema.of({"price": "float", "tags": "list of string"})`."""
        return cls({path: parse_type(t) if isinstance(t, str) else t for path, t in attributes.items()}, closed)

    def type_of(self, path: str) -> Type | None:
        """The type of an attribute, by its own name or that of a map it is in; None if unknown."""
        found = self.attributes.get(path)
        while found is None and "." in path:
            path = path.rpartition(".")[0]
            found = self.attributes.get(f"{path}.*")
        return found

    def __getitem__(self, path: str) -> Type:
        return self.attributes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)
