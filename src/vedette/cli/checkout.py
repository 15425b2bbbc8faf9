"""`vedette bench` and `vedette experiment`: run what only a checkout has, never the package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

import vedette
from vedette.errors import FileError

_WHERE_FROM = "they come with the source: clone the repository, and run `make setup` and this command in it"


def find_checkout(folder: str, marker: str) -> Path | None:
    """The checkout with `folder/marker`: the one around the package, or around the current folder."""
    here = Path.cwd()
    for candidate in (Path(vedette.__file__).resolve().parents[2], here, *here.parents):
        if (candidate / folder / marker).is_file() and (candidate / "pyproject.toml").is_file():
            return candidate
    return None


def checkout(folder: str, marker: str) -> Path:
    """The checkout; FileError, with a hint where to get one, if there is none."""
    found = find_checkout(folder, marker)
    if found is None:
        raise FileError(f"the {folder} are not part of the installed package\nHint: {_WHERE_FROM}")
    return found


def launch(root: Path, module: str, arguments: Sequence[str]) -> int:
    """Run a module of the checkout in a process of its own; return its exit status."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, cwd=root) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # it was interrupted as well, and may want to say what it has so far
            raise


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks with these arguments; return their exit status."""
    return launch(checkout("benchmarks", "__main__.py"), "benchmarks", arguments)


ALL = "all"


def names() -> list[str]:
    """The names of the experiments."""
    root = find_checkout("experiments", "__init__.py")
    return [] if root is None else [*_names(root), ALL]


def experiment(name: str | None, folder: Path, *, quick: bool) -> int:
    """Run one, or all; return the exit status. Without a name, list them."""
    root = checkout("experiments", "__init__.py")
    known = _names(root)
    if name is None:
        typer.echo("\n".join(known))
        return 0
    if name not in (*known, ALL):
        raise typer.BadParameter(f"there is no experiment {name!r}; there are {', '.join(known)}, and {ALL!r}")
    module = "experiments" if name == ALL else f"experiments.{name}"
    return launch(root, module, [str(folder.resolve()), *(["--quick"] if quick else [])])


def _names(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "experiments").glob("*.py") if not path.stem.startswith("_"))
