"""Event patterns: JSON of fields and what their values may be, as event-ruler and quamina have them.

A pattern is a conjunction that names each field once; or is said by several patterns with the same id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.peers.rules import CannotSay, Rule, Test, conjunctions

Said = Callable[[Sequence[Test]], list[Any]]


def event_ruler(rule: Rule, always: str) -> list[str]:
    """One pattern for each conjunction."""
    return [json.dumps(_pattern(one, always, _ruler_field)) for one in conjunctions(rule)]


def quamina(rule: Rule, always: str) -> list[str]:
    """The same without comparisons of numbers, which quamina does not have."""
    return [json.dumps(_pattern(one, always, _quamina_field)) for one in conjunctions(rule)]


def _pattern(tests: Sequence[Test], always: str, said: Said) -> Mapping[str, Any]:
    if not tests:  # a pattern must name something: what every event has
        return {always: [{"exists": True}]}
    fields: dict[str, list[Test]] = {}
    for test in tests:
        fields.setdefault(test.field, []).append(test)
    return {field: said(several) for field, several in fields.items()}


def _ruler_field(tests: Sequence[Test]) -> list[Any]:
    if len(tests) > 1:
        if all(test.op in ("<", "<=", ">", ">=") for test in tests):
            low = [t for t in tests if t.op in (">", ">=")]
            high = [t for t in tests if t.op in ("<", "<=")]
            if len(low) == len(high) == 1:
                return [{"numeric": [low[0].op, low[0].value, high[0].op, high[0].value]}]
        if all(test.op == "has" for test in tests):
            return [test.value for test in tests]  # either of them: there is no way to ask for both
        raise CannotSay("several tests of one field")
    test = tests[0]
    match test.op:
        case "null":
            return [{"exists": test.negated}]
        case "=" | "has":
            return [{"anything-but": [test.value]}] if test.negated else [test.value]
        case "in":
            return [{"anything-but": list(test.value)}] if test.negated else list(test.value)
        case "<" | "<=" | ">" | ">=":
            return [{"numeric": [test.op, test.value]}]
        case "between" if test.value[0] == test.value[1]:  # which event-ruler refuses as a range
            return [{"numeric": ["=", test.value[0]]}]
        case "between" if test.value[0] > test.value[1]:
            raise CannotSay("an empty range")
        case "between":
            return [{"numeric": [">=", test.value[0], "<=", test.value[1]]}]
        case "startswith":
            return _maybe_not({"prefix": test.value}, negated=test.negated)
        case "endswith":
            return _maybe_not({"suffix": test.value}, negated=test.negated)
        case "contains":
            return _maybe_not({"wildcard": f"*{_starless(test.value)}*"}, negated=test.negated)
        case "like":
            return _maybe_not({"wildcard": "*".join(map(_starless, test.value))}, negated=test.negated)
    raise CannotSay(test.op)


def _quamina_field(tests: Sequence[Test]) -> list[Any]:
    if len(tests) > 1:
        if all(test.op == "has" for test in tests):
            return [test.value for test in tests]
        raise CannotSay("several tests of one field")
    test = tests[0]
    if test.negated and test.op not in ("=", "in", "null"):
        raise CannotSay("negated text tests")
    match test.op:
        case "<" | "<=" | ">" | ">=" | "between":
            raise CannotSay("comparisons of numbers")
        case "startswith":
            return [{"prefix": test.value}]
        case "endswith":
            return [{"wildcard": "*" + _starless(test.value)}]
        case "contains":
            return [{"wildcard": f"*{_starless(test.value)}*"}]
        case "like":
            return [{"wildcard": "*".join(map(_starless, test.value))}]
        case "null":
            return [{"exists": test.negated}]
        case "in":
            return [{"anything-but": list(test.value)}] if test.negated else list(test.value)
        case _:
            return [{"anything-but": [test.value]}] if test.negated else [test.value]


def _starless(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def _maybe_not(said: dict[str, str], *, negated: bool) -> list[Any]:
    return [{"anything-but": said}] if negated else [said]
