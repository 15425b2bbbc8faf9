"""What a run has measured: tables for a person, JSON for a program."""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import clock
from benchmarks.covering import CoveringFigures
from benchmarks.engine import EngineRow
from benchmarks.indexes import Row
from benchmarks.meeting import MeetingFigures
from benchmarks.operators import OperatorFigures
from benchmarks.patterns import Patterns
from benchmarks.peers.duckdb_join import Joined
from benchmarks.sigma import SigmaFigures
from benchmarks.startup import Startup
from benchmarks.tables import index_table, short, table
from benchmarks.visits import Visits


@dataclass(frozen=True)
class Peer:
    """DuckDB on one case, and how many times as long as ours it takes for as many events at once."""

    workload: str
    subscriptions: int
    joined: Joined
    ratio_index: float  # to the index, both in code space
    ratio_arrow: float  # to the matcher that reads an Arrow table


@dataclass(frozen=True)
class Growth:
    """How the time per event grows with the subscriptions: as their number to this power."""

    workload: str
    index: str
    batch: int
    smallest: int
    largest: int
    exponent: float


@dataclass
class Report:
    """Filled stage by stage."""

    indexes: list[Row] = field(default_factory=list)
    engine: list[EngineRow] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    visits: list[Visits] = field(default_factory=list)
    patterns: Patterns = field(default_factory=Patterns)
    operators: OperatorFigures = field(default_factory=OperatorFigures)
    covering: CoveringFigures = field(default_factory=CoveringFigures)
    meeting: MeetingFigures = field(default_factory=MeetingFigures)
    sigma: SigmaFigures = field(default_factory=SigmaFigures)
    startup: tuple[Startup, Startup] | None = None
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def growth(self) -> list[Growth]:
        """From the rows of 1e4 and more, as far as they go up to 1e6."""
        kinds = dict.fromkeys((row.workload, row.index, row.batch) for row in self.indexes)
        found = []
        for workload, index, batch in kinds:
            rows = [r for r in self.indexes if (r.workload, r.index, r.batch) == (workload, index, batch)]
            rows = sorted((r for r in rows if 10_000 <= r.subscriptions <= 1_000_000), key=lambda r: r.subscriptions)
            if len(rows) > 1:
                first, last = rows[0], rows[-1]
                power = exponent(first.us_per_event, last.us_per_event, last.subscriptions / first.subscriptions)
                found.append(Growth(workload, index, batch, first.subscriptions, last.subscriptions, power))
        return found

    def as_json(self) -> dict[str, Any]:
        """Everything, with the machine it was measured on."""
        return {
            "machine": {
                "cpu": _cpu(),
                "cores": os.cpu_count(),
                "load": os.getloadavg(),
                "python": platform.python_version(),
                "versions": {name: version(name) for name in ("vedette", "numba", "numpy", "pyarrow", "duckdb")},
            },
            "clock": clock.used(),
            "seconds": self.seconds,
            "indexes": [{**asdict(row), "events_per_s": row.events_per_s} for row in self.indexes],
            "growth": [asdict(row) for row in self.growth],
            "engine": [{**asdict(row), "events_per_s": row.events_per_s} for row in self.engine],
            "duckdb": [asdict(row) for row in self.peers],
            "tree_visits": [asdict(row) for row in self.visits],
            "patterns": asdict(self.patterns),
            "operators": asdict(self.operators),
            "covering": asdict(self.covering),
            "meeting": {**asdict(self.meeting), "exponents": self.meeting.exponents},
            "sigma": self._of_sigma(),
            "startup": None
            if self.startup is None
            else {"cold": asdict(self.startup[0]), "cached": asdict(self.startup[1])},
            "notes": self.notes,
        }

    def _of_sigma(self) -> dict[str, Any]:
        return {
            "passes": [{**asdict(row), "events_per_s": row.events_per_s} for row in self.sigma.passes],
            "queries": [{**asdict(row), "ratio": row.ratio} for row in self.sigma.queries],
        }

    def write(self, path: Path) -> None:
        """As JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n")

    def show(self, console: Console) -> None:
        """All tables that have something in them."""
        of_filters = (self._indexes(), self._engine(), self._peers(), self._growth(), self._visits())
        others = (self.patterns, self.operators, self.covering, self.meeting, self.sigma)
        for made in (*of_filters, *(each for figures in others for each in figures.tables())):
            if made.row_count:
                console.print(made)
        if self.startup:
            cold, cached = self.startup
            console.print(
                f"First answer of a process (100 filters, 1,000 events): {cold.wall_s:.1f} s with kernels to compile "
                f"({cold.cpu_s:.1f} s of computing), {cached.wall_s:.2f} s with kernels from the cache "
                f"({cached.cpu_s:.2f} s of computing, {cached.import_s:.2f} s of it for imports)"
            )
        for note in (*self.patterns.notes, *self.sigma.notes, *self.notes):
            console.print(note)

    def _indexes(self) -> Table:
        duckdb = {(p.workload, p.subscriptions): p for p in self.peers}

        def peer(row: Row) -> str:
            """In the row whose batch is nearest to the number of events that DuckDB was given."""
            found = duckdb.get((row.workload, row.subscriptions))
            if found is None or row.index != "clusters":
                return ""
            same = [r.batch for r in self.indexes if _case(r) == _case(row)]
            nearest = min(same, key=lambda batch: abs(math.log(batch / found.joined.events)))
            return f"{found.ratio_index:.0f}" if row.batch == nearest else ""

        return index_table(self.indexes, peer)

    def _engine(self) -> Table:
        return table(
            "The matcher: Arrow tables and dicts in, encoding included",
            self.engine,
            {
                "workload": lambda r: r.workload,
                "subscriptions": lambda r: f"{r.subscriptions:,}",
                "batch": lambda r: f"{r.batch:,}",
                "events/s": lambda r: f"{r.events_per_s:,.0f}",
                "us/event": lambda r: short(r.us_per_event),
                "encoding us": lambda r: short(r.encode_us),
                "matches/event": lambda r: f"{r.matches_per_event:,.1f}",
                "2 threads": lambda r: "" if r.two_threads is None else f"{r.two_threads:.2f} x",
                "one dict p50 us": lambda r: short(r.one_p50_us),
                "p99 us": lambda r: short(r.one_p99_us),
                "compile s": lambda r: f"{r.compile_s:.2f}",
                "B/sub": lambda r: f"{r.bytes:.1f}",
                "checked on": lambda r: f"{r.verified_events:,}",
            },
        )

    def _peers(self) -> Table:
        return table(
            "DuckDB, one thread: a join of events and subscriptions",
            self.peers,
            {
                "workload": lambda p: p.workload,
                "subscriptions": lambda p: f"{p.subscriptions:,}",
                "events": lambda p: f"{p.joined.events:,}",
                "formulation": lambda p: p.joined.formulation,
                "us/event": lambda p: short(p.joined.us_per_event),
                "pairs, as ours": lambda p: f"{p.joined.matches:,}",
                "x of the index": lambda p: f"{p.ratio_index:.1f}",
                "x of the matcher from Arrow": lambda p: f"{p.ratio_arrow:.1f}",
            },
        )

    def _growth(self) -> Table:
        powers = {(g.workload, g.index, g.batch): f"{g.exponent:.2f}" for g in self.growth}
        spans = {(g.workload, g.index): f"{g.smallest:,} to {g.largest:,}" for g in self.growth}
        batches = sorted({g.batch for g in self.growth})
        return table(
            "Time per event grows as the number of subscriptions to the power of",
            spans,
            {
                "workload": lambda key: key[0],
                "index": lambda key: key[1],
                "subscriptions": lambda key: spans[key],
                **{f"batches of {batch:,}": partial(_power, powers, batch) for batch in batches},
            },
            lambda key: key[0],
        )

    def _visits(self) -> Table:
        return table(
            "Nodes of the tree that an event visits (Aguilera 1999, §4)",
            self.visits,
            {
                "workload": lambda v: v.workload,
                "subscriptions": lambda v: f"{v.subscriptions:,}",
                "plain": lambda v: f"{v.plain:,.1f}",
                "optimised": lambda v: f"{v.optimised:,.1f}",
                "bound": lambda v: f"{v.bound:,.0f}",
            },
        )


def exponent(first: float, last: float, growth: float) -> float:
    """a, where `growth` times as many subscriptions cost growth ** a times as much."""
    return math.log(last / first) / math.log(growth)


def _power(powers: dict[tuple[str, str, int], str], batch: int, key: tuple[str, str]) -> str:
    return powers.get((*key, batch), "")


def _case(row: Row) -> tuple[str, int, str]:
    return row.workload, row.subscriptions, row.index


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
