"""Data as CSV, plots as PNG and SVG."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"  # beside the checkout


class Missing(Exception):
    """Data that are not on this machine: the figure is left out, by name."""


def shared(name: str) -> Path:
    """A file of the real data."""
    if not (DATA / name).exists():
        raise Missing(f"{name} is not in {DATA}")
    return DATA / name


def write_csv(path: Path, rows: Sequence[Any]) -> None:
    """One line for each row, which is a dataclass."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def axes(rows: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure, and its panels from left to right, from above."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("The plots need matplotlib. Install it with: pip install 'vedette[experiments]'") from error
    figure = Figure(figsize=(4.6 * columns, 3.7 * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def finish(axis: Any, title: str, x: str, y: str) -> None:
    """What every panel has."""
    axis.set(title=title, xlabel=x, ylabel=y)
    axis.grid(True, alpha=0.3)
    axis.legend(fontsize="x-small")


def save(figure: Any, out: Path, name: str) -> None:
    """As pixels and as lines."""
    for suffix in ("png", "svg"):
        figure.savefig(out / f"muthusamy2010-{name}.{suffix}", dpi=150)
