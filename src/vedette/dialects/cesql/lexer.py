"""Splits a text of CloudEvents SQL into tokens; anything else is refused here, with its position."""

from __future__ import annotations

import enum
import re
from typing import Final, NamedTuple

from vedette.errors import DialectError


class CesqlTokenKind(enum.Enum):
    """The kinds of tokens; a keyword or sign is identified by its text."""

    KEYWORD = "keyword"
    WORD = "word"  # an attribute or a function
    INTEGER = "integer"
    STRING = "string"
    SIGN = "sign"
    END = "end"


class CesqlToken(NamedTuple):
    """A token with its value: a keyword in upper case, a string without its quotes."""

    kind: CesqlTokenKind
    text: str
    start: int
    end: int

    def says(self, *texts: str) -> bool:
        """Whether the token is one of these keywords or signs."""
        return self.text in texts and self.kind in (CesqlTokenKind.KEYWORD, CesqlTokenKind.SIGN)


KEYWORDS: Final = frozenset({"AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"})

_TOKEN: Final = re.compile(
    r"""
      [A-Za-z0-9_]++
    | '(?:[^'\\]|\\.)*+'
    | "(?:[^"\\]|\\.)*+"
    | <= | >= | <> | != | [=<>+\-*/%(),]
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_HINTS: Final = {
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT, and != for 'is not equal to'",
    ".": "an expression reads context attributes, which have no parts; what is in `data` cannot be reached",
    ";": "an expression ends without a sign",
    "`": "names of attributes stand without quotes",
    **dict.fromkeys("‘’´“”„«»", "strings stand between straight quotes: 'text'"),
}


def scan(text: str) -> list[CesqlToken]:
    """All tokens of a text; the last one is the end. Linear in its length."""
    found: list[CesqlToken] = []
    place = _spaces(text, 0)
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _no_token(text, place)
        found.append(_token(match.group(), place, match.end()))
        place = _spaces(text, match.end())
    found.append(CesqlToken(CesqlTokenKind.END, "", len(text), len(text)))
    return found


def _spaces(text: str, place: int) -> int:
    spaces = _SPACE.match(text, place)
    return place if spaces is None else spaces.end()


def _token(found: str, start: int, end: int) -> CesqlToken:
    first = found[0]
    if first in "'\"":
        return CesqlToken(
            CesqlTokenKind.STRING, _ESCAPED.sub(lambda pair: _unescaped(pair, first), found[1:-1]), start, end
        )
    if not (first.isalnum() or first == "_"):
        return CesqlToken(CesqlTokenKind.SIGN, found, start, end)
    if found.upper() in KEYWORDS:
        return CesqlToken(CesqlTokenKind.KEYWORD, found.upper(), start, end)
    return CesqlToken(CesqlTokenKind.INTEGER if found.isdigit() else CesqlTokenKind.WORD, found, start, end)


def _unescaped(pair: re.Match[str], quote: str) -> str:
    """Resolve escapes: a backslash before a quote keeps it from ending the string; elsewhere it is a backslash."""
    return quote if pair.group(1) == quote else pair.group()


def _no_token(text: str, place: int) -> DialectError:
    found = text[place]
    if found in "'\"":
        return DialectError(
            "a string that is not closed",
            text=text,
            start=place,
            end=len(text),
            hint=f"close it with {found}, and write \\{found} for a quote inside it",
        )
    return DialectError(f"unexpected {found!r}", text=text, start=place, hint=_HINTS.get(found))
