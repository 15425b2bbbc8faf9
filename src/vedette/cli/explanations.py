"""Explanations as coloured lines for a terminal: what held in green, what did not in red."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.text import Text

_STYLES = {"✓": "bold green", "✗": "bold red", "?": "bold yellow"}
_MARK = re.compile(r"(?:(?<=─ )|^)[✓✗?](?= )")


def styled(explanation: object) -> Iterator[Text]:
    """The lines of `str(explanation)`, with colours."""
    for line in str(explanation).splitlines():
        text = Text(line)
        mark = _MARK.search(line)
        if mark is not None:
            text.stylize(_STYLES[mark.group()], *mark.span())
        yield text
