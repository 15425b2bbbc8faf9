"""Splits a text into tokens, in one pass of one regular expression.

A token is four entries of parallel lists: the tag by which the parser decides, its text, its start and its end.
The tag of a keyword is the keyword in lower case, that of a sign is the sign; other tags are named below.
Nothing is refused here: anything else gets the tag BAD, and the parser reports it when it gets there.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

NAME: Final = "name"  # an attribute, operator, label or unit: dotted, perhaps with backticks
NUMBER: Final = "number"
STRING: Final = "string"
VARIABLE: Final = "?variable"
JOIN: Final = "$variable"
BAD: Final = "bad"
END: Final = "end"
_COMMENT: Final = "comment"

# Never the name of an attribute unless in backticks or next to a dot.
RESERVED: Final = frozenset({"and", "or", "not", "in", "is", "like", "between", "null", "true", "false"})

# Behind an operand, these begin a test.
TESTS: Final = (
    *("is", "in", "not", "like", "ilike", "rlike", "matches", "imatches", "contains", "icontains", "startswith"),
    *("istartswith", "endswith", "iendswith", "fits", "between", "within"),
)
# Contextual keywords: keywords only where the grammar expects them, anywhere else names.
CONTEXTUAL: Final = frozenset(
    {
        *(word for word in TESTS if word not in RESERVED),
        *("escape", "exists", "any", "all", "distinct", "from", "unknown"),
        *("cidr", "region", "box", "point", "of"),
        *("timestamp", "date", "ip", "float", "double"),
        *("by", "t"),
    }
)

_SIMPLE_NAME = r"[^\W\d]\w*+"
_QUOTED_NAME = r"`(?:[^`]++|``)++`"
_MORE_NAMES = rf"(?:\.(?:{_SIMPLE_NAME}|{_QUOTED_NAME}))*+"
# No alternative is a group and most begin with a fixed character: that makes `re` several times faster.
# Strings are possessive, so that an unclosed one is not read as a shorter one.
_TOKEN: Final = re.compile(
    rf"""
      {_SIMPLE_NAME}{_MORE_NAMES}
    | [0-9]++ (?:\.(?!\.)[0-9]*+)?+ (?:[eE][+-]?[0-9]++)?+
    | '(?:[^']++|'')*+'
    | "(?:[^"]++|"")*+"
    | [?$]{_SIMPLE_NAME}
    | {_QUOTED_NAME}{_MORE_NAMES}
    | \.[0-9]++ (?:[eE][+-]?[0-9]++)?+
    | <=> | <= | <> | >= | == | != | \.\.
    | --[^\n]*+
    | /\*(?s:.*?)\*/
    | && | \|\| | =[><~!] | !~ | /\*
    | \S
    """,
    re.VERBOSE,
)
_KEYWORDS: Final = {word: word for word in RESERVED | CONTEXTUAL}
_SIGNS: Final = ("<=>", "<=", "<>", ">=", "==", "!=", "..", *"=<>()[]{},;:@+-*/%")
_TAGS: Final = (
    _KEYWORDS
    | {sign: sign for sign in _SIGNS}
    | dict.fromkeys(("'", '"', "`", "?", "$", ".", "/*"), BAD)  # openings that are never closed
)
_BY_FIRST_CHARACTER: Final = (
    dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_`", NAME)
    | dict.fromkeys("0123456789.", NUMBER)
    | {"'": STRING, '"': STRING, "?": VARIABLE, "$": JOIN, "-": _COMMENT, "/": _COMMENT}
    | dict.fromkeys("&|=!", BAD)
)
_PLAIN_NAME: Final = re.compile(rf"{_SIMPLE_NAME}\Z")


class Tokens(NamedTuple):
    """The tokens of a text; the last one is END, at the end of the text."""

    tags: list[str]
    texts: list[str]
    starts: list[int]
    ends: list[int]


def scan(text: str) -> Tokens:
    """All tokens of a text, without comments, with names and strings unquoted; takes linear time."""
    tags: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    known, by_first_character = _TAGS.get, _BY_FIRST_CHARACTER.get
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        found = text[start:end]
        tag = known(found)
        if tag is None:
            first = found[0]
            tag = by_first_character(first)
            if tag is None:  # not ASCII
                tag = NAME if first.isalnum() and not first.isdecimal() else BAD
            if tag is NAME:
                tag = _KEYWORDS.get(found.lower(), NAME)
                if "`" in found:
                    found = _unquoted(found)
            elif tag is STRING:
                found = found[1:-1]
                if first in found:
                    found = found.replace(first * 2, first)
            elif tag is _COMMENT:
                continue
        tags.append(tag)
        texts.append(found)
        starts.append(start)
        ends.append(end)
    tags.append(END)
    texts.append("")
    starts.append(len(text))
    ends.append(len(text))
    return Tokens(tags, texts, starts, ends)


def is_plain_name(name: str) -> bool:
    """A name without dots that needs no backticks for its characters (though it may be a keyword)."""
    return _PLAIN_NAME.match(name) is not None


def _unquoted(name: str) -> str:
    """The path of a name with backticks, which quote characters and are not part of it."""
    parts = re.findall(rf"{_SIMPLE_NAME}|{_QUOTED_NAME}", name)
    return ".".join(part[1:-1].replace("``", "`") if part[0] == "`" else part for part in parts)


def quote_name(path: str, reserved: frozenset[str] = RESERVED) -> str:
    """A path as text that parses back to it, with backticks only where needed."""
    parts = path.split(".")
    if path.lower() in reserved or not all(parts):
        return backticked(path)
    return ".".join(part if is_plain_name(part) else backticked(part) for part in parts)


def backticked(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"
