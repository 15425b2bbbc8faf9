"""How complicated functions are, how long, and whether they are typed."""

from __future__ import annotations

import ast

from benchmarks.house.source import Function

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.Assert)


def complexity(function: Function) -> int:
    """Ways through a function (McCabe 1976): one, and one more for each branch.

    Branches are `if`, `elif`, `for`, `while`, `except`, `case`, `assert`, `a if b else c`, each `and` and `or`, each
    `for` and `if` of a comprehension. A function inside counts by itself. ruff's C901 counts fewer of these.
    """
    return 1 + sum(_branches(node) for node in _own_nodes(function))


def _own_nodes(function: Function) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def _branches(node: ast.AST) -> int:
    if isinstance(node, _BRANCHES):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.match_case):
        everything = isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None and node.guard is None
        return 0 if everything else 1
    return 0


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included, decorators not."""
    return (function.end_lineno or function.lineno) - function.lineno + 1
