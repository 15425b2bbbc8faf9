"""The types that an attribute can have."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from vedette.errors import SchemaError


class Kind(enum.Enum):
    """The scalar types, with their names in schemas."""

    INT = "int"
    FLOAT = "float"
    STRING = "string"
    BOOL = "bool"
    TIMESTAMP = "timestamp"
    DATE = "date"
    IP = "ip"
    POINT = "point"
    REGION = "region"

    __hash__ = object.__hash__  # Enum's own hash is written in Python, and columns are hashed very often

    @property
    def keyed(self) -> bool:
        """Whether values have an order-preserving int64 key (see `vedette.schema.keys`)."""
        return self in _KEYED

    @property
    def textual(self) -> bool:
        """Whether values have an order-preserving bytes key: UTF-8, or the 16 bytes of an address."""
        return self in (Kind.STRING, Kind.IP)

    @property
    def ordered(self) -> bool:
        """Whether values can be compared with <."""
        return self.keyed or self.textual

    @property
    def numeric(self) -> bool:
        """Whether values are numbers."""
        return self in (Kind.INT, Kind.FLOAT)


_KEYED = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE})


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar kind, or a list of one."""

    kind: Kind
    is_list: bool = False

    def __str__(self) -> str:
        return f"list of {self.kind.value}" if self.is_list else self.kind.value

    @property
    def element(self) -> Type:
        """The type of one element of a list; the type itself for a scalar."""
        return Type(self.kind)


INT, FLOAT, STRING, BOOL = Type(Kind.INT), Type(Kind.FLOAT), Type(Kind.STRING), Type(Kind.BOOL)
TIMESTAMP, DATE, IP = Type(Kind.TIMESTAMP), Type(Kind.DATE), Type(Kind.IP)
POINT, REGION = Type(Kind.POINT), Type(Kind.REGION)


def parse_type(text: str) -> Type:
    """Parse `"int"`, `"list of string"` (also `"list<string>"`) as a Type."""
    words = text.strip().lower().replace("list<", "list of ").rstrip(">").split()
    is_list = words[:2] == ["list", "of"]
    name = " ".join(words[2:] if is_list else words)
    try:
        return Type(Kind(name), is_list)
    except ValueError:
        known = ", ".join(kind.value for kind in Kind)
        raise SchemaError(f"unknown type {text!r}\nHint: a type is one of {known}, or 'list of' one of them") from None
