"""What a run has measured: rows, what was left out, and the machine; as JSON, and back."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import Figures

OURS = "vedette"


@dataclass(frozen=True)
class Row:
    """One peer on one workload at one size."""

    workload: str
    size: int
    peer: str
    figures: Figures
    rules: int = 0  # that could be said
    of: int = 0
    matches: int = 0  # of the events that were compared
    void: str | None = None  # why it does not count

    @property
    def counts(self) -> bool:
        """There are figures, and the answers are right."""
        return self.void is None and self.figures.failed is None

    @property
    def bytes_per_rule(self) -> float | None:
        """Where it is known."""
        return None if self.figures.bytes is None or not self.rules else self.figures.bytes / self.rules


@dataclass
class Record:
    """All of a run."""

    machine: dict[str, Any] = field(default_factory=dict)
    began: str = ""
    seconds: float = 0.0
    pieces: int = 1
    rows: list[Row] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # peers and workloads that are left out, and why
    notes: list[str] = field(default_factory=list)

    def ours(self, row: Row) -> Row | None:
        """Vedette's row of the same case."""
        return next((r for r in self.rows if (r.workload, r.size, r.peer) == (row.workload, row.size, OURS)), None)

    def write(self, path: Path) -> None:
        """As JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Record:
        """What `write` has written."""
        said = json.loads(path.read_text())
        rows = [Row(**{**row, "figures": _figures(row["figures"])}) for row in said.pop("rows")]
        return cls(rows=rows, **said)

    @classmethod
    def begun(cls) -> Record:
        """An empty one, of this machine and this moment."""
        return cls(machine(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")


def no_time(workload: str, size: int) -> str:
    """The note on a case that was left out."""
    return f"{workload} at {size:,}: no time was left"


def merged(records: Iterable[Record]) -> Record:
    """Pieces that ran one after the other; a case that was run again counts as the last run says."""
    pieces = list(records)
    rows = {(row.workload, row.size, row.peer): row for piece in pieces for row in piece.rows}
    done = {no_time(row.workload, row.size) for row in rows.values()}
    notes = [note for note in dict.fromkeys(note for piece in pieces for note in piece.notes) if note not in done]
    missing = {name: why for piece in pieces for name, why in piece.missing.items()}
    return Record(
        pieces[-1].machine,
        min(piece.began for piece in pieces),
        sum(piece.seconds for piece in pieces),
        sum(piece.pieces for piece in pieces),
        list(rows.values()),
        missing,
        notes,
    )


def _figures(said: dict[str, Any]) -> Figures:
    pairs = {name: tuple(said[name]) for name in ("text_us", "parsed_us") if said.get(name) is not None}
    return Figures(**{**said, **pairs})


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 1),
        **{name: said for name, command in _TOOLS.items() if (said := _said(command))},
    }


_TOOLS = {"java": ("java", "-version"), "go": ("go", "version"), "rust": ("rustc", "--version")}


def _said(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = (done.stdout or done.stderr).splitlines()
    return words[0] if words else ""


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
