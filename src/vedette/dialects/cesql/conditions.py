"""Tests of an event's attributes, in Vedette's language, put together without what others say already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from vedette.language import ast
from vedette.language.ast import Comparator, Comparison, Filter

TRUE: Final = ast.Truth(True)
FALSE: Final = ast.Truth(False)


class Outcome(NamedTuple):
    """Where a Boolean expression is true, where it is false, and where it is either: where nothing goes wrong."""

    holds: Filter
    fails: Filter
    fine: Filter

    @property
    def inverse(self) -> Outcome:
        """That of its negation."""
        return Outcome(self.fails, self.holds, self.fine)


NEVER: Final = Outcome(FALSE, FALSE, FALSE)
ALWAYS: Final = Outcome(TRUE, FALSE, TRUE)

# ---------------------------------------------------------------- one test


def text(name: str) -> ast.View:
    """An attribute as text, whatever its type."""
    return ast.View("text", ast.Attribute(name))


def some(reading: ast.Reading, name: str) -> ast.Quantified:
    """What is found in an attribute."""
    return ast.Quantified("any", ast.View(reading, ast.Attribute(name)))


def present(name: str) -> Filter:
    """The event has the attribute."""
    return ast.Not(ast.IsNull(text(name)))


def absent(name: str) -> Filter:
    """The event does not have the attribute."""
    return ast.IsNull(text(name))


def equal(operand: ast.Operand, value: ast.Constant) -> Filter:
    """`x = value`."""
    return Comparison(operand, Comparator.EQ, ast.Literal(value))


def different(operand: ast.Operand, value: ast.Constant) -> Filter:
    """`x != value`."""
    return Comparison(operand, Comparator.NE, ast.Literal(value))


def among(operand: ast.Operand, values: Iterable[ast.Constant]) -> Filter:
    """`x in (…)`."""
    items = tuple(map(ast.Literal, values))
    if len(items) < 2:
        return Comparison(operand, Comparator.EQ, items[0]) if items else FALSE
    return ast.In(operand, items)


def is_text(kind: ast.TextKind, name: str, pattern: str, *, ignore_case: bool = False) -> Filter:
    """`text(x) like 'pattern'`, `matches`, `startswith`, …"""
    return ast.TextTest(text(name), kind, ast.Literal(pattern), ignore_case)


# ---------------------------------------------------------------- several


def all_of(*parts: Filter) -> Filter:
    """Every part holds."""
    found = _flattened(parts, ast.And)
    if FALSE in found:
        return FALSE
    kept = [part for part in found if part != TRUE]
    needed = [(part, _needs(part)) for part in kept]
    for part in tuple(kept):
        name = _presence_of(part)
        if name is not None and any(name in needs for other, needs in needed if other != part):
            kept.remove(part)
    return kept[0] if len(kept) == 1 else ast.And(tuple(kept)) if kept else TRUE


def any_of(*parts: Filter) -> Filter:
    """Some part holds."""
    found = _flattened(parts, ast.Or)
    if TRUE in found:
        return TRUE
    kept = _with_one_list([part for part in found if part != FALSE])
    for weaker in tuple(kept):
        kept = [part for part in kept if part is weaker or not _implies(part, weaker)]
    return kept[0] if len(kept) == 1 else ast.Or(tuple(kept)) if kept else FALSE


def both(outcomes: Iterable[Outcome]) -> Outcome:
    """AND: from the left, and no further than to the first that is false."""
    *before, last = outcomes
    holds, fails, fine = last
    for each in reversed(before):
        fails = any_of(each.fails, all_of(each.fine, fails))
        fine = all_of(each.fine, any_of(each.fails, fine))
        holds = all_of(each.holds, holds)
    return Outcome(holds, fails, fine)


def either(outcomes: Iterable[Outcome]) -> Outcome:
    """OR: no further than to the first that is true."""
    return both(each.inverse for each in outcomes).inverse


def differing(left: Outcome, right: Outcome) -> Outcome:
    """XOR."""
    return Outcome(
        any_of(all_of(left.holds, right.fails), all_of(left.fails, right.holds)),
        any_of(all_of(left.holds, right.holds), all_of(left.fails, right.fails)),
        all_of(left.fine, right.fine),
    )


def _flattened(parts: Iterable[Filter], node: type[ast.And] | type[ast.Or]) -> list[Filter]:
    found: dict[Filter, None] = {}
    for part in parts:
        found.update(dict.fromkeys(part.parts if isinstance(part, node) else (part,)))
    return list(found)


def _with_one_list(parts: list[Filter]) -> list[Filter]:
    """`x = a or x in (b, c)` is one list."""
    listed: dict[ast.Operand, dict[ast.Constant, None]] = {}
    for part in parts:
        listed.setdefault(_listed(part)[0], {}).update(dict.fromkeys(_listed(part)[1]))
    made: list[Filter] = []
    for part in parts:
        operand, values = _listed(part)
        if not values:
            made.append(part)
        elif operand in listed:
            made.append(among(operand, listed.pop(operand)))
    return made


def _listed(part: Filter) -> tuple[ast.Operand, tuple[ast.Constant, ...]]:
    """The texts that a part compares something with."""
    match part:
        case Comparison(operand, Comparator.EQ, ast.Literal(str() as value)):
            return operand, (value,)
        case ast.In(operand, items):
            return operand, tuple(item.value for item in items)
    return ast.Literal(None), ()


def _implies(part: Filter, other: Filter) -> bool:
    """Wherever the part holds, so does the other, as far as it is easily seen."""
    if isinstance(part, ast.And) and other in part.parts:
        return True
    name = _presence_of(other)
    return name is not None and name in _needs(part)


def _presence_of(part: Filter) -> str | None:
    """The attribute whose presence is all that a part asks for."""
    match part:
        case ast.Not(ast.IsNull(ast.View("text", attribute))):
            return attribute.path
    return None


def _needs(part: Filter) -> frozenset[str]:
    """Attributes that are there wherever the part holds."""
    match part:
        case ast.And(parts):
            return frozenset().union(*map(_needs, parts))
        case ast.Or(parts):
            return frozenset.intersection(*map(_needs, parts))
        case Comparison(operand) | ast.In(operand) | ast.TextTest(operand) | ast.Range(operand):
            return _read_by(operand)
        case ast.Not(ast.IsNull(operand) | Comparison(operand) | ast.In(operand) | ast.TextTest(operand)):
            # Of an attribute that is null nothing can be found, which `not any(…)` takes for an answer.
            return _read_by(operand) if isinstance(operand, ast.View) else frozenset()
    return frozenset()


def _read_by(operand: ast.Operand) -> frozenset[str]:
    match operand:
        case ast.View("text", attribute) | ast.Quantified("any", ast.View(_, attribute)):
            return frozenset((attribute.path,))
    return frozenset()
