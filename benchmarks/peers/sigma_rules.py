"""Detection rules of Sigma on recorded Windows events, in a form that everybody can be asked.

Sigma ignores case, which few peers can: texts are in lower case on both sides. Rules that look for regular expressions,
networks, keywords anywhere, or compare two fields are left out for all, and so are fields that no rule names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from benchmarks import sigma_data
from benchmarks.peers.cases import Case, Event
from benchmarks.peers.rules import All, CannotSay, Either, Not, Rule, Test, tests
from vedette.language import ast
from vedette.language.likes import LikeWildcard, pieces

_ALWAYS = "f_channel"
_SAMPLE = 1024


def case(size: int, events: int) -> Case:
    """So many rules, or all; events evenly from all that were recorded."""
    rules = _rules(size)
    fields = sorted({test.field for rule in rules for test in tests(rule)} | {_ALWAYS})
    kinds = dict.fromkeys(fields, "string")
    chosen = frozenset(fields)
    return Case("sigma", size, kinds, _ALWAYS, lambda: iter(rules), _events(events, 0, chosen), _sample(chosen))


@cache
def _rules(size: int) -> list[Rule]:
    documents = sigma_data.documents()
    translated = sigma_data.translate(documents[:: max(1, len(documents) // (4 * size))])  # some are not for Windows
    return list(_said(translated))[:size]


def _said(translated: list[sigma_data.SigmaRule]) -> Iterator[Rule]:
    for one in translated:
        try:
            yield rule(one.tree)
        except CannotSay:
            continue


def rule(node: ast.Filter) -> Rule:
    """The same in lower case; CannotSay of what most peers lack."""
    match node:
        case ast.And(parts):
            return All(tuple(map(rule, parts)))
        case ast.Or(parts):
            return Either(tuple(map(rule, parts)))
        case ast.Not(part):
            return Not(rule(part))
        case ast.IsNull(operand):
            return Test(_field(operand), "null", None)
        case ast.Comparison(left, ast.Comparator.EQ, ast.Literal(str() as text)):
            return Test(_field(left), "=", text.lower())
        case ast.TextTest(operand, ("contains" | "startswith" | "endswith") as kind, pattern):
            return Test(_field(operand), kind, str(pattern.value).lower())
        case ast.TextTest(operand, "like", pattern):
            return _like(_field(operand), str(pattern.value).lower())
    raise CannotSay(type(node).__name__)


def _like(field: str, pattern: str) -> Rule:
    found = [""]
    for piece in pieces(pattern):
        if piece is LikeWildcard.ANY:
            found.append("")
        elif isinstance(piece, LikeWildcard):
            raise CannotSay("a wildcard for one character")
        else:
            found[-1] += piece
    match found:
        case [text]:
            return Test(field, "=", text)
        case ["", ""]:
            return Not(Test(field, "null", None))
        case [text, ""]:
            return Test(field, "startswith", text)
        case ["", text]:
            return Test(field, "endswith", text)
        case ["", text, ""]:
            return Test(field, "contains", text)
    return Test(field, "like", tuple(found))


def _field(operand: ast.Operand) -> str:
    if not isinstance(operand, ast.View) or operand.reading != "text":
        raise CannotSay("keywords and lists")
    return _name(operand.attribute.path.removeprefix("attrs."))


def _name(field: str) -> str:
    """One that is a reserved word nowhere."""
    return "f_" + re.sub(r"\W", "_", field.lower())


def _events(count: int, offset: int, fields: frozenset[str]) -> list[Event]:
    table = sigma_data.events()
    step = max(1, len(table) // count)
    rows = table.take(list(range(offset % step, len(table), step))[:count]).to_pylist()
    return [_event(row, fields) for row in rows]


def _sample(fields: frozenset[str]) -> list[Event]:
    return _events(_SAMPLE, 7, fields)


def _event(row: Event, fields: frozenset[str]) -> Event:
    pairs = [(name, row[name]) for name in ("channel", "event_code", "provider", "host")] + (row["attrs"] or [])
    made = {_name(name): str(value).lower() for name, value in pairs if value is not None}
    return {name: value for name, value in made.items() if name in fields}
