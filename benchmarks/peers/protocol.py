"""What a driver is handed, and what it leaves: a folder.

in    case.json     what is asked: limits in seconds, how many events are to be written down, types of attributes
      rules.tsv     id TAB rule, one line each, in the peer's own language; an id may have several lines
      events.jsonl  the events
out   matches.tsv   event TAB ids, for as many of the first events as there was time for
      figures.json  what was measured
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASE, RULES, EVENTS, MATCHES, FIGURES = "case.json", "rules.tsv", "events.jsonl", "matches.tsv", "figures.json"


@dataclass(frozen=True)
class Asked:
    """What is asked of a driver."""

    workload: str
    size: int
    events: int
    checked: int  # events of which the matches are written down
    build_s: float  # building is given up after that
    match_s: float  # for each way of matching; half of that again to warm up
    kinds: dict[str, str] = field(default_factory=dict)


@dataclass
class Figures:
    """What a driver measured; None: not to be had from this peer."""

    version: str = ""
    build_s: float | None = None
    bytes: float | None = None  # of all rules
    checked: int = 0
    text_per_s: float | None = None  # events a second, JSON texts in
    parsed_per_s: float | None = None  # ... already parsed, in the peer's own form
    text_us: tuple[float, float] | None = None  # p50 and p99 of one event
    parsed_us: tuple[float, float] | None = None
    first: int | None = None  # only so many rules were asked and are compared; the time of all is extrapolated
    failed: str | None = None  # why there are no figures
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Where the harness looks for it."""
        (folder / FIGURES).write_text(json.dumps(vars(self)))

    @classmethod
    def read(cls, folder: Path) -> Figures:
        """What a driver of any language has written."""
        said: dict[str, Any] = json.loads((folder / FIGURES).read_text())
        for name in ("text_us", "parsed_us"):
            if said.get(name) is not None:
                said[name] = tuple(said[name])
        return cls(**said)


def read_matches(folder: Path) -> list[list[int]]:
    """The ids of each event, ascending, without repeats."""
    found = []
    for line in (folder / MATCHES).read_text().splitlines():
        _, _, ids = line.partition("\t")
        found.append(sorted({int(word) for word in ids.split()}))
    return found


def write_matches(folder: Path, matches: list[list[int]]) -> None:
    """One line for each event."""
    lines = (f"{number}\t{' '.join(map(str, ids))}\n" for number, ids in enumerate(matches))
    (folder / MATCHES).write_text("".join(lines))


def read_rules(folder: Path) -> list[tuple[int, str]]:
    """Ids and rules."""
    with (folder / RULES).open(encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").partition("\t") for line in lines)
        return [(int(number), rule) for number, _, rule in pairs]
