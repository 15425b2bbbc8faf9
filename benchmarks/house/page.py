"""The page of figures: before and now beside each other, and what lies behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypedDict

from benchmarks.house.changes import CHANGES
from benchmarks.house.figures import House
from benchmarks.house.seconds import TARGETS, Took

AIMS = {
    "modules": "<= 480",
    "lines": "<= 75,000",
    "longest chain of imports": "<= 25",
    "cycles of modules": "0",
    "cycles of folders": "0",
    "class names of more than two classes": "0",
    "functions with a complexity over 20, outside kernels": "0",
    "functions with a return type, %": "100",
    "docstrings that begin with a question": "0",
    "modules that dispatch on `Range`": "<= 5",
    "words of ARCHITECTURE.md": "<= 3,000",
    "seconds of `make check`": "<= 180",
    "seconds of `make test`": "<= 720",
}

_HEAD = """# Figures about the house

How large the source is, how its modules hang together, and how it is named. `make figures` writes this page; do not
change it by hand. It was made of commit {commit}; {before} was counted in the same way, at commit {then}
([its figures]({data})).

| figure | {before} | now | aim |
|---|---|---|---|
"""

_COUNTED = """
Speeds are measured elsewhere: [how fast, and why](../explanation/how-fast-and-why.md), [beside its
peers](../benchmarks.md), and [how to measure them](../how-to/benchmark-it.md) (`make bench`, `make bench-spark`).

## How it is counted

- All `*.py` of the package below `src`, parsed and not imported. *Code lines* are without blank lines, comments and
  docstrings.
- *Imports* count from the module that writes them to the module that they name, not to the `__init__.py` of the folders
  above it. Imports inside functions count, apart from the row that says *when loaded*; imports below `if TYPE_CHECKING`
  never do. In a *chain*, modules that import each other are one step. A *cycle of folders* is a cycle between what is
  directly in one folder, at any depth: its folders, of which there is at least one, and its modules.
- *Class names* are those of all classes, private and inner ones too; *file names* are without `__init__.py`.
- *Complexity* is one, and one more for each `if`, `elif`, `for`, `while`, `except`, `case`, `assert`, conditional
  expression, `and`, `or`, and `for` and `if` of a comprehension: more than ruff's C901 counts. *Kernels* are modules
  named `kernels`, or in a folder of that name.
- A module *dispatches* on a node of the language if it asks `isinstance`, has a `case`, compares with it, or has a
  table with it as a key; it *names* it if it says its name anywhere. The node's own module does not count.
- *Files that a change touches* are stated by hand in `benchmarks/house/changes.py`, after something of the kind that is
  there, without tests and documentation; that the files exist is tested.
- *Seconds* are of the whole command, set-up done, as `make figures TIME="check test"` measured them last.
"""


class Stored(TypedDict):
    """Figures of an older version, as they are kept beside the page."""

    version: str
    commit: str
    figures: dict[str, float]


def page(now: House, commit: str, before: Stored, data: str, seconds: Mapping[str, Took]) -> str:
    """The Markdown of the page."""
    head = _HEAD.format(commit=commit, before=before["version"], then=before["commit"], data=data)
    return head + "".join(_rows(now, before, seconds)) + _COUNTED + "".join(_behind(now))


def _rows(now: House, before: Stored, seconds: Mapping[str, Took]) -> Iterator[str]:
    then = before["figures"]
    for name in dict.fromkeys([*now.figures, *then]):
        if not name.startswith("seconds of"):
            yield _row(name, _shown(then.get(name), "-"), _shown(now.figures.get(name), "-"))
    for target in TARGETS:
        name, took = f"seconds of `make {target}`", seconds.get(target)
        known = (
            f"{took['seconds']:,.0f} ({took['cores']} cores, load {took['load']:.1f}, {took['commit']})"
            if took
            else "not measured"
        )
        yield _row(name, _shown(then.get(name), "not measured"), known)


def _row(name: str, before: str, now: str) -> str:
    return f"| {name} | {before} | {now} | {AIMS.get(name, '')} |\n"


def _shown(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _behind(now: House) -> Iterator[str]:
    yield from _section(
        "Files that a change touches", [f"{change}: {', '.join(files)}" for change, files in CHANGES.items()]
    )
    for title, lines in now.details.items():
        yield from _section(title, lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\n## {title}\n\n"
    listed = [f"- {_in_code(line)}\n" for line in lines]
    yield from listed or ["None.\n"]


def _in_code(line: str) -> str:
    """A text as it is, whatever Markdown would make of it."""
    return f"`` {line} ``" if "`" in line else f"`{line}`"
