"""SQL's WHERE, for a query per rule in DuckDB and Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.peers.rules import All, CannotSay, Either, Not, Rule, Test

_ESCAPE = "!"


def duckdb(rule: Rule) -> str:
    """For DuckDB."""
    return _said(rule, lambda text: "'" + text.replace("'", "''") + "'")


def spark(rule: Rule) -> str:
    """For Spark SQL, where a backslash in a literal is an escape."""
    return _said(rule, lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")


def _said(rule: Rule, quote: Callable[[str], str]) -> str:
    match rule:
        case All(()):
            return "TRUE"
        case All(parts):
            return "(" + " AND ".join(_said(part, quote) for part in parts) + ")"
        case Either(parts):
            return "(" + " OR ".join(_said(part, quote) for part in parts) + ")"
        case Not(part):
            return f"(NOT {_said(part, quote)})"
        case Test():
            return f"(NOT {_test(rule, quote)})" if rule.negated else _test(rule, quote)


def _test(test: Test, quote: Callable[[str], str]) -> str:
    field, value = f'"{test.field}"' if "." in test.field else test.field, test.value

    def literal(one: Any) -> str:
        return quote(one) if isinstance(one, str) else repr(one)

    match test.op:
        case "=" | "<" | "<=" | ">" | ">=":
            return f"{field} {test.op} {literal(value)}"
        case "between":
            return f"{field} BETWEEN {literal(value[0])} AND {literal(value[1])}"
        case "in":
            return f"{field} IN ({', '.join(map(literal, value))})"
        case "contains" | "startswith" | "endswith" | "like":
            pieces = {"contains": ("", value, ""), "startswith": (value, ""), "endswith": ("", value)}.get(
                test.op, value
            )
            pattern = "%".join(re.sub(r"([%_!])", r"!\1", piece) for piece in pieces)
            return f"{field} LIKE {quote(pattern)} ESCAPE '{_ESCAPE}'"
        case "null":
            return f"{field} IS NULL"
        case "has":
            return f"array_contains({field}, {literal(value)})"
    raise CannotSay(test.op)
