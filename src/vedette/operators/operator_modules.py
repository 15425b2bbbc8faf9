"""Load the operators of a module, which is imported by its name or run from a file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from vedette.errors import InputError, VedetteError
from vedette.operators.failures import on_one_line, place_of
from vedette.operators.operator import Operator


def operators_of(name: str, folder: Path, texts: Mapping[str, str] | None = None) -> list[Operator]:
    """The operators of `package.module`, or of `./file.py` relative to a folder; InputError if there are none.

    `texts` are the contents of files, by such names, where the files themselves may not exist.
    """
    text = None if texts is None else texts.get(name)
    try:
        module = _run(folder / name, text) if name.endswith(".py") else importlib.import_module(name)
    except FileNotFoundError:
        raise InputError(f"there is no file {folder / name}") from None
    except VedetteError as error:  # a wrong declaration, whose message has the remedy
        raise InputError(f"it cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        hint = "\nHint: a file ends with .py: ./operators.py" if "/" in name and not name.endswith(".py") else ""
        raise InputError(f"it cannot be imported: {explained(error)}{hint}") from error
    found = {id(each): each for each in vars(module).values() if isinstance(each, Operator)}
    if not found:
        raise InputError("it has no operators\nHint: declare them with @operator")
    return list(found.values())


def explained(error: BaseException) -> str:
    """An exception on one line; with its place, if it is in user code."""
    said, place = on_one_line(error), place_of(error)
    return said if place is None or isinstance(error, VedetteError | SyntaxError) else f"{said} ({place})"


def text_of(path: Path) -> str | None:
    """The text of a Python file; None if it cannot be read, which is reported when it is run."""
    try:
        return importlib.util.decode_source(path.read_bytes())
    except (OSError, UnicodeError, SyntaxError):
        return None


class _FromText(importlib.abc.SourceLoader):
    """Runs the text of a file where the file does not exist."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = str(path), text

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        return self._text.encode()


def _run(path: Path, text: str | None = None) -> ModuleType:
    path = path if text is not None else path.resolve()
    if text is None and not path.is_file():
        raise FileNotFoundError(path)
    # Two files of one name are two modules.
    name = f"vedette_operators_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    loader = None if text is None else _FromText(path, text)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
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
