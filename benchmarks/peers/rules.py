"""Rules as data: what is asked of an event, before it is said in anybody's language.

Truth is SQL's: a test of an attribute that is missing is neither true nor false, and so is its negation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

Op: TypeAlias = Literal[
    "=", "<", "<=", ">", ">=", "between", "in", "contains", "startswith", "endswith", "like", "null", "has"
]  # like: (pieces between wildcards); has: a list of texts has an element
OPPOSITES: dict[str, Op] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
TEXT_OPS = ("contains", "startswith", "endswith", "like")


class CannotSay(Exception):
    """A peer's language has no way to say a rule; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Test:
    """One attribute compared with constants: a value, two bounds (between, both inside), or several (in)."""

    field: str
    op: Op
    value: Any
    negated: bool = False

    __test__ = False  # nothing that pytest should collect


@dataclass(frozen=True, slots=True)
class All:
    """Everything holds; nothing at all always does."""

    parts: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Something of it holds."""

    parts: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """It does not hold."""

    part: Rule


Rule: TypeAlias = Test | All | Either | Not


def tests(rule: Rule) -> Iterator[Test]:
    """All tests of a rule."""
    match rule:
        case Test():
            yield rule
        case Not(part):
            yield from tests(part)
        case All(parts) | Either(parts):
            for part in parts:
                yield from tests(part)


def without_not(rule: Rule, *, negated: bool = False) -> Rule:
    """The same with negation only at single tests, and numbers compared the other way round instead."""
    match rule:
        case Not(part):
            return without_not(part, negated=not negated)
        case All(parts) | Either(parts):
            kind = Either if isinstance(rule, All) is negated else All
            return kind(tuple(without_not(part, negated=negated) for part in parts))
        case Test():
            said = rule if rule.negated is negated is False else replace(rule, negated=rule.negated is not negated)
            return _turned(said) if said.negated else said


def _turned(test: Test) -> Rule:
    if test.op in OPPOSITES:
        return Test(test.field, OPPOSITES[test.op], test.value)
    if test.op == "between":
        low, high = test.value
        return Either((Test(test.field, "<", low), Test(test.field, ">", high)))
    return test


def conjunctions(rule: Rule, most: int = 64) -> list[tuple[Test, ...]]:
    """Or of ands, for languages that have no more; CannotSay if that is more than `most`."""

    def spread(part: Rule) -> list[tuple[Test, ...]]:
        match part:
            case All(parts):
                choices = [spread(one) for one in parts]
                size = 1
                for choice in choices:
                    size *= len(choice)
                if size > most:
                    raise CannotSay(f"more than {most} conjunctions")
                return [tuple(test for one in chosen for test in one) for chosen in product(*choices)]
            case Either(parts):
                return [one for each in parts for one in spread(each)]
            case Test():
                return [(part,)]
            case Not():
                raise TypeError("negation is at tests only by now")

    found = spread(without_not(rule))
    if len(found) > most:
        raise CannotSay(f"more than {most} conjunctions")
    return found
