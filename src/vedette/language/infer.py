"""Infers the types of attributes without a schema from the constants that one filter compares them with."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.errors import FilterError
from vedette.language.ast import (
    And,
    Attribute,
    Comparison,
    Filter,
    In,
    InNetwork,
    Literal,
    Near,
    Not,
    Operand,
    Or,
    QuantifiedAttribute,
    Range,
    TextTest,
    View,
    Within,
)
from vedette.language.subjects import attribute_of
from vedette.language.type_families import SUGGESTED, family, named
from vedette.schema.types import Kind, Type

# Addresses and times may be read from text, so if there are texts too, the attribute is a string.
_READ_FROM_TEXT = frozenset({Kind.STRING, Kind.IP, Kind.TIMESTAMP})


def inferred(node: Filter, text: str) -> dict[str, Type]:
    """Path -> type, for every attribute that is compared with a constant; FilterError if constants disagree."""
    types: dict[str, Type] = {}
    evidence = list(_evidence(node))
    contained = {id(operand) for operand in _contained(node)}
    lists = {attribute_of(operand).path for operand, _ in evidence if isinstance(operand, QuantifiedAttribute)}
    for operand, kind in evidence:
        attribute = attribute_of(operand)
        if operand is attribute and attribute.path in lists and id(attribute) in contained:
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


def _contained(node: Filter) -> Iterator[Operand]:
    """The operands of `contains`, which may be strings or lists."""
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _contained(part)
    elif isinstance(node, Not):
        yield from _contained(node.part)
    elif isinstance(node, TextTest) and node.kind == "contains" and not node.ignore_case:
        yield node.operand


def _evidence(node: Filter) -> Iterator[tuple[Attribute | QuantifiedAttribute, Kind]]:
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _evidence(part)
    elif isinstance(node, Not):
        yield from _evidence(node.part)
    elif isinstance(node, Comparison):
        yield from _compared(node.left, node.right)
        yield from _compared(node.right, node.left)
    elif isinstance(node, Range):
        yield from _compared(node.operand, node.low)
        yield from _compared(node.operand, node.high)
    elif isinstance(node, In):
        for item in node.items:
            yield from _compared(node.operand, item)
    elif isinstance(node, TextTest):
        yield from _tested(node.operand, Kind.STRING)
    elif isinstance(node, InNetwork):
        yield from _tested(node.operand, Kind.IP)
    elif isinstance(node, Within | Near):
        yield from _tested(node.operand, Kind.POINT)


def _compared(operand: Operand, other: Operand) -> Iterator[tuple[Attribute | QuantifiedAttribute, Kind]]:
    suggested = family(other.value) if isinstance(other, Literal) else None
    if suggested is not None:
        yield from _tested(operand, SUGGESTED[suggested])


def _tested(operand: Operand, kind: Kind) -> Iterator[tuple[Attribute | QuantifiedAttribute, Kind]]:
    if isinstance(operand, QuantifiedAttribute) and isinstance(operand.attribute, View):
        return  # it implies nothing about the attribute's own type
    if isinstance(operand, Attribute | QuantifiedAttribute):
        yield operand, kind
