"""The language of the PyPI package rule-engine: comparisons, `and`, `or`, `not`, and regular expressions for texts."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.peers.rules import All, Either, Not, Rule, Test


def text(rule: Rule) -> str:
    """An expression; a missing attribute is null there, so that a test of one also asks that it is there."""
    match rule:
        case All(()):
            return "true"
        case All(parts):
            return "(" + " and ".join(map(text, parts)) + ")"
        case Either(parts):
            return "(" + " or ".join(map(text, parts)) + ")"
        case Not(part):
            return text(_inside(part))
        case Test():
            return _test(rule)


def _inside(rule: Rule) -> Rule:
    from benchmarks.peers.rules import without_not

    return without_not(Not(rule))


def _test(test: Test) -> str:
    if test.op == "null":
        return f"{test.field} {'!=' if test.negated else '=='} null"
    there = f"{test.field} != null"
    said = _said(test)
    return f"({there} and not ({said}))" if test.negated else f"({there} and {said})"


def _said(test: Test) -> str:
    field, value = test.field, test.value
    match test.op:
        case "=":
            return f"{field} == {_literal(value)}"
        case "between":
            return f"{field} >= {_literal(value[0])} and {field} <= {_literal(value[1])}"
        case "in":
            return f"{field} in [{', '.join(map(_literal, value))}]"
        case "has":
            return f"{_literal(value)} in {field}"
        case "contains" | "startswith" | "endswith" | "like":
            return f"{field} =~ {_literal(_regex(test))}"
        case _:
            return f"{field} {test.op} {_literal(value)}"


def _regex(test: Test) -> str:
    pieces = test.value if test.op == "like" else (test.value,)
    pattern = "[\\s\\S]*".join(map(re.escape, pieces))
    if test.op in ("contains", "endswith"):
        pattern = "[\\s\\S]*" + pattern
    return pattern + ("$" if test.op in ("endswith", "like") else "")


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)
