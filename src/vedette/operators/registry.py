"""The registry of operators: those given, those of files, and those that installed packages provide."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.abc
import importlib.util
import reprlib
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from vedette import plugins
from vedette.errors import FileError, InputError, VedetteError
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


class _SourceText(importlib.abc.SourceLoader):
    """Runs the text of a file, which may not exist here.

    Bytecode is neither kept nor used: Python takes it for that of the file if time and size agree, which they do where
    a file is changed twice within a second.
    """

    def __init__(self, path: Path, text: bytes) -> None:
        self._path, self._text = str(path), text

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        return self._text


def _run(path: Path, text: str | None = None) -> ModuleType:
    path = path if text is not None else path.resolve()
    content = path.read_bytes() if text is None else text.encode()
    # Two files of one name are two modules.
    name = f"vedette_operators_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceText(path, content))
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


GROUP = plugins.OPERATORS  # of entry points
DEFAULT_PLANNER = "adaptive"
FOLDER = "_folder"  # a key in every table of a file: what its paths are relative to


class OperatorFile(NamedTuple):
    """A file of operators with its contents, so that it can be read again on another machine."""

    path: str
    text: str  # of a TOML file
    modules: Mapping[str, str]  # what stands in the files of Python that it names, or in itself


class Operators(Mapping[str, Operator]):
    """Operators by name."""

    def __init__(self, *operators: Operator) -> None:
        self._operators: dict[str, Operator] = {}
        self.missing: dict[str, str] = {}  # entry points that could not be loaded, and why
        self.elsewhere: str | None = None  # a hint where to get more, for errors about unknown names
        self.written: OperatorFile | None = None  # the file that all of them come from
        for each in operators:
            self.add(each)

    def __getitem__(self, name: str) -> Operator:
        return self._operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    def add(self, operator: Operator) -> None:
        """Add one; InputError if its name is taken by another."""
        if not isinstance(operator, Operator):
            several = isinstance(operator, Iterable) and not isinstance(operator, str)
            hint = "hand them in one by one: Operators(*several)" if several else "declare it with @operator"
            raise InputError(f"{reprlib.repr(operator)} is no operator\nHint: {hint}")
        if self._operators.setdefault(operator.name, operator) is not operator:
            raise InputError(f"there is an operator {operator.name!r} already\nHint: give one of them another name")
        self.written = None

    def find(self, name: str) -> Operator:
        """The operator of a name; InputError lists similar names, and what could not be loaded."""
        found = self._operators.get(name)
        if found is not None:
            return found
        raise InputError(f"there is no operator {name!r}\nHint: {self._hint(name)}")

    def _hint(self, name: str) -> str:
        folded = {each.casefold(): each for each in self._operators}
        near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.7)
        if near:
            said = f"did you mean {' or '.join(folded[each] for each in near)}?"
        elif self._operators:
            said = f"there are {', '.join(sorted(self._operators))}"
        else:
            said = "there are none" if self.elsewhere else "there are none; hand them in, or name a file of operators"
        why = (f"{each!r} could not be loaded: {why}" for each, why in sorted(self.missing.items()))
        return "; ".join([said, *why, *([self.elsewhere] if self.elsewhere else [])])

    @classmethod
    def of(cls, given: Operators | None) -> Operators:
        """The given operators, or the installed ones; InputError explains how to make them if it is anything else."""
        if given is None:
            return cls.installed()
        if isinstance(given, Operators):
            return given
        hint = "vedette.Operators(one, other) makes them of single ones"
        if isinstance(given, str | Path):
            hint = f"vedette.Operators.read({str(given)!r}) reads a file"
        raise InputError(f"operators are handed in as Operators, not as {type(given).__name__}\nHint: {hint}")

    @classmethod
    def installed(cls, settings: Mapping[str, Any] | None = None) -> Operators:
        """The operators of entry points in the group `vedette.operators`: operators, or functions of their settings.

        One that cannot be loaded does not stop the others; `missing` has the reason.
        """
        settings = settings or {}
        points = {(point.name, point.value): point for point in plugins.installed(GROUP)}
        _check_settings(settings, {name for name, _ in points})
        made = cls()
        for (name, _), point in sorted(points.items()):
            try:
                brought = cls(*_brought(point, settings.get(name, {}))).values()
            except Exception as error:  # a package of others, or one that needs what is not installed
                if name in settings and isinstance(error, InputError):
                    raise InputError(f"the entry point {name!r}: {error}") from error
                made.missing[name] = explained(error)
            else:
                with _said_of(f"the entry point {name!r} ({point.value})"):
                    made._add_all(brought)
        return made

    @classmethod
    def read(cls, path: str | Path) -> Operators:
        """The operators of a `.py` file, or those that a `.toml` file names, in addition to the installed ones.

        In TOML, `modules = ["package.module", "./file.py"]` are modules whose operators are added, and every table is
        the settings of an entry point. An operator of the file replaces an installed one of its name.
        """
        path = Path(path)
        if path.suffix not in (".py", ".toml"):
            raise FileError(f"{path}: operators are in a .py file, or named in a .toml file")
        if not path.is_file():
            raise FileError(f"{path}: there is no such file")
        try:
            text = path.read_text(encoding="utf-8") if path.suffix == ".toml" else ""
        except UnicodeDecodeError as error:
            raise FileError(f"{path}: not a TOML file: {error}") from None
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from None
        return cls._read(path, text, None)

    @classmethod
    def read_again(cls, written: OperatorFile) -> Operators:
        """Read the operators again from the contents of their files, which need not exist here."""
        return cls._read(Path(written.path), written.text, written.modules)

    @classmethod
    def _read(cls, path: Path, text: str, texts: Mapping[str, str] | None) -> Operators:
        settings = _toml(path, text) if path.suffix == ".toml" else {}
        modules = settings.pop("modules", []) if path.suffix == ".toml" else [path.name]
        if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules):
            hint = 'write modules = ["package.module", "./file.py"]'
            raise FileError(f"{path}: modules: {modules!r} is not a list of texts\nHint: {hint}")
        made = cls()
        try:
            for name in modules:
                with nullcontext() if path.suffix == ".py" else _said_of(f"modules: {name!r}"):
                    made._add_all(operators_of(name, path.parent, texts))
            tables = {key: {**value, FOLDER: path.parent} for key, value in _tables(settings)}
            besides = cls.installed(tables)
        except InputError as error:
            raise FileError(f"{path}: {error}") from error
        made._operators = {**besides, **made}
        made.missing = besides.missing
        if texts is None:
            found = {name: text_of(path.parent / name) for name in modules if name.endswith(".py")}
            texts = {name: each for name, each in found.items() if each is not None}
        made.written = OperatorFile(str(path.absolute()), text, texts)
        return made

    def _add_all(self, operators: Iterable[Operator]) -> None:
        for each in operators:
            self.add(each)


@contextmanager
def _said_of(where: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _brought(point: EntryPoint, settings: Mapping[str, Any]) -> list[Operator]:
    loaded = point.load()
    if isinstance(loaded, Operator):
        return [loaded]
    if not callable(loaded):
        raise TypeError(f"{point.value} is neither an operator nor a function that gives some")
    return list(loaded(settings))


def _check_settings(settings: Mapping[str, Any], names: Collection[str]) -> None:
    for name, given in settings.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean [{near[0]}]?" if near else f"there are settings for {', '.join(sorted(names))}"
            raise InputError(f"[{name}]: no package brings operators of this name\nHint: {hint}")
        if not isinstance(given, Mapping):
            raise InputError(f"{name}: {given!r} is not a table\nHint: write [{name}], and settings below it")


def _tables(settings: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, value in settings.items():
        if not isinstance(value, Mapping):
            raise InputError(f"{key}: {value!r} is not a table\nHint: there are `modules`, and tables of settings")
        yield key, value


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: not a TOML file: {error}") from None
