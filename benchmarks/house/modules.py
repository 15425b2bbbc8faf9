"""Write the list of all modules of the package, each with the first line of its docstring.

python -m benchmarks.house.modules   write docs/contributing/modules.md
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs") / "contributing" / "modules.md"
COMMAND = "make modules"
SILENT = "(no docstring)"

_HEAD = f"""# All modules

A heading for each folder, and below it a line for each module: the first line of its docstring. How the folders work
together is in [ARCHITECTURE.md](../../ARCHITECTURE.md). `{COMMAND}` writes this page; do not change it by hand.
"""
_CODE = re.compile(r"(`[^`]*`)")
_MARKUP = re.compile(r"[*_<\[]")


def modules_page(root: Path = ROOT) -> str:
    """The Markdown of the page; modules are parsed and never imported."""
    source = root / "src"
    folders = sorted(path.parent for path in source.rglob("__init__.py"))
    return _HEAD + "".join(line for folder in folders for line in _folder(folder, source))


def _folder(folder: Path, source: Path) -> Iterator[str]:
    yield f"\n## {'.'.join(folder.relative_to(source).parts)}\n\n"
    yield f"{_first_line(folder / '__init__.py')}\n\n"
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"- `{path.name}`: {_first_line(path)}\n"


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
    return _plain(docstring.partition("\n")[0].strip()) if docstring else SILENT


def _plain(text: str) -> str:
    """A text that Markdown shows as it is, apart from what stands in backquotes."""
    return "".join(
        part if number % 2 else _MARKUP.sub(r"\\\g<0>", part) for number, part in enumerate(_CODE.split(text))
    )


def write(root: Path = ROOT) -> None:
    """Write the page of a checkout."""
    page = root / PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(modules_page(root), encoding="utf-8")


if __name__ == "__main__":
    write()
