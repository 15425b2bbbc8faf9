"""A dialect for tests of what is around dialects: `{"a": 1, "b": "x"}` asks for equal values, `odd` cannot be said.

As text it is JSON. `title`, `level` and `id` in a part called `about` describe the rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vedette.dialects.rule_results import Rule, RuleDescription, RuleDocument, RuleResult, RuleTranslation
from vedette.errors import DialectError, NotSupported
from vedette.language import ast
from vedette.language.render import render


def translate(rule: Rule, pipelines: Sequence[str] = ()) -> ast.Expression:
    said = dict(_read(rule))
    said.pop("about", None)
    if said.get("kind") == "odd":
        raise NotSupported("`odd` cannot be said\nHint: ask for something even")
    if not said:
        raise DialectError("the rule is empty", hint="ask for something")
    rename = dict(one.split("=") for one in pipelines)
    tests = tuple(
        ast.Comparison(ast.Attribute(rename.get(name, name)), ast.Comparator.EQ, ast.Literal(value))
        for name, value in said.items()
    )
    return ast.And(tests) if len(tests) > 1 else tests[0]


def describe(rule: Rule) -> RuleDescription:
    about = dict(_read(rule).get("about", {}))
    return RuleDescription(about.pop("id", None), about)


def translate_all(documents: Iterable[RuleDocument], pipelines: Sequence[str]) -> Iterator[RuleResult]:
    for document in documents:
        texts = document.text.split("\n---\n")
        for number, text in enumerate(texts, 1):
            place = document.place if len(texts) == 1 else f"{document.place}, document {number}"
            described = RuleDescription()
            made: Any
            try:
                described = describe(text)
                made = RuleTranslation(render(translate(text, pipelines)), described.origin, described.id)
            except (DialectError, NotSupported) as error:
                made = error
            yield RuleResult(place, described, made, text)


def _read(rule: Rule) -> dict[str, Any]:
    if not isinstance(rule, str):
        return dict(rule)
    try:
        found = json.loads(rule)
    except ValueError as error:
        raise DialectError(f"this is no JSON: {error}", text=rule, hint="write JSON") from None
    return dict(found)
