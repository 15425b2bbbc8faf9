"""The language of the Rust crate a-tree: Boolean expressions over declared attributes; no tests of parts of a text."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from benchmarks.peers.rules import All, CannotSay, Either, Not, Rule, Test, without_not


def text(rule: Rule, kinds: Mapping[str, str], always: str) -> str:
    """An expression; numbers have the form that their attribute's type asks for."""
    match rule:
        case All(()):
            return f"{always} is not null"
        case All(parts):
            return _joined(" and ", [text(part, kinds, always) for part in parts])
        case Either(parts):
            return _joined(" or ", [text(part, kinds, always) for part in parts])
        case Not(part):
            return text(without_not(Not(part)), kinds, always)
        case Test():
            return _test(rule, kinds[rule.field])


def _joined(word: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else "(" + word.join(parts) + ")"


def _test(test: Test, kind: str) -> str:
    field, value = test.field, test.value
    match test.op:
        case "=":
            return f"{field} {'<>' if test.negated else '='} {_literal(value, kind)}"
        case "in" if kind != "float":
            return f"{field} {'not in' if test.negated else 'in'} ({', '.join(_literal(one, kind) for one in value)})"
        case "<" | "<=" | ">" | ">=":
            return f"{field} {test.op} {_literal(value, kind)}"
        case "between":
            return f"({field} >= {_literal(value[0], kind)} and {field} <= {_literal(value[1], kind)})"
        case "has":
            return f"{field} {'none of' if test.negated else 'one of'} ({_literal(value, 'string')})"
        case "null":
            return f"{field} {'is not null' if test.negated else 'is null'}"
    raise CannotSay("parts of texts")


def _literal(value: Any, kind: str) -> str:
    if kind in ("string", "strings"):
        if "'" in value or '"' in value or "\\" in value:
            raise CannotSay("quotes in texts")
        return f"'{value}'"
    if kind == "int":
        return repr(int(value))
    said = f"{Decimal(repr(float(value))):f}"
    return said if "." in said else said + "."
