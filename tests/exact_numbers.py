"""Random filters over numbers that floats round, and what they say of an event by Python's exact arithmetic.

Nothing here uses the library: a filter is a tree of tuples, which is written as text, and whose truth is worked out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Truth = bool | None
Tree = tuple[Any, ...]

_EDGES = (2**53, -(2**53), 2**54, 2**62, -(2**62), 2**63, -(2**63), 2**64, -(2**64), 1846987654321098753)
_SMALL = (0, 1, -1, 5, 0.5, -0.5, -0.0, 1e-310, 2.5, 1e300, -1e300, 2**70, 2**70 + 1, -(2**70) - 1)
_ODD = (math.inf, -math.inf, math.nan)
_OPS = ("=", "!=", "<", "<=", ">", ">=")
PATHS = ("x", "y")
LISTS = ("l",)


def number(rng: random.Random) -> float:
    """An integer or float, mostly near to where floats begin to round, or where 64 bits end."""
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(_SMALL)
    if kind < 0.2:
        return rng.choice(_ODD)
    near = rng.choice(_EDGES) + rng.choice((0, 0, 1, -1, 2, -2, 3, -3, 1024, 2048, -2048, -2049))
    return float(near) if rng.random() < 0.3 else near


def read(value: float) -> float:
    """What an event's number counts as: an integer beyond 64 bits as the nearest float."""
    return value if isinstance(value, float) or -(2**63) <= value < 2**64 else float(value)


def order(left: float, right: float) -> int:
    """-1, 0, 1 as left is below, equal to or above right, exactly; NaN is above all."""
    ranks = [(2, Fraction(0)) if math.isnan(one) else _finite(one) for one in (left, right)]
    return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])


def _finite(value: float) -> tuple[int, Fraction]:
    if isinstance(value, float) and math.isinf(value):
        return (1 if value > 0 else -1), Fraction(0)
    return 0, Fraction(value)


def event(rng: random.Random) -> dict[str, Any]:
    """Numbers, a list of numbers; some are missing."""
    made: dict[str, Any] = {path: number(rng) for path in PATHS if rng.random() < 0.9}
    if rng.random() < 0.8:
        made["l"] = [number(rng) for _ in range(rng.randrange(4))]
    return made


def tree(rng: random.Random, depth: int = 2) -> Tree:
    """A random filter."""
    kind = rng.random() if depth else 1.0
    if kind < 0.25:
        return ("not", tree(rng, depth - 1))
    if kind < 0.6:
        return (rng.choice(("and", "or")), tree(rng, depth - 1), tree(rng, depth - 1))
    kind = rng.random()
    subject = ("any", "l") if kind < 0.12 else ("all", "l") if kind < 0.2 else ("of", rng.choice(PATHS))
    kind = rng.random()
    if kind < 0.55:
        return ("is", subject, rng.choice(_OPS), number(rng))
    if kind < 0.7:
        return ("between", subject, number(rng), number(rng))
    if kind < 0.9 or subject[0] != "of":
        return ("in", subject, tuple(number(rng) for _ in range(rng.choice((1, 3, 12, 25)))))
    return ("pair", "x", rng.choice(_OPS), "y")


# ---------------------------------------------------------------- as text


def text(node: Tree) -> str:
    """The filter in the language."""
    match node:
        case ("not", part):
            return f"not ({text(part)})"
        case ("and" | "or" as word, left, right):
            return f"({text(left)}) {word} ({text(right)})"
        case ("is", subject, op, constant):
            return f"{_subject(subject)} {op} {literal(constant)}"
        case ("between", subject, low, high):
            return f"{_subject(subject)} between {literal(low)} and {literal(high)}"
        case ("in", subject, constants):
            return f"{_subject(subject)} in ({', '.join(map(literal, constants))})"
        case ("pair", left, op, right):
            return f"{left} {op} {right}"
    raise ValueError(node)


def _subject(subject: Tree) -> str:
    return str(subject[1]) if subject[0] == "of" else f"{subject[0]}({subject[1]})"


def literal(value: float) -> str:
    """A number as the language writes it."""
    return f"float '{value}'" if isinstance(value, float) and not math.isfinite(value) else repr(value)


# ---------------------------------------------------------------- as truth


def truth(node: Tree, of: Mapping[str, Any]) -> Truth:
    """What the filter says of an event."""
    match node:
        case ("not", part):
            return _opposite(truth(part, of))
        case ("and", left, right):
            return _every([truth(left, of), truth(right, of)])
        case ("or", left, right):
            return _opposite(_every([_opposite(truth(left, of)), _opposite(truth(right, of))]))
        case ("pair", left, op, right):
            a, b = of.get(left), of.get(right)
            return None if a is None or b is None else _holds(order(read(a), read(b)), op)
        case (_, ("of", path), *_):
            return None if of.get(path) is None else _test(node, of[path])
        case (_, (quantifier, path), *_):
            if of.get(path) is None:
                return None
            found = [_test(node, value) for value in of[path]]
            return any(found) if quantifier == "any" else all(found)
    raise ValueError(node)


def _test(node: Tree, value: float) -> bool:
    value = read(value)
    match node:
        case ("is", _, op, constant):
            return _holds(order(value, constant), op)
        case ("between", _, low, high):
            return order(value, low) >= 0 and order(value, high) <= 0
        case ("in", _, constants):
            return any(order(value, constant) == 0 for constant in constants)
    raise ValueError(node)


def _holds(sign: int, op: str) -> bool:
    return {"=": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[op]


def _opposite(one: Truth) -> Truth:
    return None if one is None else not one


def _every(truths: list[Truth]) -> Truth:
    return False if False in truths else None if None in truths else True


# ---------------------------------------------------------------- tests of one attribute, and all that they tell apart


def plain_test(rng: random.Random, path: str) -> Tree:
    """One test of one attribute."""
    kind = rng.random()
    near = rng.choice((2**53, -(2**53), 2**63, 2**64 - 4096, 1846987654321098753))
    low, high = sorted(near + rng.randrange(-3, 4) for _ in range(2))
    if kind < 0.6:
        return ("is", ("of", path), rng.choice(_OPS), float(low) if rng.random() < 0.2 else low)
    if kind < 0.85:
        return ("between", ("of", path), low, high)
    return ("in", ("of", path), tuple(near + rng.randrange(-3, 4) for _ in range(3)))


def constants(node: Tree) -> list[float]:
    """Every constant of a filter."""
    match node:
        case ("is", _, _, constant):
            return [constant]
        case ("between", _, low, high):
            return [low, high]
        case ("in", _, several):
            return list(several)
        case (_, *parts):
            return [constant for part in parts if isinstance(part, tuple) for constant in constants(part)]
    return []


def told_apart(trees: list[Tree]) -> list[float]:
    """Numbers that have, for any other number, one that no test of these tells from it."""
    found = {constant for tree in trees for constant in constants(tree)}
    for constant in list(found):
        found |= {math.nextafter(constant, -math.inf), math.nextafter(constant, math.inf)}
        found |= {n for n in (math.floor(constant) - 1, math.floor(constant) + 1) if read(n) == n}
    return sorted(found)
