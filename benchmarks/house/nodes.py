"""In how many modules the language's nodes are told apart, and in how many they are named at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from benchmarks.house.source import Module

# The modules that have them, by the ends of their names: that of all nodes, that below it, and the folder of the tests.
LANGUAGE = re.compile(r"(?:^|\.)language\.(?:ast|syntax|test_nodes(?:\.\w+)?)$")
TESTS = (  # the nodes that stand for one test of a filter
    "Comparison",
    "Range",
    "In",
    "IsNull",
    "TextTest",
    "TextPair",
    "InNetwork",
    "Within",
    "Near",
    "Call",
)


def dispatching(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Of each test the modules that ask for it: `isinstance`, `case`, a comparison, or a table with it as a key."""
    return _by_test((module.name, _asked(module)) for module in modules)


def naming(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Of each test the modules that name it at all."""
    return _by_test((module.name, _names(module.nodes, module)) for module in modules)


def _by_test(found: Iterable[tuple[str, set[str]]]) -> dict[str, list[str]]:
    named = list(found)
    return {test: sorted(module for module, names in named if test in names) for test in TESTS}


def _asked(module: Module) -> set[str]:
    asked: list[ast.expr] = []
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked += node.args[1:]
        elif isinstance(node, ast.MatchClass):
            asked.append(node.cls)
        elif isinstance(node, ast.Compare):
            asked += node.comparators
        elif isinstance(node, ast.Dict):
            asked += [key for key in node.keys if key is not None]
    return _names((part for each in asked for part in ast.walk(each)), module)


def _names(nodes: Iterable[ast.AST], module: Module) -> set[str]:
    """The language's nodes that are named: `ast.Range` where `ast` is theirs, or a `Range` imported from there."""
    modules: set[str] = set()
    classes: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if LANGUAGE.search(f"{node.module}.{alias.name}"):
                    modules.add(alias.asname or alias.name)
                elif LANGUAGE.search(node.module or ""):
                    classes[alias.asname or alias.name] = alias.name
    if not modules and not classes:
        return set()
    found = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in classes:
            found.add(classes[node.id])
    return found
