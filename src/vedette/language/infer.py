"""Infers the types of attributes without a schema from the constants that one filter compares them with."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.errors import FilterError
from vedette.language.subjects import attribute_of
from vedette.language.syntax import Attribute, Evidence, Filter, Literal, QuantifiedAttribute, View, leaves_of
from vedette.language.type_families import SUGGESTED, family, named
from vedette.schema.types import Kind, Type

# Addresses and times may be read from text, so if there are texts too, the attribute is a string.
_READ_FROM_TEXT = frozenset({Kind.STRING, Kind.IP, Kind.TIMESTAMP})


def inferred(node: Filter, text: str) -> dict[str, Type]:
    """Path -> type, for every attribute that is compared with a constant; FilterError if constants disagree."""
    types: dict[str, Type] = {}
    evidence = list(_evidence(node))
    lists = {attribute_of(operand).path for operand, _, _ in evidence if isinstance(operand, QuantifiedAttribute)}
    for operand, kind, or_list in evidence:
        attribute = attribute_of(operand)
        if operand is attribute and attribute.path in lists and or_list:
            continue  # `tags contains 'x'` beside `any(tags) …`: an element of the list
        found = Type(kind, isinstance(operand, QuantifiedAttribute))
        before = types.setdefault(attribute.path, found)
        if before == found:
            continue
        if before.is_list != found.is_list or not {before.kind, kind} <= _READ_FROM_TEXT:
            raise FilterError(
                f"{attribute.path} is used as {named(before)} and here as {named(found)}",
                text=text,
                start=attribute.span.start,
                end=attribute.span.end,
                hint="an attribute has one type",
            )
        types[attribute.path] = Type(Kind.STRING, found.is_list)
    return types


def _evidence(node: Filter) -> Iterator[tuple[Attribute | QuantifiedAttribute, Kind, bool]]:
    """Operands, the kinds that tests suggest for them, and whether they may also be lists of it."""
    for leaf in leaves_of(node):
        for said in leaf.evidence():
            kind, operand = _kind(said), said.operand
            if kind is None or not isinstance(operand, Attribute | QuantifiedAttribute):
                continue
            if isinstance(operand, Attribute) or not isinstance(operand.attribute, View):
                yield operand, kind, said.or_list  # a view implies nothing about the attribute's own type


def _kind(said: Evidence) -> Kind | None:
    if not isinstance(said.other, Literal):
        return said.kind
    suggested = family(said.other.value)
    return None if suggested is None else SUGGESTED[suggested]
