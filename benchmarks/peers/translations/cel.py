"""The Common Expression Language, as the PyPI package cel-python has it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from benchmarks.peers.rules import All, Either, Not, Rule, Test, without_not

EVENT = "e"  # the variable that holds the event


def text(rule: Rule, kinds: Mapping[str, str]) -> str:
    """An expression over one map; a test also asks that its attribute is there."""
    return _said(without_not(rule), kinds)


def _said(rule: Rule, kinds: Mapping[str, str]) -> str:
    match rule:
        case All(()):
            return "true"
        case All(parts):
            return "(" + " && ".join(_said(part, kinds) for part in parts) + ")"
        case Either(parts):
            return "(" + " || ".join(_said(part, kinds) for part in parts) + ")"
        case Not():
            raise TypeError("negation is at tests only by now")
        case Test():
            return _test(rule, kinds)


def _test(test: Test, kinds: Mapping[str, str]) -> str:
    there = f"has({EVENT}.{test.field})"
    if test.op == "null":
        return there if test.negated else f"!{there}"
    said = _compared(test, kinds[test.field])
    return f"({there} && !({said}))" if test.negated else f"({there} && {said})"


def _compared(test: Test, kind: str) -> str:
    field, value = f"{EVENT}.{test.field}", test.value
    match test.op:
        case "=":
            return f"{field} == {_literal(value, kind)}"
        case "between":
            return f"{field} >= {_literal(value[0], kind)} && {field} <= {_literal(value[1], kind)}"
        case "in":
            return f"{field} in [{', '.join(_literal(one, kind) for one in value)}]"
        case "has":
            return f"{field}.exists(one, one == {_literal(value, 'string')})"  # `in` gives a bool that is not CEL's
        case "contains":
            return f"{field}.contains({_literal(value, kind)})"
        case "startswith":
            return f"{field}.startsWith({_literal(value, kind)})"
        case "endswith":
            return f"{field}.endsWith({_literal(value, kind)})"
        case "like":
            pattern = "(?s)^" + ".*".join(re.escape(piece) for piece in value) + "$"
            return f"{field}.matches({_literal(pattern, 'string')})"
        case _:
            return f"{field} {test.op} {_literal(value, kind)}"


def _literal(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    return repr(float(value)) if kind == "float" else repr(value)
