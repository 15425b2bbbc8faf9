"""Finds the line of each key in a TOML text, which Python's reader does not give.

The text is one that `tomllib` has read, so this only finds positions and does not check anything.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from contextlib import suppress
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]  # ("sinks", 0, "path"): keys, and numbers of elements from 0

_GAP = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LITERAL = re.compile(r"'[^']*'")
_BASIC = re.compile(r'"(?:[^"\\]+|\\.)*"', re.DOTALL)
# Up to two quotes may stand just before the three that close.
_LONG_LITERAL = re.compile(r"'''.*?'''(?:'{1,2})?", re.DOTALL)
_LONG_BASIC = re.compile(r'"""(?:[^"\\]+|\\.|"(?!""))*"""(?:"{1,2})?', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}#\n]*")  # numbers, dates, true and false


class Positions:
    """The lines of all keys and list elements of a text, counted from 1."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._lines: dict[KeyPath, int] = {}
        self._sizes: dict[KeyPath, int] = {}  # arrays of tables, and how many tables they have so far
        self._at = 0
        with suppress(RecursionError):  # behind a value that is nested so deeply, lines are not known
            self._read()

    def line(self, path: KeyPath) -> int:
        """The line of a path, or of the innermost table or list on the way that exists."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _read(self) -> None:
        table: KeyPath = ()
        self._skip(_GAP)
        while self._at < len(self._text):
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)
            self._skip(_GAP)

    def _header(self, brackets: int) -> KeyPath:
        begin = self._at
        self._at += brackets
        self._skip(_SPACE)
        *outer, last = self._key()
        self._skip(_SPACE)
        self._at += brackets
        path: KeyPath = ()
        for name in outer:
            path = self._inside((*path, name), begin)
        path = (*path, last)
        if brackets == 1:
            return self._inside(path, begin)
        self._mark(path, begin)
        number = self._sizes.get(path, 0)
        self._sizes[path] = number + 1
        self._mark((*path, number), begin)
        return (*path, number)

    def _inside(self, path: KeyPath, begin: int) -> KeyPath:
        """The path of a table, or of the last one of an array of tables."""
        self._mark(path, begin)
        return (*path, self._sizes[path] - 1) if path in self._sizes else path

    def _pair(self, table: KeyPath) -> None:
        begin = self._at
        path = table
        for name in self._key():
            path = (*path, name)
            self._mark(path, begin)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> list[str]:
        names = []
        while True:
            names.append(self._name())
            self._skip(_SPACE)
            if self._text[self._at : self._at + 1] != ".":
                return names
            self._at += 1
            self._skip(_SPACE)

    def _name(self) -> str:
        quote = self._text[self._at]
        if quote == "'":
            return self._take(_LITERAL)[1:-1]
        if quote == '"':
            name: str = tomllib.loads(f"name = {self._take(_BASIC)}")["name"]
            return name
        return self._take(_BARE_KEY)

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at]
        if first == "[":
            self._list(path)
        elif first == "{":
            self._inline_table(path)
        elif first == '"':
            self._take(_LONG_BASIC if self._text.startswith('"""', self._at) else _BASIC)
        elif first == "'":
            self._take(_LONG_LITERAL if self._text.startswith("'''", self._at) else _LITERAL)
        else:
            self._take(_PLAIN)

    def _list(self, path: KeyPath) -> None:
        number = 0
        while self._next("]"):
            self._mark((*path, number), self._at)
            self._value((*path, number))
            number += 1

    def _inline_table(self, path: KeyPath) -> None:
        while self._next("}"):
            self._pair(path)

    def _next(self, end: str) -> bool:
        """Go to the next element of a list or an inline table; False, and behind it, if there is none."""
        if self._text[self._at] in "[{,":
            self._at += 1
        self._skip(_GAP)
        if self._text[self._at] == ",":
            self._at += 1
            self._skip(_GAP)
        if self._text[self._at] == end:
            self._at += 1
            return False
        return True

    def _mark(self, path: KeyPath, begin: int) -> None:
        self._lines.setdefault(path, bisect_right(self._starts, begin))

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError("a text that tomllib has not read")
        self._at = found.end()
        return found[0]
