"""Which operators does a module have? It is imported by its name, or run from a file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from vedette.errors import InputError, VedetteError
from vedette.operators.failures import on_one_line, place_of
from vedette.operators.operator import Operator


def operators_of(name: str, folder: Path) -> list[Operator]:
    """The operators of `package.module`, or of `./file.py` relative to a folder; InputError if there are none."""
    try:
        module = _run(folder / name) if name.endswith(".py") else importlib.import_module(name)
    except FileNotFoundError:
        raise InputError(f"there is no file {folder / name}") from None
    except VedetteError as error:  # a wrong declaration, which says itself how to mend it
        raise InputError(f"it cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        hint = "\nHint: a file ends with .py: ./operators.py" if "/" in name and not name.endswith(".py") else ""
        raise InputError(f"it cannot be imported: {explained(error)}{hint}") from error
    found = {id(each): each for each in vars(module).values() if isinstance(each, Operator)}
    if not found:
        raise InputError("it has no operators\nHint: declare them with @operator")
    return list(found.values())


def explained(error: BaseException) -> str:
    """An exception on one line; with the place, if it is of somebody's code."""
    said, place = on_one_line(error), place_of(error)
    return said if place is None or isinstance(error, VedetteError | SyntaxError) else f"{said} ({place})"


def _run(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise FileNotFoundError(path)
    # Two files of one name are two modules.
    name = f"vedette_operators_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
