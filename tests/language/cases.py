"""Reading the fixture files of the language."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures" / "language"
_SIGNS = str.maketrans({"⏎": "\n", "␍": "\r", "⇥": "\t"})


def pairs(name: str) -> list[tuple[str, str]]:
    """(text, canonical text) of a file of pairs."""
    found: list[tuple[str, str]] = []
    text = ""
    for line in _lines(name):
        if line.startswith("=> "):
            found.append((text, line[3:]))
        else:
            text = line.translate(_SIGNS)
    return found


def refusals(name: str) -> list[tuple[str, str]]:
    """(text, what is said) of a file of errors."""
    found: list[tuple[str, list[str]]] = []
    for line in _lines(name):
        if line.startswith("text: "):
            found.append((line[6:].translate(_SIGNS), []))
        else:
            found[-1][1].append(line[4:])
    return [(text, "\n".join(said)) for text, said in found]


def _lines(name: str) -> list[str]:
    lines = (FIXTURES / name).read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#")]
