"""Run one experiment: every figure's data, plot and line, and a record of all that the report is made from."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.report.findings import Figure, Missing, Paper
from experiments.report.plots import save
from experiments.report.tables import write_rows

Say = Callable[[str], None]


def run(paper: Paper, out: Path, quick: bool, say: Say = print) -> dict[str, Any]:
    """Write everything under `out`, saying a line for each figure; the record."""
    out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    figures: list[dict[str, Any]] = []
    left_out: list[dict[str, str]] = []
    for part in paper.parts:
        since = time.monotonic()
        try:
            for figure in part.figures(quick):
                figures.append(written(paper, figure, out) | {"seconds": time.monotonic() - since})
                since = time.monotonic()
                say(f"{paper.short}, {figure.line}")
        except Missing as missing:
            left_out.append({"title": part.title, "why": str(missing)})
            say(f"{paper.short}, {part.title} is left out: {missing}.")
    record = {
        "name": paper.name,
        "short": paper.short,
        "title": paper.title,
        "authors": paper.authors,
        "about": paper.about,
        "quick": quick,
        "seconds": time.monotonic() - begin,
        "figures": figures,
        "left_out": left_out,
    }
    (out / f"{paper.name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


def written(paper: Paper, figure: Figure, out: Path) -> dict[str, Any]:
    """The files of one figure, and what a record says of it."""
    name = f"{paper.name}-{figure.name}"
    files = [
        file
        for suffix, rows in figure.tables.items()
        for file in write_rows(out, f"{name}-{suffix}" if suffix else name, rows)
    ]
    return {
        "name": figure.name,
        "title": figure.title,
        "setting": figure.setting,
        "data": files,
        "plot": save(figure.plot, out, name),
        "findings": [asdict(finding) for finding in figure.findings],
    }


def main(paper: Paper) -> None:
    """`python -m experiments.NAME OUT [--quick]`."""
    parser = argparse.ArgumentParser(description=f"{paper.short}: {paper.title}. {paper.about}")
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    arguments = parser.parse_args()
    run(paper, arguments.out, arguments.quick)
