"""Who imports whom in a package: the longest chain, and cycles between modules and between folders.

An import counts from the module that writes it to the module that it names: `from a.b import c` leads to `a.b.c` where
that is a module, else to `a.b`. What Python loads on the way (the `__init__.py` of the folders above) does not count.
Imports below `if TYPE_CHECKING` never count, since they do not happen. The longest chain is of imports that happen when
a module is loaded; for cycles, imports inside functions count as well.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from benchmarks.house.source import Module

Graph = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Imports:
    """Of every module the modules that it imports."""

    at_load: Graph
    at_any_time: Graph  # imports inside functions as well


def read_imports(modules: Iterable[Module]) -> Imports:
    """The imports of a package's modules among themselves."""
    known = {module.name: module for module in modules}
    at_load: dict[str, frozenset[str]] = {}
    at_any_time: dict[str, frozenset[str]] = {}
    for name, module in known.items():
        found = [(target, inside) for node, inside in _statements(module.tree.body, False) for target in _targets(node)]
        here = [(_module_of(target, known), inside) for target, inside in found]
        at_any_time[name] = frozenset(target for target, _ in here if target is not None and target != name)
        at_load[name] = frozenset(target for target, inside in here if target and target != name and not inside)
    return Imports(at_load, at_any_time)


def _statements(body: Iterable[ast.AST], inside: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Import statements, and whether they are inside a function."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from _statements(node.orelse, inside)
        else:
            deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _statements(ast.iter_child_nodes(node), deeper)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def _targets(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _module_of(target: str, known: Mapping[str, Module]) -> str | None:
    if target in known:
        return target
    above = target.rpartition(".")[0]
    return above if above in known else None


def longest_chain(graph: Graph) -> list[str]:
    """The longest chain of imports, first the module that imports; modules that import each other count as one step."""
    group_of = {name: group for group in groups(graph) for name in group}

    @cache
    def depth(group: tuple[str, ...]) -> tuple[int, tuple[tuple[str, ...], ...]]:
        below = sorted({group_of[target] for name in group for target in graph[name]} - {group})
        length, chain = max((depth(each) for each in below), default=(0, ()), key=lambda found: found[0])
        return length + 1, (group, *chain)

    found = max((depth(group) for group in sorted(set(group_of.values()))), default=(0, ()), key=lambda found: found[0])
    return [" = ".join(group) for group in found[1]]


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """Groups of nodes that reach each other, the largest first."""
    return sorted((group for group in groups(graph) if len(group) > 1), key=lambda group: (-len(group), group))


def folder_cycles(graph: Graph, modules: Iterable[Module], package: str) -> list[tuple[str, ...]]:
    """Cycles between what is directly in a folder: its folders, and its modules one by one."""
    folders = {module.name for module in modules if module.is_folder}
    inside: dict[str, set[str]] = defaultdict(set)
    prefix = package + "."
    for name, targets in graph.items():
        if name.startswith(prefix):
            start = _child(name, prefix)
            ends = {_child(target, prefix) for target in targets if target.startswith(prefix)}
            inside[start] |= ends - {start}
            for end in ends:
                inside.setdefault(end, set())
    found = cycles({name: frozenset(targets) for name, targets in inside.items()})
    return [group for group in found if folders & set(group)]


def _child(name: str, prefix: str) -> str:
    return prefix + name.removeprefix(prefix).partition(".")[0]


def groups(graph: Graph) -> list[tuple[str, ...]]:
    """The strongly connected components (Tarjan 1972), each one sorted."""
    found: list[tuple[str, ...]] = []
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in order:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], order[target])
        if lowest[name] == order[name]:
            start = stack.index(name)
            found.append(tuple(sorted(stack[start:])))
            del stack[start:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found
