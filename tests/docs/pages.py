"""The pages people read, cut into the blocks that can be run.

    ```python          run, all blocks of a page in one namespace; `expression  # -> result` is compared
    ```text output     what the python block before it prints
    ```console         `$ command` is run by bash, the lines below it are what it prints (`# exit status 1` if it fails)
    ```sh              not run: installing, make, benchmarks

In what is shown, `...` stands for anything; on a line of its own for any lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if path.name != "LANGUAGE.md"  # a specification, with tests of its own
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"<<'?(\w+)'?")
_STATUS = re.compile(r"# exit status (\d+)$")


class Block(NamedTuple):
    """A fenced block and the line of its first line, counted from 1."""

    kind: str
    body: str
    line: int


class Command(NamedTuple):
    """One command of a console block and what it is said to print."""

    text: str
    shown: str
    status: int
    line: int


def text_of(page: str) -> str:
    """The Markdown of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[Block]:
    """All fenced blocks, in order."""
    text = text_of(page)
    for fence in _FENCE.finditer(text):
        yield Block(fence["kind"].strip(), fence["body"], text.count("\n", 0, fence.start("body")) + 1)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; one goes on after a backslash, and to the end of its here-document."""
    lines = block.body.splitlines()
    at = 0
    while at < len(lines):
        line = block.line + at
        if not lines[at].startswith("$ "):
            raise ValueError(f"line {line}: a console block begins with a command")
        command = [lines[at][2:]]
        while command[-1].endswith("\\"):
            at += 1
            command.append(lines[at])
        document = _HEREDOC.search(command[-1])
        if document is not None:
            while command[-1] != document[1]:
                at += 1
                command.append(lines[at])
        at += 1
        shown = []
        while at < len(lines) and not lines[at].startswith("$ "):
            shown.append(lines[at])
            at += 1
        status = _STATUS.search(command[0])
        yield Command("\n".join(command), "\n".join(shown), int(status[1]) if status else 0, line)


def agrees(printed: str, shown: str) -> bool:
    """What is printed is what is shown, apart from space at the ends of lines and from `...`."""
    pattern = "".join(_pattern(line) for line in shown.strip("\n").splitlines())
    actual = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, actual, re.DOTALL) is not None


def _pattern(line: str) -> str:
    if line.strip() == "...":
        return "(?:.*\n)?"
    return r"[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
