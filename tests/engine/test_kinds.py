"""No host asks which kind a subscription is: the engine, its sets and their subscriptions answer what hosts need."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import vedette as vd
from vedette.filters.subscription_set import SubscriptionKind

SOURCE = Path(vd.__file__).parent
# The engine, and the abilities that it is made of.
OF_THE_ENGINE = {
    "covering",
    "engine",
    "filters",
    "language",
    "meeting",
    "operators",
    "patterns",
}
KINDS = {"Composite", "OperatorRecord", "PatternRecord", "WantRecord"}
# What an engine or a set keeps by kind.
BY_KIND = {
    "call_places",
    "copy_beside",
    "filters_only",
    "operator_records",
    "pattern_places",
    "pattern_records",
    "want_places",
    "with_operators",
}
OF_A_SET = {"is_plain", "patterns", "wants"}  # other things have these names, too
SETS = {"alone", "engine", "given", "subscriptions"}
_WORDS = {*KINDS, *BY_KIND, *(f".{name}" for name in OF_A_SET), "kind ==", "kind !="}  # of modules worth a closer look


def questions(tree: ast.AST) -> Iterator[str]:
    """Where a module asks for a kind: by what is kept of one, or by what a record or a tree is."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in BY_KIND:
                yield name
            case ast.Attribute(attr=name, value=ast.Name(id=of) | ast.Attribute(attr=of)):
                if name in OF_A_SET and of in SETS:
                    yield f"{of}.{name}"
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, what]):
                yield from (name for name in _names(what) if name in KINDS)
            case ast.Compare(
                left=ast.Name(id="kind") | ast.Attribute(attr="kind"), comparators=[ast.Constant(value=str(said))]
            ):
                if said in get_args(SubscriptionKind):
                    yield said
            case _:
                pass


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def asking() -> dict[str, list[str]]:
    """The modules outside of the engine that ask, and what."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place, text = path.relative_to(SOURCE), path.read_text()
        if place.parts[0] in OF_THE_ENGINE or not any(word in text for word in _WORDS):
            continue
        if asked := sorted(set(questions(ast.parse(text)))):
            found[place.as_posix()] = asked
    return found


def test_no_host_asks_which_kind_a_subscription_is() -> None:
    assert asking() == {}


@pytest.mark.parametrize(
    "text",
    [
        "subscriptions.with_operators[id_]",
        "list(engine.pattern_records)",
        "given.patterns.values()",
        "self.engine.is_plain",
        "isinstance(tree, Composite)",
        "isinstance(one, ast.Composite | PatternRecord)",
        "row.kind == 'want'",
    ],
)
def test_questions_are_found(text: str) -> None:
    assert list(questions(ast.parse(text)))
