"""Count what the source of Vedette is like, and write the page of figures about it.

python -m benchmarks.house                          write docs/contributing/figures.md
python -m benchmarks.house --time check --time test   measure `make check` and `make test` before
python -m benchmarks.house --root CHECKOUT --store FILE --version 0.1   keep the figures of an older checkout
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.house.figures import read_house
from benchmarks.house.page import Stored, page
from benchmarks.house.seconds import TARGETS, commit_of, measure, read_seconds

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "contributing"


def main(arguments: Sequence[str] | None = None) -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout that is counted (default: this one)")
    parser.add_argument("--before", type=Path, default=FOLDER / "figures-0.1.json", help="figures to set beside it")
    parser.add_argument("--seconds", type=Path, default=FOLDER / "seconds.json", help="where measured seconds are kept")
    parser.add_argument("--time", action="append", choices=TARGETS, default=[], help="measure `make` of it before")
    parser.add_argument("--store", type=Path, help="write the figures to this file, and no page")
    parser.add_argument("--version", default="", help="what --store calls them")
    parser.add_argument("--page", type=Path, default=FOLDER / "figures.md", help="the page that is written")
    given = parser.parse_args(arguments)
    for target in given.time:
        measure(target, given.root, given.seconds)
    house, commit = read_house(given.root), commit_of(given.root)
    if given.store is not None:
        stored = Stored(version=given.version or commit, commit=commit, figures=house.figures)
        given.store.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        return
    before: Stored = json.loads(given.before.read_text(encoding="utf-8"))
    text = page(house, commit, before, given.before.name, read_seconds(given.seconds))
    given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
