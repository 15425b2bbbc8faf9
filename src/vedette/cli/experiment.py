"""`vedette experiment`: run an experiment of a checkout, one module per paper, or all with a report."""

from __future__ import annotations

from pathlib import Path

import typer

from vedette.cli.checkout import checkout, find_checkout, launch

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
