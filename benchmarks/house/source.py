"""The modules of a package, parsed and never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str  # with dots; a folder's `__init__.py` has the name of the folder
    path: Path
    lines: int
    code_lines: int  # without blank lines, comments and docstrings
    tree: ast.Module
    nodes: tuple[ast.AST, ...]  # all of the tree

    @property
    def is_folder(self) -> bool:
        """Whether this is the `__init__.py` of a folder."""
        return self.path.name == "__init__.py"

    @property
    def is_kernel(self) -> bool:
        """Whether the module, or a folder that it is in, is named `kernels`."""
        return "kernels" in self.name.split(".")

    def functions(self) -> Iterator[Function]:
        """All functions and methods, those inside others too."""
        return (node for node in self.nodes if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        """All classes, those inside others too."""
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))

    def docstrings(self) -> Iterator[str]:
        """Of the module, its classes and its functions."""
        found = (ast.get_docstring(node) for node in self.nodes if isinstance(node, Documented))
        return (text for text in found if text)


def read_package(root: Path) -> list[Module]:
    """All modules of the one package below `src` of a checkout, sorted by name."""
    source = root / "src"
    packages = sorted(path.parent for path in source.glob("*/__init__.py"))
    if len(packages) != 1:
        names = ", ".join(path.name for path in packages) or "none"
        raise SystemExit(f"one package is expected below {source}, found: {names}. Hint: --root names a checkout.")
    return sorted((_read(path, source) for path in packages[0].rglob("*.py")), key=lambda module: module.name)


def _read(path: Path, source: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=str(path))
    nodes = tuple(ast.walk(tree))
    parts = path.relative_to(source).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    lines = text.splitlines()
    return Module(name, path, len(lines), _code_lines(lines, nodes), tree, nodes)


def _code_lines(lines: list[str], nodes: tuple[ast.AST, ...]) -> int:
    code = {number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and _last(node) > node.lineno:
            code |= set(range(node.lineno, _last(node) + 1))  # a text may have blank lines, and lines that begin with #
    for node in nodes:
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, _last(node.body[0]) + 1))
    return len(code)


def _last(node: ast.expr | ast.stmt) -> int:
    return node.end_lineno or node.lineno
