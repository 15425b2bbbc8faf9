"""Vedette's own language."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.rules import All, CannotSay, Either, Not, Rule, Test


def text(rule: Rule) -> str:
    """A filter."""
    match rule:
        case All(()):
            return "true"
        case All(parts):
            return " and ".join(_inner(part) for part in parts)
        case Either(parts):
            return " or ".join(_inner(part) for part in parts)
        case Not(part):
            return f"not ({text(part)})"
        case Test():
            return f"not ({_test(rule)})" if rule.negated else _test(rule)


def _inner(rule: Rule) -> str:
    return f"({text(rule)})" if isinstance(rule, All | Either) and len(rule.parts) != 1 else text(rule)


def _test(test: Test) -> str:
    field, value = test.field, test.value
    match test.op:
        case "=" | "<" | "<=" | ">" | ">=":
            return f"{field} {test.op} {_literal(value)}"
        case "between":
            return f"{field} between {_literal(value[0])} and {_literal(value[1])}"
        case "in":
            return f"{field} in ({', '.join(map(_literal, value))})"
        case "contains" | "startswith" | "endswith":
            return f"{field} {test.op} {_literal(value)}"
        case "like":
            return f"{field} like {_literal('%'.join(map(_escaped, value)))}"
        case "null":
            return f"{field} is null"
        case "has":
            return f"any({field}) = {_literal(value)}"
    raise CannotSay(test.op)


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _escaped(piece: str) -> str:
    return piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
