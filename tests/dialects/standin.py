"""A dialect for tests of what is around dialects: `{"a": 1, "b": "x"}` asks for equal values, `odd` cannot be said.

As text it is JSON. `title`, `level` and `id` in a part called `about` describe the rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vedette.dialects.rules import Described, Document, Outcome, Rule, Translated
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


def describe(rule: Rule) -> Described:
    about = dict(_read(rule).get("about", {}))
    return Described(about.pop("id", None), about)


def translate_all(documents: Iterable[Document], pipelines: Sequence[str]) -> Iterator[Outcome]:
    for document in documents:
        texts = document.text.split("\n---\n")
        for number, text in enumerate(texts, 1):
            place = document.place if len(texts) == 1 else f"{document.place}, document {number}"
            described = Described()
            made: Any
            try:
                described = describe(text)
                made = Translated(render(translate(text, pipelines)), described.origin, described.id)
            except (DialectError, NotSupported) as error:
                made = error
            yield Outcome(place, described, made, text)


def _read(rule: Rule) -> dict[str, Any]:
    if not isinstance(rule, str):
        return dict(rule)
    try:
        found = json.loads(rule)
    except ValueError as error:
        raise DialectError(f"this is no JSON: {error}", text=rule, hint="write JSON") from None
    return dict(found)
