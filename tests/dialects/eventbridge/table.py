"""The table of cases in tests/fixtures/eventbridge: patterns with events that fit and events that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "eventbridge"
FILES = sorted(path.stem for path in FOLDER.glob("*.txt") if path.stem != "invalid")


class Case(NamedTuple):
    """A pattern and an event, as JSON, whether they fit, and where it is written."""

    pattern: str
    event: str
    fits: bool
    place: str


class Refused(NamedTuple):
    """A pattern that is refused, and what is said."""

    pattern: str
    said: str
    place: str


def cases(name: str) -> Iterator[Case]:
    """Those of one file."""
    pattern = ""
    for number, line in enumerate((FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("pattern "):
            pattern = line.removeprefix("pattern ")
        elif line.startswith(("+ ", "- ")):
            yield Case(pattern, line[2:], line[0] == "+", f"{name}.txt:{number}")
        elif line and not line.startswith(("#", "from ")):
            raise ValueError(f"{name}.txt:{number}: {line!r}")


def refused() -> Iterator[Refused]:
    """Those of invalid.txt."""
    pattern, said, begun = "", list[str](), 0
    lines = (FOLDER / "invalid.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("invalid "):
            pattern, begun = line.removeprefix("invalid "), number
        elif line.startswith("    "):
            said.append(line.removeprefix("    "))
        elif said:
            yield Refused(pattern, "\n".join(said), f"invalid.txt:{begun}")
            said = []
