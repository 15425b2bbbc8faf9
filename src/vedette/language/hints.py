"""Hints for errors: recognises common mistakes at the wrong token, and says what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from vedette.language.lexer import BAD, CONTEXTUAL, END, JOIN, NAME, NUMBER, STRING, VARIABLE, Tokens, backticked

CONNECTIVES: Final = ("and", "or")
_COMPARISONS: Final = frozenset({"=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"})

_WRONG_SIGNS: Final = {
    "&&": "write 'and'",
    "&": "write 'and'",
    "||": "write 'or'",
    "|": "write 'or'",
    "!": "write 'not', and '!=' for 'is not equal to'",
    "=>": "write '>='",
    "=<": "write '<='",
    "=!": "write '!='",
    "=~": "write 'matches': x matches 'regular expression'",
    "~": "write 'matches': x matches 'regular expression'",
    "!~": "write 'not matches': x not matches 'regular expression'",
    "#": "a comment begins with --",
    ".": "a path is written without spaces: order.total",
    "?": "a variable has a name: ?people",
    "$": "a join variable has a name: $x",
    **dict.fromkeys("‘’´", "strings stand between straight quotes: 'text'"),
    **dict.fromkeys("“”„«»", "strings stand between straight quotes: 'text'"),
}
_UNCLOSED: Final = {
    "'": ("a string that is not closed", "close it with ', and write '' for a quote inside it"),
    '"': ("a string that is not closed", 'close it with ", and write "" for a quote inside it'),
    "`": ("a name that is not closed", "close it with `, and write `` for a backtick inside it"),
    "/*": ("a comment that is not closed", "close it with */"),
}
# Habits from other languages, where an operand has just ended or a condition should begin.
_FOREIGN: Final = {
    "where": "write only the condition, without 'where'",
    "select": "write only the condition that follows 'where'",
    "equals": "write '='",
    "eq": "write '='",
    "xor": "write (a and not b) or (b and not a)",
    "regexp": "write 'matches'",
    "has": "write 'contains'",
    "include": "write 'contains'",
    "includes": "write 'contains'",
    "near": "write x within 5 km of point(-73.9, 40.7)",
}
# Habits from other pattern languages, where a step or a group has just ended.
_REPEATED: Final = "a repetition has bounds, from 1 on: [ … ]{1,5}"
_FOLLOWED: Final = "steps are joined with ';' (some time later) or ',' (at once): [x = 1] ; [x = 2]"
_PARTITION: Final = "write 'by' alone, behind the pattern: by user, host"
_AFTER_STEP: Final = {
    "+": _REPEATED,
    "*": _REPEATED,
    "?": "a step that may be missing is a choice: ([x = 1] ; [x = 2]) or [x = 2]",
    **dict.fromkeys(("->", "=>", "[", "then", "followed"), _FOLLOWED),
    **dict.fromkeys(("group", "partition"), _PARTITION),
}


def after_step(tokens: Tokens, at: int) -> str | None:
    """A hint for the token after a step or a group, if it is a habit from another language."""
    word = tokens.texts[at].lower()
    if word == "-" and tokens.texts[at + 1] == ">":
        word = "->"
    return None if tokens.tags[at] == STRING else _AFTER_STEP.get(word)


def of_another_step(path: str, labels: Iterable[str]) -> str | None:
    """A hint to use a join variable, if a path begins with a step's label."""
    label, _, name = path.partition(".")
    if not name or label not in labels:
        return None
    return f"the same value in two steps is a join variable: [… {name} = $x] ; [… {name} = $x]"


def unclosed(tokens: Tokens, at: int) -> str | None:
    """The name of what begins at a token and is never closed; None if nothing is."""
    found = _UNCLOSED.get(tokens.texts[at]) if tokens.tags[at] == BAD else None
    return found[0] if found else None


def describe(tokens: Tokens, at: int) -> str:
    """A token as a message names it."""
    tag, text = tokens.tags[at], shortened(tokens.texts[at])
    if tag == END:
        return "the end of the text"
    if tag == STRING:
        return f"the string '{text}'"
    if tag == NUMBER:
        return f"the number {text}"
    if tag == VARIABLE:
        return f"the variable {text}"
    if tag == JOIN:
        return f"the join variable {text}"
    return f"'{text}'"


def hint(tokens: Tokens, at: int, candidates: Iterable[str] = ()) -> str | None:
    """A hint for a wrong token, where one of the candidates was expected."""
    tag, text = tokens.tags[at], tokens.texts[at]
    if tag == BAD:
        if text == "." and at and tokens.tags[at - 1] == STRING:
            return f"a name stands in backticks: {backticked(tokens.texts[at - 1])}"
        return _UNCLOSED[text][1] if text in _UNCLOSED else _WRONG_SIGNS.get(text)
    if tag == END:
        return None
    before = tokens.tags[at - 1] if at else ""
    if tag == NUMBER:
        return _number_hint(tokens, at)
    if tag in _COMPARISONS:
        return _comparison_hint(tokens, at)
    if tag == "[":
        return "[ … ] is a step of a pattern, or a range after 'in': x in [1 .. 5]"
    if tag == ":":
        return "a labelled step of a pattern is a:[ … ]"
    if tag in (",", ";"):
        return "conditions are joined with 'and' or 'or'; a pattern's steps stand in brackets: [x = 1] ; [y = 2]"
    if tag == NAME or tag in CONTEXTUAL:
        return _word_hint(tokens, at, before, tuple(candidates))
    return None


def _word_hint(tokens: Tokens, at: int, before: str, candidates: tuple[str, ...]) -> str | None:
    word = tokens.texts[at].lower()
    if word in _FOREIGN:
        return _FOREIGN[word]
    meant = similar(word, candidates)
    if meant is not None:
        return f"did you mean '{meant}'?"
    if before == NAME:
        previous = tokens.texts[at - 1]
        if previous.lower() in _FOREIGN:
            return _FOREIGN[previous.lower()]
        meant = similar(previous.lower(), ("not", "exists"))
        if meant is not None and (at == 1 or tokens.tags[at - 2] in ("and", "or", "not", "(")):
            return f"did you mean '{meant}' instead of '{previous}'?"
        if at >= 2 and tokens.tags[at - 2] in _COMPARISONS:
            return f"text goes into quotes: '{shortened(previous)} {shortened(tokens.texts[at])}'"
    return None


def _number_hint(tokens: Tokens, at: int) -> str | None:
    before = at - 1
    if before >= 0 and tokens.tags[before] == NUMBER and tokens.ends[before] == tokens.starts[at]:
        return "addresses go into quotes: ip '10.0.0.1', cidr '10.0.0.0/8'"
    if before >= 0 and tokens.tags[before] == NAME and tokens.ends[before] == tokens.starts[at]:
        return "a name that begins with a digit goes into backticks: `1st`, items.`0`"
    if before >= 0 and tokens.tags[before] in ("timestamp", "date", "ip", "cidr"):
        return f"what follows '{tokens.tags[before]}' goes into quotes"
    return None


def _comparison_hint(tokens: Tokens, at: int) -> str | None:
    before = tokens.tags[at - 1] if at else ""
    if before in _COMPARISONS and tokens.ends[at - 1] == tokens.starts[at]:
        return f"write '{'=' if before == '==' else before}'"
    if before == "not":
        return "write x != 1, or not x = 1"
    if before == "is":
        return "write the comparison alone: x = 1"
    if at >= 2 and tokens.tags[at - 2] in _COMPARISONS:
        return "compare twice: a < x and x < b, or x between a and b"
    return None


def similar(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a word may be a misspelling of."""
    near = [candidate for candidate in candidates if abs(len(candidate) - len(word)) <= max(1, len(word) // 4)]
    return next(iter(difflib.get_close_matches(word, near, n=1, cutoff=0.65)), None)


def shortened(text: str, most: int = 40) -> str:
    """A text as a message shows it: on one line, and not too long."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in short)
