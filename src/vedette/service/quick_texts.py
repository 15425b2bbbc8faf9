"""Recognises texts that are checked in microseconds whatever is in them, and so need no process that can be killed.

These are a few plain tests with `and` between them: no alternatives, negations, calls, regular expressions, steps or
numbers of many digits. Most subscriptions are of this kind; to hand one to a process takes longer than to check it.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 500  # characters
_TESTS: Final = 16
_PATH: Final = r"[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){0,7}"
_NUMBER: Final = r"-?\d{1,15}(?:\.\d{1,15})?"
_CONSTANT: Final = rf"(?:{_NUMBER}|'[^'\\]{{0,200}}'|true|false)"
_REST: Final = rf"(?: ?(?:[<>!]?=|[<>]|<>) ?{_CONSTANT}| between {_NUMBER} and {_NUMBER}| is (?:not )?null)"
_QUICK: Final = re.compile(rf"{_PATH}{_REST}(?: and {_PATH}{_REST}){{0,{_TESTS - 1}}}", re.IGNORECASE | re.ASCII)


def is_quick(text: str) -> bool:
    """Whether a text is sure to be checked quickly; wrong ones are quick, too."""
    return len(text) <= _LONGEST and _QUICK.fullmatch(text) is not None
