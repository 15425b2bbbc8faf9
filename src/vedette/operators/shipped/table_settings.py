"""Read and check a table of settings: each key has a type, and unknown keys are refused."""

from __future__ import annotations

import importlib.util
import math
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vedette.errors import InputError
from vedette.language.type_families import similar
from vedette.operators.registry import FOLDER


class OperatorSettings:
    """A table of settings, with its name in its file."""

    def __init__(self, table: Mapping[str, Any], name: str) -> None:
        self._table, self.name = table, name
        self._folder = Path(table.get(FOLDER, "."))
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self._value(key, default)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "a text")
        return value

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """One text, or a list of them."""
        value = self._value(key, default)
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(each, str) and each for each in texts):
            raise self.wrong(key, "a text or a list of texts")
        return tuple(texts)

    def whole(self, key: str, default: int | None, least: int = 1) -> int | None:
        """A whole number."""
        value = self._value(key, default)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise self.wrong(key, f"a whole number, {least} or more")
        return value

    def seconds(self, key: str, default: float) -> float:
        """A time that is not 0."""
        value = self._value(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
            raise self.wrong(key, "a number of seconds above 0")
        return value

    def value(self, key: str) -> Any:
        """The value of a key, of any type; None if there is none."""
        return self._value(key, None)

    def path(self, text: str) -> Path:
        """A path, relative to the file of settings."""
        return self._folder / Path(text).expanduser()

    def tables(self) -> Iterator[OperatorSettings]:
        """The tables inside, in order, by name."""
        for key, table in self._table.items():
            if key != FOLDER and isinstance(table, Mapping):
                self._known.append(key)
                yield OperatorSettings({FOLDER: self._folder, **table}, f"{self.name}.{key}")

    def end(self) -> None:
        """Refuse keys that were not read."""
        for key in self._table:
            if key not in self._known and key != FOLDER:
                hint = similar(key, self._known)
                raise InputError(f"`{key}` of [{self.name}] is not a key that is known here\nHint: {hint}")

    def wrong(self, key: str, wanted: str) -> InputError:
        """The error for a value of the wrong type."""
        if key not in self._table:
            return InputError(f"[{self.name}] has no `{key}`\nHint: it is {wanted}")
        return InputError(f"`{key}` of [{self.name}] is {reprlib.repr(self._table[key])}\nHint: it has to be {wanted}")

    def _value(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._table.get(key, default)


def configured(name: object, call: str, what: str, known: Mapping[str, Any]) -> str:
    """A name from the settings, given as a constant in a filter; ValueError if the settings do not have it."""
    if not isinstance(name, str):
        raise ValueError(f"the first argument of {call} is the name of a {what}, in quotes")
    if not known:
        raise ValueError(f"no {what}s are known: [{call}.NAME] in the settings of operators says what NAME stands for")
    if name not in known:
        raise ValueError(f"there is no {what} {name!r}: {similar(name, known)}")
    return name


def needs(package: str, call: str) -> None:
    """Refuse a call that needs a missing package."""
    if importlib.util.find_spec(package) is None:
        raise ValueError(f"{call} needs {package}, which is not installed: pip install 'vedette[operators]'")
