"""Combines tests of attributes in Vedette's language, without parts that others imply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from vedette.language import ast
from vedette.language.ast import Comparator, Comparison, Filter

TRUE: Final = ast.TruthLiteral(True)
FALSE: Final = ast.TruthLiteral(False)


LARGEST: Final = 250  # tests, and ANDs and ORs of them, before an expression is left to the operator
DEEPEST: Final = 40  # ANDs and ORs inside one another

LazyFilter: TypeAlias = Filter | Callable[[], Filter]


class ExpressionTooLarge(Exception):
    """Raised for a short expression whose translation is too large: nested ANDs and ORs double the tests of errors."""


class TruthConditions:
    """When a Boolean expression is true, when it is false, and when it is either, i.e. without an error.

    Each part is lazy: most are never needed.
    """

    __slots__ = ("_parts",)

    def __init__(self, holds: LazyFilter, fails: LazyFilter, fine: LazyFilter) -> None:
        self._parts: list[LazyFilter] = [holds, fails, fine]

    @property
    def holds(self) -> Filter:
        """When it is true."""
        return self._made(0)

    @property
    def fails(self) -> Filter:
        """When it is false."""
        return self._made(1)

    @property
    def fine(self) -> Filter:
        """When it is true or false, without an error."""
        return self._made(2)

    @property
    def inverse(self) -> TruthConditions:
        """The conditions of its negation."""
        return TruthConditions(lambda: self.fails, lambda: self.holds, lambda: self.fine)

    def otherwise(self, other: TruthConditions) -> TruthConditions:
        """The same conditions, with those of `other` where they are too large."""
        return TruthConditions(
            lambda: self._or(lambda: other.holds, 0),
            lambda: self._or(lambda: other.fails, 1),
            lambda: self._or(lambda: other.fine, 2),
        )

    def _or(self, other: Callable[[], Filter], number: int) -> Filter:
        try:
            return self._made(number)
        except ExpressionTooLarge:
            return other()

    def _made(self, number: int) -> Filter:
        part = self._parts[number]
        if callable(part):
            part = self._parts[number] = part()
        return part


NEVER: Final = TruthConditions(FALSE, FALSE, FALSE)
ALWAYS: Final = TruthConditions(TRUE, FALSE, TRUE)

# ---------------------------------------------------------------- one test


def text(name: str) -> ast.View:
    """An attribute as text, whatever its type."""
    return ast.View("text", ast.Attribute(name))


def integer(name: str) -> ast.View:
    """An attribute as a whole number, also if it is the text of one."""
    return ast.View("integer", ast.Attribute(name))


def some(reading: ast.Reading, name: str) -> ast.QuantifiedAttribute:
    """Some leaf that a view finds in an attribute."""
    return ast.QuantifiedAttribute("any", ast.View(reading, ast.Attribute(name)))


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
    """The AND of filters."""
    found = _flattened(parts, ast.And)
    if FALSE in found:
        return FALSE
    kept = _with_one_exclusion([part for part in found if part != TRUE])
    needed = frozenset[str]().union(*(_needs(part) for part in kept if _presence_of(part) is None))
    kept = [part for part in kept if _presence_of(part) not in needed]
    return kept[0] if len(kept) == 1 else ast.And(tuple(kept)) if kept else TRUE


def any_of(*parts: Filter) -> Filter:
    """The OR of filters."""
    found = _flattened(parts, ast.Or)
    if TRUE in found:
        return TRUE
    alternatives = _with_one_list([part for part in found if part != FALSE])
    others = set(alternatives)
    there = frozenset(filter(None, map(_presence_of, alternatives)))
    kept = [part for part in alternatives if not _implies_one(part, others, there)]
    return kept[0] if len(kept) == 1 else ast.Or(tuple(kept)) if kept else FALSE


def both(outcomes: Sequence[TruthConditions]) -> TruthConditions:
    """AND: evaluated from the left, up to the first that is false."""
    if len(outcomes) == 1:
        return outcomes[0]
    # AND is associative, so they are combined in a way that does not nest deeply.
    half = len(outcomes) // 2
    left, right = both(outcomes[:half]), both(outcomes[half:])
    return TruthConditions(
        lambda: all_of(left.holds, right.holds),
        lambda: _bounded(any_of(left.fails, all_of(left.fine, right.fails))),
        lambda: _bounded(all_of(left.fine, any_of(left.fails, right.fine))),
    )


def either(outcomes: Sequence[TruthConditions]) -> TruthConditions:
    """OR: evaluated from the left, up to the first that is true."""
    return both([each.inverse for each in outcomes]).inverse


def differing(left: TruthConditions, right: TruthConditions) -> TruthConditions:
    """XOR."""
    return TruthConditions(
        lambda: _bounded(any_of(all_of(left.holds, right.fails), all_of(left.fails, right.holds))),
        lambda: _bounded(any_of(all_of(left.holds, right.holds), all_of(left.fails, right.fails))),
        lambda: _bounded(all_of(left.fine, right.fine)),
    )


def _bounded(part: Filter) -> Filter:
    waiting, seen = [(part, 0)], 0
    while waiting:
        part_of, depth = waiting.pop()
        seen += 1
        if seen > LARGEST or depth > DEEPEST:
            raise ExpressionTooLarge
        if isinstance(part_of, ast.And | ast.Or):
            waiting += [(each, depth + 1) for each in part_of.parts]
    return part


def untrue(made: Filter) -> Filter:
    """The filter for: another one is not true, i.e. false or unknown."""
    match made:
        case ast.TruthLiteral(value):
            return FALSE if value else TRUE
        case ast.And(parts):
            return any_of(*map(untrue, parts))
        case ast.Or(parts):
            return all_of(*map(untrue, parts))
        case ast.Not(ast.And(parts)):
            return all_of(*(untrue(ast.Not(part)) for part in parts))
        case ast.Not(ast.IsNull() | ast.Call() as part):
            return part
        case ast.IsNull() | ast.Call():
            return ast.Not(made)
        case ast.Not(part):
            return any_of(*map(ast.IsNull, _viewed(part)), part)
    return any_of(*map(ast.IsNull, _viewed(made)), none_of(made))


def _viewed(part: Filter) -> list[ast.View]:
    """The views that a test reads: it is unknown only if one of these is null."""
    operands = [operand for leaf in ast.leaves_of(part) for operand in leaf.operands()]
    whole = (each.attribute if isinstance(each, ast.QuantifiedAttribute) else each for each in operands)
    return [each for each in whole if isinstance(each, ast.View)]


def _flattened(parts: Iterable[Filter], node: type[ast.And] | type[ast.Or]) -> list[Filter]:
    found: dict[Filter, None] = {}
    for part in parts:
        found.update(dict.fromkeys(part.parts if isinstance(part, node) else (part,)))
    return list(found)


def _with_one_list(parts: list[Filter]) -> list[Filter]:
    """Merge `x = a or x in (b, c)` into one list."""
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


def _with_one_exclusion(parts: list[Filter]) -> list[Filter]:
    """Merge `x != a and x not in (b, c)` into one list."""
    inside = [_excluded(part) for part in parts]
    if sum(each is not None for each in inside) < 2:
        return parts
    joined = _with_one_list([each for each in inside if each is not None])
    return [*(part for part, each in zip(parts, inside, strict=True) if each is None), *map(none_of, joined)]


def _excluded(part: Filter) -> Filter | None:
    match part:
        case Comparison(ast.View() as view, Comparator.NE, ast.Literal(str() as value)):
            return equal(view, value)
        case ast.Not(ast.In(ast.View()) as inside):
            return inside
    return None


def none_of(test: Filter) -> Filter:
    """The negation of a test: `not x = a` as `x != a`, but not for a test of some element of a list."""
    match test:
        case Comparison(ast.View() as view, Comparator.EQ, ast.Literal(value)):
            return different(view, value)
    return ast.Not(test)


def _listed(part: Filter) -> tuple[ast.Operand, tuple[ast.Constant, ...]]:
    """The operand and the constants of a part that is an equality or a list."""
    match part:
        case Comparison(operand, Comparator.EQ, ast.Literal(str() as value)):
            return operand, (value,)
        case ast.In(operand, items):
            return operand, tuple(item.value for item in items)
    return ast.Literal(None), ()


def _implies_one(part: Filter, alternatives: set[Filter], there: frozenset[str]) -> bool:
    """Whether the part implies another alternative, as far as that is easily seen."""
    if isinstance(part, ast.And) and not alternatives.isdisjoint(part.parts):
        return True
    return bool(there) and _presence_of(part) is None and not there.isdisjoint(_needs(part))


def _presence_of(part: Filter) -> str | None:
    """The attribute, if a part tests only its presence."""
    match part:
        case ast.Not(ast.IsNull(ast.View("text", attribute))):
            return attribute.path
    return None


def _needs(part: Filter) -> frozenset[str]:
    """The attributes that are present whenever the part holds."""
    match part:
        case ast.And(parts):
            return frozenset().union(*map(_needs, parts))
        case ast.Or(parts):
            return frozenset.intersection(*map(_needs, parts))
        case ast.Test() if part.needs_values:
            return frozenset().union(*map(_read_by, part.operands()))
        case ast.Not(ast.IsNull(operand) | Comparison(operand) | ast.In(operand) | ast.TextTest(operand)):
            # A null attribute has no leaves, for which `not any(…)` is true.
            return _read_by(operand) if isinstance(operand, ast.View) else frozenset()
    return frozenset()


def _read_by(operand: ast.Operand) -> frozenset[str]:
    match operand:
        case ast.View("text" | "integer", attribute) | ast.QuantifiedAttribute("any", ast.View(_, attribute)):
            return frozenset((attribute.path,))
    return frozenset()
