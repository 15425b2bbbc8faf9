"""Rules of hypermatch as JSON: conditions of fields, `$or` for alternatives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.rules import CannotSay, Rule, Test, conjunctions

_NUMBERS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def text(rule: Rule, always: str) -> str:
    """One rule; several conjunctions are alternatives of `$or`."""
    said = [_conditions(one, always) for one in conjunctions(rule)]
    return json.dumps(said[0] if len(said) == 1 else {"$or": said})


def _conditions(tests: Sequence[Test], always: str) -> dict[str, Any]:
    if not tests:
        return {always: {"exists": True}}
    fields: dict[str, list[Any]] = {}
    for test in tests:
        fields.setdefault(test.field, []).append(_pattern(test))
    return {field: said[0] if len(said) == 1 else {"allOf": said} for field, said in fields.items()}


def _pattern(test: Test) -> dict[str, Any]:
    if test.op == "null":
        return {"exists": test.negated}
    said = _positive(test)
    return {"anythingBut": [said]} if test.negated else said


def _positive(test: Test) -> dict[str, Any]:
    value = test.value
    match test.op:
        case "=" | "has":
            return {"equals": value} if isinstance(value, str) else {"eq": value}
        case "in":
            return {"anyOf": [{"equals": one} if isinstance(one, str) else {"eq": one} for one in value]}
        case "between":
            return {"between": list(value)}
        case "startswith":
            return {"prefix": value}
        case "endswith":
            return {"suffix": value}
        case "contains":
            return {"wildcard": f"*{_starless(value)}*"}
        case "like":
            return {"wildcard": "*".join(map(_starless, value))}
        case _ if test.op in _NUMBERS:
            return {_NUMBERS[test.op]: value}
    raise CannotSay(test.op)


def _starless(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")
