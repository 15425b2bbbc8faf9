"""How long until the first answer: kernels compiled anew, and kernels from the cache on disk.

Each figure comes from a process of its own with a cache folder of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Startup:
    """Seconds of one process; `wall_s` is all of it, the interpreter included."""

    import_s: float
    first_s: float  # parse and compile 100 filters, match 1,000 events and then a single one
    second_s: float  # the same again
    wall_s: float
    cpu_s: float  # of wall_s, what the process really computed


def measure_startup() -> tuple[Startup, Startup]:
    """Cold, and cached."""
    with tempfile.TemporaryDirectory(prefix="vedette-kernels-") as folder:
        return _run(folder), min((_run(folder) for _ in range(3)), key=lambda s: s.wall_s)


def _run(folder: str) -> Startup:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.startup"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        check=True,
        capture_output=True,
        text=True,
    )
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Startup(**json.loads(done.stdout), wall_s=wall, cpu_s=cpu)


def _child() -> None:
    """What the process does; workloads are made outside the timings."""
    from benchmarks import forms
    from benchmarks.workloads import WORKLOADS

    made = WORKLOADS["W2"]
    texts = list(forms.texts(made.subscriptions(100)))
    table, one = forms.arrow(made.events(1000)), forms.dicts(made.events(1))[0]
    schema = forms.schema(made.events(1).attributes)
    begin = time.perf_counter()
    from vedette import Subscriptions

    imported = time.perf_counter()

    def work() -> float:
        started = time.perf_counter()
        subscriptions = Subscriptions(schema)
        for number, text in enumerate(texts):
            subscriptions.add(f"s{number}", text)
        matcher = subscriptions.compile()
        matcher.match_batch(table)
        matcher.match(one)
        return time.perf_counter() - started

    print(json.dumps({"import_s": imported - begin, "first_s": work(), "second_s": work()}))


if __name__ == "__main__":
    _child()
