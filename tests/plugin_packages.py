"""Packages that bring plug-ins, as an installation leaves them: made up, or as a page of the docs has them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.docs.pages import blocks, commands


def made_up(folder: Path, name: str, points: Mapping[str, Mapping[str, str]], code: str = "") -> Path:
    """A package of one module; `points` are its entry points by group and name."""
    facts = folder / f"{name}-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in each.items()) for group, each in points.items()
    ]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    (folder / f"{name}.py").write_text(code)
    return folder


def of_page(page: str, folder: Path) -> Path:
    """The package that a page makes: by its commands that write a module, and what an installation writes."""
    for block in blocks(page):
        for command in commands(block) if block.kind == "console" else ():
            if ".py <<" in command.text or ".dist-info" in command.text:
                subprocess.run(["bash", "-c", command.text], cwd=folder, check=True, timeout=60)
    return folder


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """While its packages are among those that are installed."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
