"""The stubs of pyarrow say nothing that the installed pyarrow does not have."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

STUBS = Path(__file__).parents[1] / "stubs"
MODULES = sorted(path.relative_to(STUBS).with_suffix("") for path in STUBS.rglob("*.pyi"))
BUFFER = "__buffer__"  # what Python can see only from 3.12 on


def declared(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | None]]:
    """Dotted names of public classes, functions, methods and attributes, with the function if it is one."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, None
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name != BUFFER:
                    plain = not any(isinstance(each, ast.Name) and each.id == "property" for each in one.decorator_list)
                    yield f"{node.name}.{one.name}", one if plain else None


def parameters(function: ast.FunctionDef) -> set[str]:
    """The names by which a function's arguments can be given."""
    return {each.arg for each in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_everything_that_is_declared_is_there(path: Path) -> None:
    name = ".".join(path.parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    for dotted, function in declared(ast.parse((STUBS / path).with_suffix(".pyi").read_text())):
        found: Any = module
        for part in dotted.split("."):
            assert hasattr(found, part), f"{name} has no {dotted}"
            found = getattr(found, part)
        given_by_name = function is not None and (function.name == "__init__" or not function.name.startswith("__"))
        if function is None or not given_by_name:
            continue
        try:
            known = inspect.signature(found).parameters
        except (TypeError, ValueError):  # compiled, without a signature
            continue
        if not any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in known.values()):
            assert parameters(function) <= set(known), f"{name}.{dotted} has no such parameter"


def test_types_of_data_have_the_arrays_that_the_stubs_say() -> None:
    checked = 0
    for node in ast.parse((STUBS / "pyarrow" / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Subscript):
            made = ast.unparse(node.returns)
            if made.startswith("_TypeOf[") and not node.args.args[len(node.args.defaults) :]:
                array = pa.nulls(1, getattr(pa, node.name)())
                assert type(array).__name__ == made.removeprefix("_TypeOf[").removesuffix("]"), node.name
                checked += 1
    assert checked > 15
