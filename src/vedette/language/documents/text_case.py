"""Ignores case as AWS does.

AWS matches every character of the pattern in its lower and its upper case: `ß` is also `SS`. For nearly all texts
that equals comparing both in lower case, as Vedette's own tests do; the others become regular expressions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

# Characters whose lower case depends on their neighbours, and one that the lower case of another character contains.
_NOT_ALONE = frozenset("Σσς\u0307")


def is_plain(text: str) -> bool:
    """Whether comparing in lower case gives AWS's result."""
    return text.isascii() or all(map(_is_plain, text))


@functools.lru_cache(maxsize=4096)
def _is_plain(character: str) -> bool:
    lower, upper = character.lower(), character.upper()
    return len(lower) == 1 and len(upper) == 1 and upper.lower() == lower and character not in _NOT_ALONE


def expression(text: str) -> str:
    """A regular expression, for `re` and for RE2, that matches the text in every case."""
    others = _others() if is_plain(text) else {}
    return "".join(_either({one.lower(), one.upper(), *others.get(one.lower(), "")}) for one in text)


def _either(cases: set[str]) -> str:
    found = "|".join(map(quoted, sorted(cases)))
    return f"(?:{found})" if len(cases) > 1 else found


@functools.lru_cache(maxsize=1)
def _others() -> Mapping[str, str]:
    """Characters that are not the upper case of their lower case, such as the sign of kelvin, by their lower case."""
    found: dict[str, str] = {}
    for character in map(chr, range(0x80, 0x2FFFF)):
        lower = character.lower()
        if lower != character and lower.upper() != character:
            found[lower] = found.get(lower, "") + character
    return found


def quoted(text: str) -> str:
    """A regular expression, for `re` and for RE2, that matches exactly this text."""
    return "".join(map(_quoted, text))


def _quoted(character: str) -> str:
    if character.isalnum() or not character.isascii():
        return character
    return f"\\{character}" if character.isprintable() and character not in " _" else f"\\x{ord(character):02x}"


def ignoring_case(kind: str, text: str) -> Callable[[str], bool]:
    """A test of texts that ignores case: equals, prefix or suffix."""
    if not is_plain(text):
        begin, end = "" if kind == "suffix" else r"\A", "" if kind == "prefix" else r"\Z"
        found = re.compile(f"{begin}(?:{expression(text)}){end}").search
        return lambda value: found(value) is not None
    lower = text.lower()
    if kind == "prefix":
        return lambda value: value.lower().startswith(lower)
    if kind == "suffix":
        return lambda value: value.lower().endswith(lower)
    return lambda value: value.lower() == lower
