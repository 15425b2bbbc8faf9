"""`python -m benchmarks.spark`: matching on Spark, beside what Spark costs by itself. Each part has its own process."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.spark.plan import FULL, QUICK, Plan
from benchmarks.spark.result import Result

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PARTS = {
    "a": ("crossing", "matching beside crossing to Python and back"),
    "b": ("joins", "matching beside what a Spark user would write"),
    "c": ("scaling", "one core beside two"),
    "d": ("latency", "micro-batches of a steady stream"),
    "e": ("memory", "a million filters in two workers"),
    "f": ("meeting", "meeting beside a nested-loop join"),
    "g": ("covering", "covering beside one process"),
    "h": ("patterns", "patterns over streams and tables beside one process and crossing alone"),
    "i": ("real", "real events with known answers"),
}


def one(part: str, plan: Plan) -> Result:
    """Measure a part, here."""
    measured: Result = importlib.import_module(f"benchmarks.spark.{PARTS[part][0]}").measure(plan)
    return measured


def apart(part: str, *, quick: bool) -> Result:
    """Measure a part in a process of its own, with a Spark of its own."""
    with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
        path = Path(folder) / "result.json"
        options = ["--only", part, "--json", str(path), *(["--quick"] if quick else [])]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.spark", *options], cwd=ROOT, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            return Result(part, f"{PARTS[part][1]}: FAILED, see above")
        return Result.of_json(json.loads(path.read_text())["parts"][0])


def machine() -> dict[str, Any]:
    """What it was measured on."""
    names = ("vedette", "pyspark", "pyarrow", "numba", "numpy")
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark",
        description=__doc__,
        epilog="; ".join(f"{part}: {told}" for part, (_, told) in PARTS.items()),
    )
    parser.add_argument("--only", help="parts, comma-separated (default: all)")
    parser.add_argument("--json", type=Path, help="where the figures go (default: benchmarks/results/spark-….json)")
    parser.add_argument("--quick", action="store_true", help="small sizes: that it runs, not how fast")
    given = parser.parse_args(arguments)
    parts = given.only.split(",") if given.only else list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        raise SystemExit(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    console = Console(width=None if Console().is_terminal else 180)
    begin, before = time.perf_counter(), machine()
    if before["load"][0] > 1.0:
        console.print(f"Note: the machine is busy (load {before['load'][0]:.1f}), so times are too bad")
    if given.quick:
        console.print("Note: small sizes show that it runs; what Spark needs to begin outweighs everything else")
    found = []
    for part in parts:
        if len(parts) > 1:
            print(f"({part}) {PARTS[part][1]} …", file=sys.stderr, flush=True)
        result = one(part, QUICK if given.quick else FULL) if len(parts) == 1 else apart(part, quick=given.quick)
        result.show(console)
        found.append(result)
    path = given.json or RESULTS / f"spark-{datetime.now():%Y-%m-%d-%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": before, "parts": [result.as_json() for result in found]}, indent=1) + "\n")
    console.print(f"{time.perf_counter() - begin:,.0f} s in all; figures in {path}")
    if any(not result.rows and not result.notes for result in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
