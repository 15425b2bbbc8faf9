"""Infer a schema from constraints of both sides, by the constants with which attributes are compared.

It works like `vedette.language.infer` for one filter, with three differences. All texts are read, so that one with
`price = 1` and one with `price < 1.5` agree. If every number is written as an integer the attribute is an int: then
nothing lies between two neighbours. A text compared with a time or an address is read as one. Partial results can be
merged in any order: the schema is the same, however the texts were divided.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Final, NamedTuple

from vedette.errors import FilterError
from vedette.language import type_families
from vedette.language.ast import (
    Attribute,
    Evidence,
    Filter,
    Literal,
    Operand,
    QuantifiedAttribute,
    View,
    leaves_of,
)
from vedette.language.hints import shortened
from vedette.language.parser import parse_filter
from vedette.language.variables import inside
from vedette.schema.keys import INT_MAX, INT_MIN
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

_LONGEST = 4_000  # characters of a text that is worth remembering
_MOST = 10_000  # texts without their constants that are remembered
_STRING = re.compile(r"'(?:[^']++|'')*+'")
_FRACTION = re.compile(r"(?<![\w.])[0-9]++(?:\.(?!\.)[0-9]*+(?:[eE][+-]?[0-9]++)?+|[eE][+-]?[0-9]++)")
_WHOLE = re.compile(r"(?<![\w.])[0-9]{1,18}+(?![\w]|\.(?!\.))")
# In texts with these characters, what looks like a constant may be something else.
_UNCLEAR = re.compile(r"""[`"?$@;{}]|--|/\*""")


class OperandKind(enum.StrEnum):
    """The kind of value with which an attribute is compared, as named in messages."""

    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "a text"
    PATTERN = "a text, by a pattern"
    PART = "a text, or a list of texts"  # `contains`
    BOOLEAN = "a truth value"
    TIME = "a time"
    ADDRESS = "an ip address"
    PLACE = "a place"
    AREA = "a region"
    ANYTHING = "anything"  # only its presence is asked for, or nothing that tells a type


_OF_FAMILY: Final = {
    type_families.NUMBER: OperandKind.NUMBER,
    type_families.TEXT: OperandKind.TEXT,
    type_families.BOOLEAN: OperandKind.BOOLEAN,
    type_families.TIME: OperandKind.TIME,
    type_families.ADDRESS: OperandKind.ADDRESS,
    type_families.PLACE: OperandKind.PLACE,
    type_families.AREA: OperandKind.AREA,
}
_OF_KIND: Final = {kind: _OF_FAMILY[family] for kind, family in type_families.FAMILY_OF_KIND.items()} | {
    Kind.INT: OperandKind.WHOLE,
    Kind.STRING: OperandKind.PATTERN,
}
# Different uses of one attribute that go together.
_TOGETHER: Final = frozenset(
    frozenset(pair)
    for pair in (
        (OperandKind.WHOLE, OperandKind.NUMBER),
        (OperandKind.TEXT, OperandKind.PATTERN),
        (OperandKind.TEXT, OperandKind.TIME),
        (OperandKind.TEXT, OperandKind.ADDRESS),
        (OperandKind.PLACE, OperandKind.AREA),
    )
)
# The type of an attribute is that of the first of these uses that it has.
_KINDS: Final = {
    OperandKind.NUMBER: Kind.FLOAT,
    OperandKind.WHOLE: Kind.INT,
    OperandKind.BOOLEAN: Kind.BOOL,
    OperandKind.TIME: Kind.TIMESTAMP,
    OperandKind.ADDRESS: Kind.IP,
    OperandKind.PLACE: Kind.POINT,
    OperandKind.AREA: Kind.REGION,
}


class AttributeUse(NamedTuple):
    """One text's use of an attribute, with its place; plain values, so that it can be sent to other processes."""

    path: str
    use: str
    is_list: bool
    text: str
    start: int
    end: int
    name: str  # whose text it is; may be empty


def inferred_schema(texts: Iterable[str], names: Iterable[str] | None = None) -> Schema:
    """The (closed) schema of all these texts; FilterError for one that is invalid, or disagrees with another.

    `names` are the ids of the texts, for messages.
    """
    inference = Inference()
    for text, name in zip(texts, repeat("") if names is None else names, strict=False):
        try:
            inference.add(text, name)
        except FilterError as error:
            raise (error.of(name) if name else error) from None
    return inference.schema()


class Inference:
    """The uses of attributes found so far."""

    def __init__(self, said: Iterable[AttributeUse] = ()) -> None:
        self._said: dict[
            str, dict[tuple[str, bool], AttributeUse]
        ] = {}  # path -> use, list or not -> who said so first
        self._disputed: set[str] = set()  # reported once
        self._seen: set[str] = set()
        self.take(said)

    @property
    def disputed(self) -> frozenset[str]:
        """Attributes that texts use in conflicting ways."""
        return frozenset(self._disputed)

    @property
    def said(self) -> list[AttributeUse]:
        """All uses, e.g. to be merged elsewhere."""
        return [each for uses in self._said.values() for each in uses.values()]

    def add(self, text: str, name: str = "") -> None:
        """Add one text; FilterError if it cannot be read, or conflicts with others."""
        shape = _shape(text) if isinstance(text, str) else None
        if shape is not None and shape in self._seen:
            return
        self.take(
            [
                AttributeUse(attribute.path, use, is_list, text, attribute.span.start, attribute.span.end, name)
                for attribute, use, is_list in _uses(parse_filter(text))
            ]
        )
        if shape is not None:
            if len(self._seen) >= _MOST:
                self._seen.clear()
            self._seen.add(shape)

    def merge(self, other: Inference) -> None:
        """Add all uses that another one has found."""
        self.take(other.said)

    def take(self, said: Iterable[AttributeUse]) -> None:
        """Add uses; FilterError names two conflicting texts, once for an attribute."""
        failed = None
        for each in said:
            if each.path in self._disputed:
                continue
            uses = self._said.setdefault(each.path, {})
            if (each.use, each.is_list) in uses:
                continue
            against = next((other for other in uses.values() if not _agree(each, other)), None)
            if against is None:
                uses[each.use, each.is_list] = each
            else:
                self._disputed.add(each.path)
                failed = failed or _dispute(each, against)
        if failed is not None:
            raise failed

    def schema(self) -> Schema:
        """One type for each attribute, in the order of their names."""
        return Schema({path: _type(uses) for path, uses in sorted(self._said.items())}, closed=True)


def attributes_of(text: str) -> frozenset[str]:
    """The attributes in a text."""
    return frozenset(attribute.path for attribute, _, _ in _uses(parse_filter(text)))


def _agree(one: AttributeUse, other: AttributeUse) -> bool:
    """Whether an attribute may be used in both ways."""
    if OperandKind.ANYTHING in (one.use, other.use):
        return True
    if OperandKind.PART in (one.use, other.use):
        rest = one.use if other.use == OperandKind.PART else other.use
        return rest in (OperandKind.TEXT, OperandKind.PATTERN, OperandKind.PART)
    if one.is_list != other.is_list:
        return False
    return one.use == other.use or frozenset((one.use, other.use)) in _TOGETHER


def _type(uses: Iterable[tuple[str, bool]]) -> Type:
    found = list(uses)
    kind = next((kind for use, kind in _KINDS.items() if any(use == each for each, _ in found)), Kind.STRING)
    return Type(kind, any(is_list for _, is_list in found))


def _dispute(late: AttributeUse, early: AttributeUse) -> FilterError:
    where = early.name or "another text"
    if early.text == late.text and early.name == late.name:
        message = f"{late.path} is used as {_named(early)} and here as {_named(late)}"
    else:
        said = shortened(early.text, 80)
        message = f"{late.path} is used as {_named(late)} here, and as {_named(early)} in {where}: {said}"
    hint = "an attribute has one type on both sides; mend one of them, or give a schema"
    return FilterError(message, text=late.text, start=late.start, end=late.end, hint=hint)


def _named(said: AttributeUse) -> str:
    return f"a list, each element {said.use}" if said.is_list else said.use


def _shape(text: str) -> str | None:
    """A text without its constants: two texts of one shape use the same attributes in the same way."""
    if len(text) > _LONGEST:
        return None
    shape = _WHOLE.sub("0", _FRACTION.sub("0.0", _STRING.sub("''", text)))
    return None if _UNCLEAR.search(shape) else shape


# ---------------------------------------------------------------- what one text says


def _uses(node: Filter) -> Iterator[tuple[Attribute, OperandKind, bool]]:
    """Every attribute of a filter with the kinds of its comparisons, in the order of the text."""
    for leaf in leaves_of(node):
        for simpler in leaf.conjuncts():
            for said in simpler.evidence():
                yield from _used(said.operand, _use(said))


def _use(said: Evidence) -> OperandKind:
    if said.or_list:
        return OperandKind.PART
    return _OF_KIND[said.kind] if said.kind is not None else _use_beside(said.other)


def _used(operand: Operand, use: OperandKind) -> Iterator[tuple[Attribute, OperandKind, bool]]:
    read = operand.attribute if isinstance(operand, QuantifiedAttribute) else operand
    if isinstance(read, View):  # refused later; its attribute is to be known then
        yield read.attribute, OperandKind.ANYTHING, False
    elif isinstance(operand, QuantifiedAttribute) and isinstance(read, Attribute):
        yield read, use, True
    elif isinstance(operand, Attribute):
        yield operand, use, False
    else:
        for each in inside(operand):  # arithmetic is refused later; its attributes are to be known then
            if isinstance(each, Attribute):
                yield each, OperandKind.ANYTHING, False


def _use_beside(other: Operand | None) -> OperandKind:
    if not isinstance(other, Literal):
        return OperandKind.ANYTHING
    value = other.value
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return OperandKind.WHOLE
    found = type_families.family(value)
    return OperandKind.ANYTHING if found is None else _OF_FAMILY[found]
