"""Check the files that a command reads and writes, before it begins."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import typer

from vedette.errors import FileError

STANDARD = "-"


def refuse_clashes(reads: dict[str, str | None], writes: dict[str, str | None]) -> None:
    """Wrong usage: standard input or output used twice, or an input file that would be overwritten."""
    for direction, places in (("input", reads), ("output", writes)):
        twice = [name for name, place in places.items() if place == STANDARD]
        if len(twice) > 1:
            raise typer.BadParameter(f"{' and '.join(twice)} cannot both be standard {direction} (`-`)")
    for one, other in combinations(writes, 2):
        if _same(writes[one], writes[other]):
            raise typer.BadParameter(f"{one} and {other} are the same file: {writes[one]}")
    for name, place in writes.items():
        for source, read in reads.items():
            if _same(place, read):
                raise typer.BadParameter(f"{name} would replace {source}: {place}")


def refuse_unwritable(place: str) -> None:
    """FileError if a file cannot be created there, before the work begins."""
    folder = Path(place).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(place).is_dir():
        raise FileError(f"cannot write {place}\nHint: check that the folder is there and writable")


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None or STANDARD in (one, other):
        return False
    left, right = Path(one), Path(other)
    try:
        if left.exists() and right.exists():
            return left.is_file() and left.samefile(right)
        return left.resolve() == right.resolve()
    except (OSError, ValueError):  # an invalid path is reported when it is opened
        return False
