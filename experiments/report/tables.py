"""Rows as CSV: what any run gives again in one file, with the times of this run in another."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, field, fields, make_dataclass
from pathlib import Path
from typing import Any

_CLOCK = "clock"
TIMES = "-times.csv"  # how the names of files end that are never twice the same


def clocked() -> Any:
    """A field of a row that a clock told."""
    return field(metadata={_CLOCK: True})


def write_rows(out: Path, name: str, rows: Sequence[Any]) -> list[str]:
    """The names of the files that were written: the data, and, if a clock was asked, all columns once more."""
    columns = [one.name for one in fields(rows[0])]
    again = [one.name for one in fields(rows[0]) if not one.metadata.get(_CLOCK)]
    _write(out / f"{name}.csv", again, rows)
    if again == columns:
        return [f"{name}.csv"]
    _write(out / f"{name}{TIMES}", columns, rows)
    return [f"{name}.csv", f"{name}{TIMES}"]


def _write(path: Path, columns: Sequence[str], rows: Sequence[Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def only(rows: Iterable[Any], *columns: str) -> list[Any]:
    """The same rows with some of their columns, for a figure that shows no more."""
    kept = list(rows)
    known = {one.name: one for one in fields(kept[0])}
    chosen = [(name, known[name].type, field(metadata=known[name].metadata)) for name in columns]
    narrow = make_dataclass(type(kept[0]).__name__, chosen, frozen=True)
    return [narrow(*(getattr(row, name) for name in columns)) for row in kept]
